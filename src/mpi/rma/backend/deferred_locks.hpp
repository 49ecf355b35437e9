// Shared locks that are held back until an operation must go out (docs/consistency.md, "Locks that
// are not sent").
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/spin.hpp"
#include "mpi/rma/backend/backend.hpp"

namespace hob::mpi {

/// A backend in front of another one: holds back the locks that its caller names, and
/// passes everything else on. Before anything goes to a target whose lock is held back, the lock
/// goes. Thread safe: a lock that one thread is sending holds the others up until it is made.
class DeferredLocks final : public Backend {
 public:
  explicit DeferredLocks(Backend& next) : next_(next) { may_hold_back_.set(next_.may_hold_back()); }

  /// MPI_Win_lock(MPI_LOCK_SHARED): from here on held back. `hits`: see end(). False, and nothing
  /// done, if this lock cannot be held back: the caller then locks.
  bool defer(int target, int assertion, std::uint64_t hits);

  /// MPI_Win_unlock of `target`: true if its lock was held back to the end, and neither need be
  /// sent. `hits`: gets to the target that a cache served until now; without any since defer(), the
  /// program may have locked for the sake of locking, so that a lock that others may hold is sent.
  bool end(int target, std::uint64_t hits);

  /// Locks are held back, or being sent.
  bool any() const { return HOB_UNLIKELY(count_.load(std::memory_order_acquire) != 0); }

  /// Locks that were never sent.
  std::uint64_t skipped() const { return skipped_; }

  int issue(const rma::Op& op) override {
    if (const int error = ready(op.target)) return error;
    return next_.issue(op);
  }
  int synchronise(const rma::Sync& sync) override {
    if (HOB_UNLIKELY(any()))
      if (const int error = ready_for(sync)) return error;
    return next_.synchronise(sync);
  }
  void closing() override { next_.closing(); }
  void staying() override { next_.staying(); }
  bool holds_back(int target) override;
  int let_in(int target) override {
    if (const int error = ready(target)) return error;
    return next_.let_in(target);
  }
  void keep_bounds(int target) override { next_.keep_bounds(target); }

 private:
  struct Lock {
    int target;
    int assertion;
    std::uint64_t hits;
    const void* sender;  ///< the thread that sends it, or null
  };

  /// Something goes to `target`: a lock of it that is held back goes before. Returns an MPI error.
  int ready(int target) { return any() ? send(target) : MPI_SUCCESS; }
  /// The same, of a synchronisation.
  int ready_for(const rma::Sync& sync);
  /// The lock of `target` was sent, even if an error handler threw.
  struct Sent {
    DeferredLocks& locks;
    int target;
    ~Sent();
  };

  std::vector<Lock>::iterator held_back(int target);
  void forget(std::vector<Lock>::iterator place);
  int send(int target);
  int send_all();

  Backend& next_;
  Spin lock_;
  std::vector<Lock> held_back_;  ///< those that are being sent, too
  std::atomic<int> count_{0};    ///< of them
  std::uint64_t skipped_ = 0;
};

}  // namespace hob::mpi
