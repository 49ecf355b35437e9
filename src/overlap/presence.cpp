#include "overlap/presence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.hpp"

namespace hob::overlap {
namespace {

long membarrier(int command) { return ::syscall(__NR_membarrier, command, 0, 0); }

/// Of one poll that moves nothing: shorter waits do not give the core away.
constexpr int kLooksBeforeSleep = 50;

}  // namespace

bool prepare_asymmetric() {
  static const bool there = [] {
    const long known = membarrier(MEMBARRIER_CMD_QUERY);
    return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  }();
  return there;
}

bool Presence::try_claim() {
  if (inside()) return false;
  claimed_.exchange(1, std::memory_order_seq_cst);
  // Now every other thread's store of visits_ is visible here, or its next load finds the claim.
  if (asymmetric_) membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  if (!inside_at(visits_.load(std::memory_order_seq_cst))) return true;
  release();
  return false;
}

void Presence::release() {
  claimed_.store(0, std::memory_order_release);
  claimed_.notify_all();
}

void Presence::enter_shared() {
  visits_.fetch_add(kThreads + 2, std::memory_order_seq_cst);  // one visit and one thread more
  if (claimed_.load(std::memory_order_seq_cst) != 0) [[unlikely]]
    wait();
}

void Presence::leave_shared() {
  visits_.fetch_add(kThreads, std::memory_order_release);  // one visit more, one thread less
}

void Presence::wait() {
  const std::uint64_t start = monotonic_nanoseconds();
  for (int looks = 0; claimed_.load(std::memory_order_acquire) != 0; ++looks) {
    if (looks < kLooksBeforeSleep)
      relax();
    else
      claimed_.wait(1, std::memory_order_acquire);
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  waited_ns_.fetch_add(monotonic_nanoseconds() - start, std::memory_order_relaxed);
}

}  // namespace hob::overlap
