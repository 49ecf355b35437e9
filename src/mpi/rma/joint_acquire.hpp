// Collective calls in which the members report to each other who wrote (validation.hpp).
#pragma once

#include <optional>

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/state.hpp"
#include "validation/changes.hpp"

namespace hob::mpi {

class LargeChanges;

/// Around a collective call of the program in which every member of the communicator waits for all
/// others. Throws OutOfMemory.
class JointAcquire {
 public:
  /// Before the call: reports, where it is due. Collective over `comm`, if it is an
  /// intracommunicator whose members have windows with copies that may outlive the call.
  explicit JointAcquire(MPI_Comm comm) : comm_(comm) {
    if (HOB_UNLIKELY(all_windows.validated.load(std::memory_order_relaxed) != 0)) begin(false);
  }

  /// In place of MPI_Barrier: returns what it would.
  static int barrier(MPI_Comm comm);

  /// The call, a literal, is over: invalidates what may have changed.
  void end(const char* call) {
    if (HOB_UNLIKELY(changes_.has_value()))
      keep(call);
    else
      note_acquire(call);
  }

 private:
  struct Barrier {};
  JointAcquire(MPI_Comm comm, Barrier) : comm_(comm) {}

  void begin(bool is_barrier);
  void exchange(bool details);
  void show_edges(std::uint64_t members);
  void keep(const char* call);

  MPI_Comm comm_;
  int error_ = MPI_SUCCESS;
  std::optional<validation::Changes> changes_;  ///< where members reported
  const LargeChanges* large_ = nullptr;
};

}  // namespace hob::mpi
