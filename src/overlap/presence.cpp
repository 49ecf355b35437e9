#include "overlap/presence.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <new>

#include "base/clock.hpp"

namespace hob::overlap {
namespace {

long membarrier(int command) { return ::syscall(__NR_membarrier, command, 0, 0); }

/// Of one poll that moves nothing: shorter waits do not give the core away.
constexpr int kPollsBeforeSleep = 50;

}  // namespace

bool prepare_asymmetric() {
  static const bool there = [] {
    const long known = membarrier(MEMBARRIER_CMD_QUERY);
    return known > 0 && (known & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  }();
  return there;
}

void fence_all_threads() { membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED); }

Presence::Slot* Presence::take_slot() noexcept {
  for (Slot* slot = slots_.load(std::memory_order_acquire); slot; slot = slot->next)
    if (!slot->taken.exchange(true, std::memory_order_acquire)) return slot;
  auto* const slot = new (std::nothrow) Slot;
  if (slot == nullptr) std::terminate();
  slot->taken.store(true, std::memory_order_relaxed);
  slot->next = slots_.load(std::memory_order_relaxed);
  while (!slots_.compare_exchange_weak(slot->next, slot, std::memory_order_seq_cst)) continue;
  return slot;
}

void Presence::give_back(Slot& slot) { slot.taken.store(false, std::memory_order_release); }

bool Presence::any_inside(std::memory_order order) const {
  if ((only_.visits.load(order) & 1) != 0) return true;
  // A slot is read after its thread has made it, in whatever order its visits are.
  const std::memory_order made = std::max(order, std::memory_order_acquire);
  for (const Slot* slot = slots_.load(made); slot; slot = slot->next)
    if ((slot->visits.load(order) & 1) != 0) return true;
  return false;
}

std::uint64_t Presence::visits() const {
  std::uint64_t all = only_.visits.load(std::memory_order_relaxed);
  for (const Slot* slot = slots_.load(std::memory_order_acquire); slot; slot = slot->next)
    all += slot->visits.load(std::memory_order_relaxed);
  return all;
}

bool Presence::try_claim() {
  if (inside()) return false;
  claimed_.exchange(1, std::memory_order_seq_cst);
  // Now every other thread's store of its slot is visible here, or its next load finds the claim.
  if (asymmetric_) fence_all_threads();
  if (!any_inside(std::memory_order_seq_cst)) return true;
  release();
  return false;
}

void Presence::release() {
  claimed_.store(0, std::memory_order_release);
  claimed_.notify_all();
}

void Presence::wait() {
  const std::uint64_t start = monotonic_nanoseconds();
  for (int polls = 0; claimed_.load(std::memory_order_acquire) != 0; ++polls) {
    if (polls < kPollsBeforeSleep)
      relax();
    else
      claimed_.wait(1, std::memory_order_acquire);
  }
  waits_.fetch_add(1, std::memory_order_relaxed);
  waited_ns_.fetch_add(monotonic_nanoseconds() - start, std::memory_order_relaxed);
}

}  // namespace hob::overlap
