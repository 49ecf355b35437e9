// The backend of windows that ghosts serve: RMA calls become operations of ghost::Origin.
#pragma once

#include <cstdint>
#include <optional>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/ghost/arena_memory.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/rma/ghost/host_image.hpp"
#include "mpi/rma/ghost/native_way.hpp"
#include "mpi/rma/ghost/pscw.hpp"
#include "mpi/rma/ghost/targets.hpp"

namespace hob::mpi {

class GhostBackend final : public Backend {
 public:
  /// `memory`: this process's, if it is to be given back with the window. `self`: its rank there.
  GhostBackend(GhostTargets targets, ArenaMemory memory, int self);

  /// The native window over the same memory.
  MPI_Win handle{};

  int issue(const rma::Op& op) override;
  int synchronise(const rma::Sync& sync) override;
  void closing() override;
  void staying() override;
  bool holds_back(int target) override;
  int let_in(int target) override;
  void send_collected(int target) override;

  /// What MPI_Win_shared_query returns. False: no such rank.
  bool query(int rank, MPI_Aint* size, MPI_Aint* unit, void** base) const;

 private:
  int fail(int code) const;
  /// The request, if one is asked for, of an operation of which nothing is left to do.
  static int already_complete(const rma::Op& op, bool fetches);
  int check(const rma::Op& op) const;
  std::int64_t start_of(const rma::Op& op) const;
  int move(const rma::Op& op);
  /// The blocks of this thread as one move of bytes, if they lie together at both ends.
  std::optional<NativeWay::Move> as_bytes(const rma::Op& op) const;
  /// Without a request: natively, or by a ghost.
  int move_either_way(const rma::Op& op, const NativeWay::Move& move);
  int combine_at(const rma::Op& op);
  int compare_and_swap(const rma::Op& op);
  static TypedBuffer compared_by(const rma::Op& op) {
    return {const_cast<void*>(op.compare), 1, op.target_type};
  }
  /// The same with buffers in an accelerator's memory, by way of host memory: complete on return.
  int issue_staged(const rma::Op& op);
  /// Has a ghost do it: `act(peer, completion)`.
  template <class Act>
  int by_ghost(const rma::Op& op, Act act);
  template <class Act>
  int held(Act act) const;

  int fence(int assertion);
  int start(MPI_Group group, int assertion);
  int complete();
  int post(MPI_Group group, int assertion);
  int wait();
  int test(int* flag);
  int lock(int type, int target, int assertion);
  int lock_all(int assertion);
  int unlock(int target);
  int unlock_all();
  int flush(int target);
  int flush_local(int target);
  int flush_local_all();
  int make_progress();

  // Holding the client:
  GhostTargets::Target& at(int target);
  void join_epoch(GhostTargets::Target& to);
  int flush_peers();
  int complete_all();
  int outcome_of_all();

  GhostTargets targets_;
  ArenaMemory memory_;
  int self_;
  PscwEpochs pscw_;
  NativeWay native_;
  ghost::LockMode all_ = ghost::LockMode::none;
  bool locked_all_ = false;
  std::uint32_t fences_ = 0;     // entered so far; the same in all members where all have come
  bool unsynchronised_ = false;  // the last one did not wait for the others
};

/// Calls `act` with the client held. The error handler, which is the program's, runs without it.
template <class Act>
int GhostBackend::held(Act act) const {
  int code = MPI_SUCCESS;
  {
    const GhostHold hold;
    code = act();
  }
  return code == MPI_SUCCESS ? code : fail(code);
}

}  // namespace hob::mpi
