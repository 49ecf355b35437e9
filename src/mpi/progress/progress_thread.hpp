// The one thread of Hob's own that polls: what each part wants polled is a task. The thread exists
// while a task is registered.
#pragma once

#include <atomic>
#include <cstdint>

#include "os/sockets.hpp"

namespace hob::mpi {

namespace progress_thread {
class Thread;

/// Processor time of the thread since its last call, ns. For tasks, which call it once a poll at
/// most: what a poll took, and the rest before it.
std::uint64_t take_cost();

/// Processor time of the thread since that, which goes on counting.
std::uint64_t cost_so_far();
}  // namespace progress_thread

/// Something that the thread polls. It lives as long as the process, or until end() has returned.
/// What a task may do to others: polls are made one after another, so each should take
/// microseconds, or be of a task that rests while the others have something to do.
class ProgressTask {
 public:
  static constexpr std::uint64_t kUntilRoused = ~std::uint64_t{0};

  /// How deep a task rests: a rouse() names the least depth that it ends.
  enum Depth : std::uint32_t { kAwake, kShort, kLonger, kLong };

  /// What a task does until its next poll.
  struct Rest {
    std::uint64_t ns = kUntilRoused;
    Depth depth = kLong;
    os::Sockets* sockets = nullptr;  ///< the rest ends, too, when one of them has changed
  };
  /// `changed`: how many of the sockets have since the last poll, where the rest had some; at least
  /// 1 if the task was roused; -1 where there was no socket. A poll and a rouse() are ordered: of
  /// sequentially consistent accesses, one sees those before the other.
  using Poll = Rest (*)(int changed);

  constexpr explicit ProgressTask(Poll poll) : poll_(poll) {}

  /// Registers it, and makes the thread if there is none. Nothing where it is registered, or where
  /// the system gives no thread. Any thread may call it at any time.
  void start() {
    if (!registered()) add();
  }

  bool registered() const { return state_.load(std::memory_order_acquire) == State::registered; }

  /// There may be something to do: ends a rest of this depth or a deeper one.
  void rouse(Depth least);

  /// No more polls, from its return on. The last task's end is the thread's. It can be started
  /// again. Not for the task itself.
  void end();

  /// The same without waiting, for the end of the process.
  void leave();

  /// Whether a poll is to end soon, since the task does.
  bool ending() const { return state_.load(std::memory_order_relaxed) == State::ending; }

 private:
  friend class progress_thread::Thread;
  enum class State { none, registered, ending };

  void add();

  Poll poll_;
  std::atomic<State> state_{State::none};
  std::atomic<Depth> depth_{kAwake};
  std::atomic<unsigned> roused_{0};  ///< since the last poll began: a bit for each depth
  // Of the thread.
  std::uint64_t due_ns_ = 0;
  os::Sockets* sockets_ = nullptr;
};

}  // namespace hob::mpi
