#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace hob::heat {

/// How a heater works. Set once.
struct Config {
  std::int64_t period_ns = 1'000'000;  ///< from one pass to the next; at least 1000
  int cpu = -1;                        ///< where the thread is pinned; -1: not pinned
  /// Pause by itself while the program computes: heat only during communication and shortly before
  /// it is expected. Needs activity(), or the next.
  bool follow_phases = false;
  /// A counter of the program's that rises when it communicates. Not owned; null: none.
  const std::atomic<std::uint64_t>* communications = nullptr;
};

/// What a heater has done.
struct Stats {
  std::uint64_t passes = 0;        ///< times that all regions were touched
  std::uint64_t lines = 0;         ///< cache lines touched
  std::uint64_t idle_passes = 0;   ///< periods in which nothing was touched, being paused
  std::uint64_t deferred = 0;      ///< regions that the heater released for their owner
  std::uint64_t regions = 0;       ///< registered now
  std::uint64_t region_bytes = 0;  ///< registered now
};

/// Keeps memory in a cache that is shared with the core that needs it: a thread that reads the
/// first bytes of each cache line of the registered regions once a period (paper section 3.2).
///
/// add(), remove(), pause(), resume() and activity() may be called by any thread at any time. None
/// of them ever waits for the heater. A removed region is released at once, or, if the heater is
/// inside it at that moment, by the heater as soon as it has left it: so it never reads memory that
/// was freed, and the caller never waits until it has.
class Heater {
 public:
  explicit Heater(const Config& config);
  ~Heater();
  Heater(const Heater&) = delete;
  Heater& operator=(const Heater&) = delete;

  /// Starts the thread. Returns false if there can be none; error() then says why.
  bool start();

  /// Ends the thread; waits for it. Regions stay registered.
  void stop();

  /// Registers a region. Throws std::bad_alloc. An address may be registered once only.
  void add(const void* address, std::size_t bytes);

  /// Takes a region out and calls release(address), now or later, once, in this thread or the
  /// heater's. An address that is not registered is released at once. Returns whether it was.
  bool remove(void* address, void (*release)(void*)) noexcept;

  /// Stops touching until resume(). Calls do not add up.
  void pause() { paused_.store(true, std::memory_order_relaxed); }
  void resume();

  /// The program communicates: one relaxed increment.
  void activity() { activity_.fetch_add(1, std::memory_order_relaxed); }

  Stats stats() const;
  const std::string& error() const { return error_; }

 private:
  // A region's slot goes empty -> live -> touching -> live ... -> empty; remove() turns live into
  // empty (and releases the region itself) or touching into doomed (and leaves that to the heater).
  enum class State : std::uint32_t { empty, live, touching, doomed };

  struct Slot {
    std::atomic<State> state{State::empty};
    char* address = nullptr;
    std::size_t bytes = 0;
    void (*release)(void*) = nullptr;
  };

  // Slots are never freed before the heater itself: the thread walks them without a lock.
  struct Chunk {
    static constexpr std::size_t kSize = 64;
    Slot slots[kSize];
    std::atomic<Chunk*> next{nullptr};
  };

  void run();
  void pass();
  void touch(Slot& slot);

  Config config_;
  std::string error_;
  std::atomic<bool> paused_{false};
  std::atomic<std::uint64_t> activity_{0};

  mutable std::mutex callers_;  // among add(), remove() and stats(); the heater never takes it
  Chunk first_;
  std::uint64_t regions_ = 0;
  std::uint64_t region_bytes_ = 0;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;

  std::atomic<std::uint64_t> passes_{0};
  std::atomic<std::uint64_t> lines_{0};
  std::atomic<std::uint64_t> idle_passes_{0};
  std::atomic<std::uint64_t> deferred_{0};
};

}  // namespace hob::heat
