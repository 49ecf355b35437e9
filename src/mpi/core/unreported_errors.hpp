// When error handlers of the program's are called: where Hob holds nothing.
#pragma once

#include <array>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// An error that the library has reported to Hob's function in place of the program's handler.
struct UnreportedError {
  /// Calls the program's handler.
  void (*notify)(const UnreportedError&);
  std::uint64_t object;  ///< the bits of the handle
  int code;
  std::array<void*, 2> more;  ///< further arguments, or the handler and its state
};

/// An error handler may end in longjmp, which runs no destructors, so it must not run in the midst
/// of Hob's own work. True: the call of the program's that is under way in this thread notifies the
/// handler at its end. False: nothing of Hob's is under way, or there is no such call; then it is
/// to be reported at once.
bool report_later(const UnreportedError& error);

/// Before a call of the program's ends an object: reports what waits, from here. The caller holds
/// no lock, and what it leaves behind, should the handler not return, is consistent.
void report_errors_now();

}  // namespace hob::mpi
