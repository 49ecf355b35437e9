// Windows as objects: what Hob knows of an MPI_Win, and finding it from the handle.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/route.hpp"

namespace hob::mpi {

enum class WindowKind : std::uint8_t { create, allocate, shared, dynamic };
const char* name_of(WindowKind kind);

/// Displacement units of all targets. One number if they are equal, which they nearly always are.
class DisplacementUnits {
 public:
  /// What the processes of a window tell each other when it is made. Collective over `comm`,
  /// through the MPI library. `flag`: true in one process is true in all of them afterwards.
  /// `all`: false in one process is false in all of them. `objects`: this process objects to the
  /// window; returns the lowest rank that does, or -1.
  int exchange(std::int64_t own, bool& flag, bool& all, bool objects, MPI_Comm comm);
  /// Where all units are known already; not empty.
  void learn(std::vector<int> each);
  std::int64_t of(int target) const {
    return each_.empty() ? common_ : each_[static_cast<std::size_t>(target)];
  }
  /// 0 where all ranks have the same unit, as almost all programs do.
  std::size_t memory_bytes() const { return each_.capacity() * sizeof each_[0]; }

 private:
  std::int64_t common_ = 1;
  std::vector<std::int64_t> each_;
};

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
  /// Before a call that completes the operations to `target` (all: < 0).
  Seen before(int target) {
    if (HOB_LIKELY(target_.load(std::memory_order_relaxed) == kNobody)) return {};
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

/// One MPI window of the program. Made when the program makes the window, ended with it.
class Window {
 public:
  Window(MPI_Win handle, WindowKind kind, MPI_Comm comm, std::unique_ptr<Route> route);

  MPI_Win handle;
  WindowKind kind;
  int id = 0;               ///< counts the windows of this process
  int rank = 0;             ///< of this process in the window's group
  int size = 0;             ///< of the group
  std::uint64_t bytes = 0;  ///< exposed by this process
  std::unique_ptr<Route> route;
  std::unique_ptr<CachedGets> cached;  ///< null: nothing of this window is cached
  std::string why_not_cached;

  const void* base = nullptr;  ///< of this process's memory; null for dynamic windows
  std::string name;            ///< set by the program
  Outstanding atomic_results;  ///< when they arrive, the process may learn from them
  Outstanding writes_beside;   ///< to memory that other windows of this process may show as well

  /// Operations by kind, for the report; see tally().
  std::uint64_t puts = 0, accumulates = 0, atomics = 0;
  std::uint64_t uncached_gets = 0;  ///< of a window without a cache
};

/// The object of a handle; null for a window that Hob does not look after. Thread safe; a few
/// nanoseconds.
Window* find_window(MPI_Win handle) noexcept;

/// Lets the wrappers count calls on this window by themselves while Hob sleeps.
void remember_quiet(Window& window);

/// Takes a new window into the table.
Window* add_window(std::unique_ptr<Window> window);

/// Takes it out; nobody may be using it.
std::unique_ptr<Window> remove_window(MPI_Win handle);

/// Memory changes, or has changed, that windows other than `written` may show: what they cached of
/// it is dropped.
void drop_copies_beside(Window& written);

/// Calls act(Window&) for every live window, oldest first.
void each_window(void (*act)(Window&, void*), void* context);

}  // namespace hob::mpi
