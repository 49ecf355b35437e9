// What holds for all windows of the process. All mutable globals of this layer that others see are
// here.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/published.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

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

/// There is, or was, a window whose phases are recalled (cache/recalling.hpp): what its epochs
/// reach is noted. Global, so that programs without one do not look their windows up for it.
inline std::atomic<bool> phases_recalled{false};

/// While Hob sleeps, one in so many calls that wait for targets is timed, and how many go by until
/// the next one (gets/wait_meter.hpp). All are, once long ones are seen.
inline std::atomic<int> wait_interval{1};
inline std::atomic<int> untimed_waits{0};

/// Where the calls on a window are counted; null for those that its hook must see.
struct QuietWindow {
  MPI_Win window{};
  std::uint64_t* puts = nullptr;
  std::uint64_t* accumulates = nullptr;
  std::uint64_t* atomics = nullptr;      ///< fetching ones, to targets that `results` covers
  const Outstanding* results = nullptr;  ///< null: the hook must see all of them
  std::uint64_t* gets = nullptr;         ///< whatever their target is
  std::uint64_t* own_gets = nullptr;     ///< of the process's own rank alone
  std::uint64_t* requested = nullptr;
  int own_rank = -1;
};

/// One slot for each of a few windows, filled by their hooks. Global: a wrapper that only counts is
/// done after one load and one comparison.
inline constexpr int kQuietWindowBits = 4;
inline QuietWindow quiet_windows[std::size_t{1} << kQuietWindowBits];

}  // namespace hob::mpi
