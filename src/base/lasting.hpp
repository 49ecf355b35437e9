// Objects of the process as a whole.
#pragma once

namespace hob {

/// The one T of the process. Made at its first use, since libraries may start MPI before Hob's own
/// constructors have run. Never destroyed, since the program may use MPI in its own destructors,
/// and end while a thread is in here.
template <typename T>
T& lasting() {
  static T& only = *new T;
  return only;
}

}  // namespace hob
