// Which targets have operations under way.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {

/// Targets with operations of some kind under way, for what is to be done when they are complete.
/// Thread safe.
class Outstanding {
 public:
  /// What a call may complete that is about to be made.
  struct Seen {
    bool any = false;
    std::uint64_t issued = 0;
  };

  /// After the operation was given to the library; before, another thread's flush could take its
  /// mark and not complete it.
  void add(int target) {
    const std::lock_guard guard(lock_);
    ++issued_;
    const int now = target_.load(std::memory_order_relaxed);
    if (now != target) target_.store(now == kNobody ? target : kMany, std::memory_order_relaxed);
  }
  /// There may be some to every target: they were not noted.
  void add_all() {
    const std::lock_guard guard(lock_);
    ++issued_;
    target_.store(kMany, std::memory_order_relaxed);
  }
  /// Whether one more to `target` would change nothing, while the program has one thread.
  bool covers(int target) const {
    const int now = target_.load(std::memory_order_relaxed);
    return now == target || now == kMany;
  }
  bool none() const { return target_.load(std::memory_order_relaxed) == kNobody; }
  /// Before a call that completes the operations to `target` (all: < 0).
  Seen before(int target) {
    if (HOB_LIKELY(none())) return {};
    const std::lock_guard guard(lock_);
    const int now = target_.load(std::memory_order_relaxed);
    return {now != kNobody && (target < 0 || now == target || now == kMany), issued_};
  }
  /// After it: true if it may have completed some.
  bool arrived(int target, const Seen& seen) {
    if (HOB_LIKELY(!seen.any)) return false;
    const std::lock_guard guard(lock_);
    const int now = target_.load(std::memory_order_relaxed);
    if (issued_ == seen.issued && (target < 0 || now == target))
      target_.store(kNobody, std::memory_order_relaxed);
    return true;
  }

 private:
  static constexpr int kNobody = -1, kMany = -2;
  Spin lock_;
  std::uint64_t issued_ = 0;
  std::atomic<int> target_{kNobody};
};

}  // namespace hob::mpi
