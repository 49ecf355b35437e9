// What origins and ghosts share about one target of one window: its locks and where its memory is.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/clock.hpp"

namespace hob::ghost {

/// Lock modes of MPI_Win_lock; MPI_Win_lock_all is shared.
enum class LockMode : std::uint8_t { none, shared, exclusive };

/// Lives in memory shared by all processes of the node, with the window memory that it describes
/// (or alone, for memory that the program allocated itself), but not on its pages: whether the
/// owner stored there shows in their page tables. All zero but for the description is a valid
/// start.
struct alignas(64) Target {
  std::atomic<std::uint32_t> lock;             ///< writer bit | number of shared holders
  std::atomic<std::uint32_t> writers_waiting;  ///< origins that wait for exclusive access here
  std::atomic<std::uint32_t> accumulating;     ///< 1 while a process applies an accumulate
  std::int32_t pid;  ///< 0: the memory is mapped together with this header; else it is memory
                     ///< of this process
  std::uint64_t
      address;  ///< pid 0: bytes from this header to it (may wrap); else where in that process
  std::uint64_t size;                  ///< bytes exposed
  std::atomic<std::uint32_t> fences;   ///< calls of MPI_Win_fence that its owner has entered
  std::atomic<std::uint32_t> counted;  ///< records applied of messages that get no answer

  /// Whether so many of these have been applied (the number wraps around).
  bool applied(std::uint32_t number) const {
    return static_cast<std::int32_t>(counted.load(std::memory_order_acquire) - number) >= 0;
  }

  /// Whether the owner has entered its fence of this number (they wrap around).
  bool entered(std::uint32_t fence) const {
    return static_cast<std::int32_t>(fences.load(std::memory_order_acquire) - fence) >= 0;
  }

  static constexpr std::uint32_t kWriter = 1U << 31;
  /// Attempts at a lock that let waiting writers go first.
  static constexpr unsigned kWritersFirstTries = 256;

  /// One attempt, never blocks. A shared request with `writers_first` fails while writers wait;
  /// callers give that up after kWritersFirstTries, so that neither side starves and no circle of
  /// waiting arises from it.
  bool try_lock(LockMode mode, bool writers_first = true) {
    if (mode == LockMode::none) return true;
    if (mode == LockMode::exclusive) {
      std::uint32_t free = 0;
      return lock.compare_exchange_strong(free, kWriter, std::memory_order_acquire,
                                          std::memory_order_relaxed);
    }
    if (writers_first && writers_waiting.load(std::memory_order_relaxed) != 0) return false;
    std::uint32_t seen = lock.load(std::memory_order_relaxed);
    while ((seen & kWriter) == 0) {
      if (lock.compare_exchange_weak(seen, seen + 1, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void unlock(LockMode mode) {
    if (mode == LockMode::exclusive) lock.fetch_and(~kWriter, std::memory_order_release);
    if (mode == LockMode::shared) lock.fetch_sub(1, std::memory_order_release);
  }
};
static_assert(sizeof(Target) == 64);

/// Holds a target's accumulate lock. Holders apply at most a few tens of KiB at a time.
class Accumulating {
 public:
  explicit Accumulating(Target& target) : flag_(target.accumulating) {
    unsigned tries = 0;
    std::uint32_t free = 0;
    while (!flag_.compare_exchange_weak(free, 1, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      free = 0;
      // The holder may have lost its core: give ours up rather soon.
      if (++tries % 64 == 0) {
        sched_yield();
      } else {
        relax();
      }
    }
  }
  ~Accumulating() { flag_.store(0, std::memory_order_release); }
  Accumulating(const Accumulating&) = delete;
  Accumulating& operator=(const Accumulating&) = delete;

 private:
  std::atomic<std::uint32_t>& flag_;
};

}  // namespace hob::ghost
