// What holds for all windows of the process. All mutable globals of this layer that others see are
// here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/published.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

struct OwnRank;
class Outstanding;

/// While tracking is off, one in so many calls that wait for targets is timed
/// (gets/wait_meter.hpp). All are, once long ones are seen.
struct TimedWaits {
  std::atomic<int> interval{1};
  std::atomic<int> left{0};  ///< that go by until the next one

  /// Whether a call is not timed.
  bool passes() {
    const int after = left.load(std::memory_order_relaxed) - 1;
    if (after <= 0) [[unlikely]]
      return false;
    left.store(after, std::memory_order_relaxed);
    return true;
  }
  void restart() {
    left.store(interval.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  void set(int next) {
    interval.store(next, std::memory_order_relaxed);
    restart();
  }
};

/// Global, since most calls that ask name no window, or must not look one up.
struct AllWindows {
  /// Some window of this process shows memory that another one shows too: a write through one
  /// concerns all others. Set by expect_aliases().
  Published<bool> alias;

  /// Windows whose copies may outlive collective calls (validation.hpp). While there is none, these
  /// calls are the library's own.
  std::atomic<int> validated{0};

  /// Not 0: buffers that the library fills are compared with memory of windows (incoming.hpp).
  std::atomic<int> incoming_compared{0};

  /// There is, or was, a window whose phases are recalled (cache/recall_gets.hpp): what its epochs
  /// reach is noted.
  std::atomic<bool> phases_recalled{false};

  TimedWaits timed;
};
/// Of this process.
inline constinit AllWindows all_windows;

/// Calls with the handle of no window.
inline std::uint64_t calls_on_no_window = 0;

/// Where the calls on a window are counted; null for gets that its hook must see.
struct UntrackedWindow {
  MPI_Win window{};
  int own_rank = -1;
  std::uint64_t* puts = &calls_on_no_window;
  std::uint64_t* accumulates = &calls_on_no_window;
  std::uint64_t* atomics =
      &calls_on_no_window;               ///< fetching ones, to targets that `results` covers
  const Outstanding* results = nullptr;  ///< null: the hook must see all of them
  std::uint64_t* gets = nullptr;         ///< whatever their target is
  std::uint64_t* own_gets = nullptr;     ///< of the process's own rank alone
  std::uint64_t* requested = &calls_on_no_window;
};

/// Filled by the hooks of windows: the one that was there last, and a slot for each of a few before
/// it.
struct UntrackedWindows {
  static constexpr int kBits = 4;
  UntrackedWindow last;
  UntrackedWindow slots[std::size_t{1} << kBits];

  UntrackedWindow& slot(MPI_Win window) { return slots[handle_hash(handle_bits(window), kBits)]; }
  /// The window's slot, or that of another one.
  const UntrackedWindow& of(MPI_Win window) {
    if (last.window == window) [[likely]]
      return last;
    return slot(window);
  }
  void put(const UntrackedWindow& its) {
    if (last.window != its.window) {
      if (last.window != UntrackedWindow{}.window) slot(last.window) = last;
      forget(its.window);  // else it would have two slots
    }
    last = its;
  }
  void forget(MPI_Win window) {
    for (UntrackedWindow* const its : {&last, &slot(window)})
      if (its->window == window) *its = {};
  }
  void forget_all() {
    last = {};
    for (UntrackedWindow& its : slots) its = {};
  }
};
/// Global: a wrapper that only counts is done after one load and one comparison.
inline constinit UntrackedWindows untracked_windows;

/// Calls that the library alone serves in programs with several threads (direct.hpp).
namespace direct {

/// What is counted.
enum Kind : std::uint8_t { kGets, kOwnGets, kPuts, kAccumulates, kAtomics, kRequested };
inline constexpr std::size_t kKinds = 6;

/// Which calls on a window nothing of Hob needs to see.
enum class Open : std::uint8_t {
  none,
  own,  ///< gets from the own rank and writes to it
  all,
};

/// A few windows have a slot each, from the first operation that their hooks see until they are
/// freed. While a window is alive, a slot with its handle is its own.
struct Slot {
  std::atomic<std::uint64_t> handle{0};  ///< its bits; 0: free
  std::atomic<Open> open{Open::none};
  std::atomic<Outstanding*> results{};  ///< of its atomics
  /// Of its cache; null: it has none.
  std::atomic<OwnRank*> own{};
  std::atomic<int> rank{-1};  ///< of this process in the window's group
  std::atomic<int> size{0};   ///< of the group
};
inline constexpr int kSlotBits = 4;
inline constexpr std::size_t kSlots = std::size_t{1} << kSlotBits;
/// By the hash of the handle.
struct Slots {
  std::array<Slot, kSlots> all;
  /// Of the windows that hold them.
  std::array<std::array<std::uint64_t*, kKinds>, kSlots> counters{};
  std::mutex lock;  ///< under which they are given, closed and collected

  Slot& operator[](std::size_t slot) { return all[slot]; }
};
/// Global, as the wrappers that read it.
inline constinit Slots slots;

/// What one thread has counted, for each slot. Others read it.
struct ThreadCounts {
  using Row = std::array<std::atomic<std::uint64_t>, kKinds>;
  std::array<Row, kSlots> rows{};
  /// Calls that wait for targets until the next one that is timed (untracked_untimed()).
  int untimed = 0;

  void add(std::size_t slot, Kind kind) {
    auto& counter = rows[slot][kind];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};
/// Of this thread; null until its first operation that a hook sees.
inline thread_local ThreadCounts* own_counts __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace direct

}  // namespace hob::mpi
