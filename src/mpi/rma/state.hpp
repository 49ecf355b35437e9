// What holds for all windows of the process. All mutable globals of this layer that others see are
// here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/published.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

struct OwnRank;
class Outstanding;

/// Some window of this process shows memory that another one shows too. Set by expect_aliases().
/// Global, since a write through one window concerns all others.
inline Published<bool> windows_alias;

/// Windows whose copies may outlive collective calls (validation.hpp). While there is none, these
/// calls are the library's own. Global, since such a call names no window.
inline std::atomic<int> validated_windows{0};

/// Not 0: buffers that the library fills are compared with memory of windows (incoming.hpp).
/// Global, since most of these calls name no window.
inline std::atomic<int> incoming_compared{0};

/// There is, or was, a window whose phases are recalled (cache/recall_gets.hpp): what its epochs
/// reach is noted. Global, so that programs without one do not look their windows up for it.
inline std::atomic<bool> phases_recalled{false};

/// While tracking is off, one in so many calls that wait for targets is timed, and how many go by
/// until the next one (gets/wait_meter.hpp). All are, once long ones are seen.
inline std::atomic<int> wait_interval{1};
inline std::atomic<int> untimed_waits{0};

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

/// Filled by the hooks of windows, that of the window that was there last, and a slot for each of a
/// few before it. Global: a wrapper that only counts is done after one load and one comparison.
inline UntrackedWindow untracked_last;
inline constexpr int kUntrackedWindowBits = 4;
inline UntrackedWindow untracked_windows[std::size_t{1} << kUntrackedWindowBits];

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
/// By the hash of the handle. Global, as the wrappers that read it.
inline std::array<Slot, kSlots> slots;

/// What one thread has counted, for each slot. Others read it.
struct ThreadCounts {
  using Row = std::array<std::atomic<std::uint64_t>, kKinds>;
  std::array<Row, kSlots> rows{};
  /// Calls that wait for targets until the next one that is timed (timed_waits.hpp).
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
