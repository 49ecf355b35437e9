// How one-sided operations of a window reach their target: through the MPI library, or through a
// ghost process that works for it.
#pragma once

#include "base/published.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Carries RMA calls from a window's origin to its targets. Every function has the meaning, the
/// arguments and the result of the MPI call of its name on the window that it was made for;
/// `request` null means the form without a request. Implementations serve every thread level of the
/// program.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual int get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                  MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) = 0;
  virtual int put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                  MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) = 0;
  virtual int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target,
                         MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                         MPI_Request* request) = 0;
  virtual int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                             MPI_Count result_count, MPI_Datatype result_type, int target,
                             MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                             MPI_Op op, MPI_Request* request) = 0;
  virtual int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                           MPI_Aint disp, MPI_Op op) = 0;
  virtual int compare_and_swap(const void* origin, const void* compare, void* result,
                               MPI_Datatype type, int target, MPI_Aint disp) = 0;

  virtual int fence(int assertion) = 0;
  virtual int start(MPI_Group group, int assertion) = 0;
  virtual int complete() = 0;
  virtual int post(MPI_Group group, int assertion) = 0;
  virtual int wait() = 0;
  virtual int test(int* flag) = 0;
  virtual int lock(int type, int target, int assertion) = 0;
  virtual int unlock(int target) = 0;
  virtual int lock_all(int assertion) = 0;
  virtual int unlock_all() = 0;
  virtual int flush(int target) = 0;
  virtual int flush_all() = 0;
  virtual int flush_local(int target) = 0;
  virtual int flush_local_all() = 0;
  virtual int sync() = 0;

  /// Before the library frees the window: nothing of this process may be under way afterwards.
  virtual void closing() {}
  /// After closing(): the library has not freed it.
  virtual void staying() {}

  /// Whether there is any target of which holds_back() may be true.
  bool may_hold_back() const { return may_hold_back_.get(); }
  /// The lock of `target` is held back, or is being sent: an operation there may block until others
  /// give theirs back. let_in() sends it, and blocks in its place. Returns an MPI error.
  virtual bool holds_back(int /*target*/) { return false; }
  virtual int let_in(int /*target*/) { return MPI_SUCCESS; }

  /// After operations to `target` that were given on under a lock: completes what is held of them
  /// beyond the bounds. It may block, so that no lock is held here.
  virtual void keep_bounds(int /*target*/) {}

 protected:
  Published<bool> may_hold_back_;
};

}  // namespace hob::mpi
