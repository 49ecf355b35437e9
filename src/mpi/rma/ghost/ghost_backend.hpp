// The backend of windows that ghosts serve: RMA calls become operations of ghost::Origin.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

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

  int get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override;
  int put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override;
  int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                 MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                 MPI_Request* request) override;
  int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                     MPI_Count result_count, MPI_Datatype result_type, int target, MPI_Aint disp,
                     MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                     MPI_Request* request) override;
  int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint disp,
                   MPI_Op op) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                       int target, MPI_Aint disp) override;

  int fence(int assertion) override;
  int start(MPI_Group group, int assertion) override;
  int complete() override;
  int post(MPI_Group group, int assertion) override;
  int wait() override;
  int test(int* flag) override;
  int lock(int type, int target, int assertion) override;
  int unlock(int target) override;
  int lock_all(int assertion) override;
  int unlock_all() override;
  int flush(int target) override;
  int flush_all() override;
  int flush_local(int target) override;
  int flush_local_all() override;
  int sync() override;
  void closing() override;
  void staying() override;
  bool holds_back(int target) override;
  int let_in(int target) override;

  /// As MPI_Win_shared_query tells it. False: no such rank.
  bool query(int rank, MPI_Aint* size, MPI_Aint* unit, void** base) const;

 private:
  /// Where at the target.
  struct Place {
    int target;
    MPI_Aint disp;
    MPI_Count count;
    MPI_Datatype type;
  };

  int fail(int code) const;
  /// The request, if one is asked for, of an operation of which nothing is left to do.
  static int already_complete(MPI_Request* request, bool fetches);
  int check(const Place& place, MPI_Count count) const;
  std::int64_t start_of(const Place& place) const;
  int move(bool get, const TypedBuffer& origin, const Place& place, MPI_Request* request);
  /// The blocks of this thread as one move of bytes, if they lie together at both ends.
  std::optional<NativeWay::Move> as_bytes(const TypedBuffer& origin, const Place& place) const;
  /// Without a request: natively, or by a ghost.
  int move_either_way(bool get, int target, const NativeWay::Move& move);
  /// `result`: null for MPI_Accumulate.
  int combine_at(const TypedBuffer& origin, const TypedBuffer* result, const Place& place,
                 MPI_Op op, MPI_Request* request);
  /// The same with buffers in an accelerator's memory, by way of host memory: complete on return.
  int move_staged(bool get, const TypedBuffer& origin, const Place& place, MPI_Request* request);
  int combine_staged(const TypedBuffer& origin, const TypedBuffer* result, const Place& place,
                     MPI_Op op, MPI_Request* request);
  int swap_staged(const TypedBuffer& origin, const TypedBuffer& compare, const TypedBuffer& result,
                  const Place& place);
  /// `fetches`: results of an atomic operation, which may tell of others' writes.
  template <class Issue>
  int issue(int target, MPI_Request* request, bool fetches, Issue operation);
  template <class Act>
  int held(Act act) const;

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
