// Windows as objects: what Hob knows of an MPI_Win, and finding it from the handle.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/published.hpp"
#include "gets/wait_meter.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/near_targets.hpp"
#include "mpi/rma/backend/operation_counts.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/flushed_window.hpp"
#include "mpi/rma/stages.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

struct Validation;

enum class WindowKind : std::uint8_t { create, allocate, shared, dynamic };
const char* name_of(WindowKind kind);

/// Whether the window's memory model is MPI_WIN_UNIFIED.
bool has_unified_memory(MPI_Win win);

/// The number of the next window of this process.
int next_window_id();

/// One MPI window of the program. Made when the program makes the window, ended with it.
class Window {
 public:
  Window(MPI_Win handle, WindowKind kind, MPI_Comm comm, Stages stages);
  ~Window();

  MPI_Win handle;
  WindowKind kind;
  int id = next_window_id();  ///< counts the windows of this process
  int rank = 0;               ///< of this process in the window's group
  int size = 0;               ///< of the group
  FlushedWindow flushed;
  std::uint64_t bytes = 0;  ///< exposed by this process
  Stages stages;
  std::unique_ptr<CachedGets> cached;  ///< null: nothing of this window is cached
  std::string why_not_cached;
  NearTargets near;
  /// The calls on it that nothing of Hob stands before: all, without a cache, batches and ghosts.
  /// Known since the window was made.
  Published<direct::Open> direct{direct::Open::none};

  std::unique_ptr<Validation> validation;  ///< null: nothing of it outlives an acquire
  const void* base = nullptr;              ///< of this process's memory; null for dynamic windows
  std::string name;                        ///< set by the program
  Outstanding atomic_results;              ///< when they arrive, the process may learn from them
  Outstanding aliased_writes;  ///< to memory that other windows of this process may show as well

  OperationCounts issued;
  gets::WaitMeter waits;
  /// The way to a target. Operations on the own rank do not wait: neither locks of it nor
  /// operations on it are held back.
  Backend& way_to(int target) const { return target == rank ? stages.carrier() : stages.first(); }
  std::uint64_t uncached_gets = 0;      ///< of a window without a cache, or that are not looked up
  std::uint64_t uncached_own_gets = 0;  ///< likewise, from the own rank
};

/// The object of a handle; null for a window that Hob does not look after. Thread safe; a few
/// nanoseconds.
Window* find_window(MPI_Win handle) noexcept;

/// Lets the wrappers count calls on this window by themselves while tracking is off, and, with
/// several threads, of a window that the library alone serves.
void remember_untracked(Window& window);
/// Its calls come to the hooks again.
void forget_untracked(const Window& window);

/// Takes a new window into the table.
Window* add_window(std::unique_ptr<Window> window);

/// Takes it out; no thread may be using it.
std::unique_ptr<Window> remove_window(MPI_Win handle);

/// From now on, writes through one window may change what another one shows: none is only counted.
void expect_aliases();

/// Memory changes, or has changed, that windows other than `written` may show: what they cached of
/// it is dropped.
void drop_aliased_copies(Window& written);

/// Calls act(Window&) for every live window, oldest first.
void each_window(const std::function<void(Window&)>& act);

}  // namespace hob::mpi
