// How one-sided operations of a window reach their target: through the MPI library, or through a
// ghost process that works for it.
#pragma once

#include "base/published.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/rma/backend/op.hpp"
#include "mpi/rma/backend/sync.hpp"

namespace hob::mpi {

/// Carries RMA calls from a window's origin to its targets. Both functions have the meaning and the
/// result of the MPI call that the value names, on the window that the backend was made for.
/// Implementations serve every thread level of the program.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual int issue(const rma::Op& op) = 0;
  virtual int synchronise(const rma::Sync& sync) = 0;

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
  /// The first of these where an operation might wait for another thread of this process.
  bool holds_back_from_threads(int target) {
    return many_threads && may_hold_back() && holds_back(target);
  }

  /// Several operations to `target` were issued, whose completion is asked for later: whatever of
  /// them is collected goes out now. Does not block.
  virtual void send_collected(int /*target*/) {}

  /// After operations to `target` that were given on under a lock: completes what is held of them
  /// beyond the bounds. It may block, so that no lock is held here.
  virtual void keep_bounds(int /*target*/) {}

 protected:
  Published<bool> may_hold_back_;
};

}  // namespace hob::mpi
