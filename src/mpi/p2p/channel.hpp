// What Hob knows of the receives and messages of one communicator. Private to p2p*.cpp.
#pragma once

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "match/depth_meter.hpp"
#include "match/engine.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::p2p {

/// Mutual exclusion of everything here. Taken by the program's threads, and, only by trying, from
/// within the MPI library, whose own lock the caller may hold.
class Gate {
 public:
  bool try_lock() {
    if (!many_threads) {  // then callers can only meet one another from within the library
      if (busy_.load(std::memory_order_relaxed)) return false;
      busy_.store(true, std::memory_order_relaxed);
    } else if (busy_.exchange(true, std::memory_order_acquire)) {
      return false;
    }
    mine_ = true;
    return true;
  }
  void lock() {
    while (!try_lock()) sched_yield();
  }
  void unlock() {
    mine_ = false;
    busy_.store(false, std::memory_order_release);
  }
  /// This thread has it.
  bool mine() const { return mine_; }
  /// Locked, unless this thread has it already.
  std::unique_lock<Gate> unless_mine() {
    std::unique_lock guard(*this, std::defer_lock);
    if (!mine_) guard.lock();
    return guard;
  }

 private:
  std::atomic<bool> busy_{false};
  static inline thread_local bool mine_ __attribute__((tls_model("initial-exec"))) = false;
};

/// Counters of one communicator's receives.
struct ChannelStats {
  std::uint64_t native = 0;       ///< receives posted with the library
  std::uint64_t held = 0;         ///< receives kept in Hob's queue
  std::uint64_t immediate = 0;    ///< receives that found their message in Hob's queue
  std::uint64_t drawn = 0;        ///< messages that Hob drew from the library
  std::uint64_t handed_over = 0;  ///< held receives given to the library after all
  std::uint64_t lent = 0;         ///< the same, since they were few and waited for
  std::uint64_t emptied = 0;      ///< times the library's unexpected messages were all drawn
  std::uint64_t lone = 0;  ///< blocking receives with nothing else posted: length and depth 1

  void add(const ChannelStats& other) {
    native += other.native;
    held += other.held;
    immediate += other.immediate;
    drawn += other.drawn;
    handed_over += other.handed_over;
    lent += other.lent;
    emptied += other.emptied;
    lone += other.lone;
  }
};

class Channel final : public CompletionObserver {
  /// One in so many receives that go to the library is timed: ever fewer while all are fast, more
  /// of long ones, which take longer anyway, and many after a slow one.
  static constexpr std::uint32_t kTimedAtFirst = 32, kTimedWhileSlow = 8, kTimedWhileFast = 128,
                                 kTimedWhileLong = 64;

  /// One in so many that are not watched is a sentinel. A power of two.
  static constexpr std::uint32_t kPerSentinel = 256;

 public:
  /// So many messages of one sender are looked for in a row before all have a chance.
  static constexpr std::uint32_t kGuesses = 16;

  Channel(MPI_Comm handle, std::uint32_t number);

  /// A receive that went to the library is complete. Takes the gate, unless this thread has it.
  void completed(std::uint64_t ticket, bool freed) override;

  /// Another receive went to the library. Whether it is to be watched, for the instruments and to
  /// see when the queue gets deep: all are at first, then some phases (from an empty queue to the
  /// next one) of those whose queues are short. In between, a sentinel now and then stands for all
  /// receives since the one before: as soon as two of them wait, the queue is deep.
  enum class Watch { no, fully, sentinel };
  Watch next_watch() {
    if (unwatched == 0) return Watch::fully;
    return --unwatched % kPerSentinel == kPerSentinel / 2 ? Watch::sentinel : Watch::no;
  }
  /// How many receives next_watch() will leave alone.
  std::uint32_t left_alone() const {
    return std::min(unwatched, (unwatched - kPerSentinel / 2 - 1) % kPerSentinel);
  }
  void watched();
  /// A blocking receive was watched.
  void watched_blocking();
  CompletionObserver& post_sentinel() {
    ++sentinels;
    return sentinel_;
  }

  /// One more receive, of `count` elements, goes to the library. Whether it is to be timed is asked
  /// before. A long one counts as up to 16: so much longer it takes than looking for its message.
  bool to_be_timed() const { return untimed == 0 && !native_only; }
  void starts(MPI_Count count) {
    if (untimed == 0) untimed = timed_one_in;
    const auto weight =
        1 + static_cast<std::uint32_t>(std::min<MPI_Count>(count / Express::kLong, 15));
    untimed -= std::min(untimed, weight);
  }
  void was_fast(bool is_long) {
    timed_one_in = std::min(2 * timed_one_in, is_long ? kTimedWhileLong : kTimedWhileFast);
  }
  void was_slow() { untimed = (timed_one_in = kTimedWhileSlow) - 1; }

  /// Receives at the library from which on Hob holds new ones: few, if many were held lately.
  std::uint64_t threshold() const;

  /// Whether a new receive here is kept in Hob's queue.
  bool holds() const;

  /// Whether the program's hints forbid wildcards, and so drawing.
  void read_hints();

  MPI_Comm comm;
  std::uint32_t context;
  int ranks = 0;  ///< that may send here
  int highest_tag = 0;
  bool among_others = false;      ///< a message here may come from another process
  bool has_strangers = false;     ///< processes of another world, where that matters
  bool native_only = false;       ///< nothing is ever held or drawn here
  bool gone = false;              ///< the communicator was freed
  bool asks_source = false;       ///< before a message is drawn: p2p.cpp, take_from_library()
  int likely_source = 0;          ///< of the next message, where Hob has to ask
  std::uint32_t guesses = 0;      ///< times that this is tried before Hob asks again
  std::uint64_t held = 0;         ///< receives in Hob's queue
  std::uint64_t unexpected = 0;   ///< messages in Hob's queue
  std::uint64_t outstanding = 0;  ///< nonblocking receives at the library, not known to be complete
  std::uint64_t longest_held = 0;  ///< since none was held
  bool deep_lately = false;        ///< many were held the last time
  std::uint32_t calm_phases = 0;   ///< since then
  std::uint32_t unwatched = 0;     ///< receives that go to the library before the next watched one
  std::uint64_t watched_in_phase = 0, longest_in_phase = 0, watched_in_all = 0;
  std::uint32_t watched_in_stretch = 0;
  std::uint32_t sentinels = 0;                           ///< at the library
  std::uint64_t least_in_stretch = 0, least_before = 0;  ///< of outstanding, in the last stretches
  std::uint64_t references = 0;  ///< receives and watched requests that point here
  std::uint32_t timed_one_in = kTimedAtFirst;
  std::uint32_t untimed = kTimedAtFirst - 1;  ///< that go to the library before one that is timed
  std::uint32_t slow_starts = 0;              ///< of those timed, slow ones lately
  std::uint32_t patience = 4;    ///< slow ones after which the library's messages are drawn
  std::size_t active_place = 0;  ///< in the list of channels with held receives
  match::DepthMeter posted;
  match::DepthMeter arrived;
  ChannelStats stats;

 private:
  class Sentinel final : public CompletionObserver {
   public:
    explicit Sentinel(Channel& of) : channel_(of) {}
    void completed(std::uint64_t, bool) override;

   private:
    Channel& channel_;
  };

  void leave_out(std::uint64_t seen);
  void count_watched(std::uint64_t length);

  Sentinel sentinel_{*this};

  Random random_{1};
};

/// A message that was drawn and that nobody has received.
struct Message {
  MPI_Message handle;
  MPI_Status status;
  match::DepthMeter::Ticket ticket;
};

/// A receive that Hob holds, or a persistent one that it may hold.
class Receive final : public Operation {
 public:
  enum class State { inactive, held, matched, complete };

  Receive() { kept.wanted = true; }

  bool ready() override;
  int result(MPI_Status* status) override;
  void retire() override;
  void abandon() override;
  void cancel() override;
  int start() override;
  bool persistent() const override { return is_persistent; }
  bool awaited() override;
  bool active() const override { return state.load(std::memory_order_acquire) != State::inactive; }

  Channel* channel = nullptr;
  Target target{};
  Wanted wanted{};
  MPI_Count room = 0;        ///< bytes of the longest message that fits
  bool owns_type = false;    ///< target.type is Hob's duplicate
  bool is_blocking = false;  ///< on the stack of a blocking receive, which takes the message itself
  bool is_persistent = false;
  bool is_abandoned = false;
  std::atomic<bool> is_awaited{false};  ///< a thread does nothing but wait for it
  bool counts_outstanding = false;
  bool is_lent = false;  ///< and `ticket` is the posted meter's still
  std::atomic<State> state{State::inactive};
  match::Handle place = 0;  ///< in the engine, while held
  match::DepthMeter::Ticket ticket = 0;
  MPI_Message message = MPI_MESSAGE_NULL;  ///< of a blocking receive, once matched
  MPI_Request native = MPI_REQUEST_NULL;   ///< once matched or handed over
  MPI_Request persistent_native = MPI_REQUEST_NULL;
  void* discarded = nullptr;  ///< where a message goes that is too long; Hob's own memory
  MPI_Status status{};
  int error = MPI_SUCCESS;
  Receive* next_free = nullptr;

 private:
  void no_longer_outstanding(bool heard);
};

/// Everything of this process. All but the settings is guarded by the gate.
struct State {
  enum class Mode { never, automatic, always };
  Mode mode = Mode::never;
  std::uint64_t threshold = 512;  ///< receives at the library from which on Hob holds new ones
  Gate gate;
  std::unique_ptr<match::Engine> engine;
  std::vector<Channel*> active;  ///< with held receives
  std::uint64_t pending = 0;     ///< held receives that no thread is blocked in
  /// So many messages in Hob's queue (`queued`) at most: each takes a request of the library's, and
  /// MPICH has 262,144 in all.
#if defined(OPEN_MPI)
  static constexpr std::uint64_t most_unexpected = UINT64_MAX;
#else
  static constexpr std::uint64_t most_unexpected = 1 << 17;
#endif
  static bool full() { return queued.load(std::memory_order_relaxed) >= most_unexpected; }
  bool served = false;  ///< a receive that a thread waits for got its message since this was reset
  std::uint64_t few = 0;  ///< held receives at most that the library gets when they are waited for
  bool lone_waits_in_library = false;  ///< blocking receives with nothing else posted
  Receive* free_receives = nullptr;
  std::unique_ptr<Message> spare;
  std::vector<std::unique_ptr<Message>> free_messages;
  std::uint32_t next_context = 0;
  bool worlds_may_meet = false;  ///< an intercommunicator was merged
};
/// Never destroyed.
inline State& the_state = *new State;
inline State& state() { return the_state; }

/// The channel of a communicator, made at its first use; null for a handle that is none.
/// The gate is held.
Channel* channel_of(MPI_Comm comm);

/// The same, but null if there has been no use. The gate is held.
Channel* known_channel(MPI_Comm comm);

/// Lets the next receives of this channel take the express way, if they may. The gate is held.
void grant_express(Channel& channel);

/// Books those that took it, and ends it. Before anything that looks at or changes what a channel
/// counts or queues. The gate is held.
void settle_express();

/// Forgets the handle; the channel goes when nothing points to it any more. The gate is held.
void forget(Channel& channel);
void drop_reference(Channel& channel);

/// All channels whose communicator has not been freed, oldest first. The gate is held.
std::vector<Channel*> all_channels();

/// Makes the queues part of the report.
void report_queues();

/// Takes down what an ending channel has to tell. The gate is held.
void remember(const Channel& channel);

}  // namespace hob::mpi::p2p
