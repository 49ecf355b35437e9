// What the process may learn of others' writes by a call that completes requests
// (docs/consistency.md).
#pragma once

#include <cstdint>

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/requests/lookup.hpp"

namespace hob::mpi::requests {

/// Made before the call, which takes handles away; asked after it.
class MayLearn {
 public:
  /// `one_by_one`: the call may complete some of them.
  MayLearn(int count, const MPI_Request* handles, bool one_by_one) {
    if (HOB_UNLIKELY(ignores_acquires()))
      any_ = true;
    else if (!all_prebuilt(count, handles))
      look(count, handles, one_by_one);
  }

  /// All are complete.
  bool all() const { return any_; }
  /// That one is.
  bool at(int place) const {
    return place < 0 || place >= places_ ? any_ : (bits_ >> place & 1) != 0;
  }
  /// These are; MPI_UNDEFINED: none.
  bool some(int number, const int* places) const {
    if (number == MPI_UNDEFINED) return false;
    for (int i = 0; i < number; ++i)
      if (at(places[i])) return true;
    return false;
  }

  /// The call has completed all of them without an error: what is still there is persistent.
  static void completed(int count, const MPI_Request* handles) {
    if (many_threads || count > Inactive::kMost || ignores_acquires()) return;
    for (int i = 0; i < count; ++i)
      if (HOB_UNLIKELY(handles[i] != MPI_REQUEST_NULL)) state.inactive.add(handles[i]);
  }

 private:
  void look(int count, const MPI_Request* handles, bool one_by_one);

  bool any_ = false;
  int places_ = 0;          ///< of which `bits_` says something
  std::uint64_t bits_ = 0;  ///< a bit for each
};

}  // namespace hob::mpi::requests
