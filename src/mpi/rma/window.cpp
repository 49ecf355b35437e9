#include "mpi/rma/window.hpp"

#include <atomic>
#include <mutex>

#include "base/clock.hpp"
#include "base/lasting.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/direct.hpp"
#include "mpi/rma/window_validation.hpp"

namespace hob::mpi {
namespace {

/// Open addressing, read without a lock. Tables that were outgrown are kept until the process ends,
/// since a reader may be in them.
class Table {
 public:
  Window* find(MPI_Win handle) const noexcept {
    const Slots* slots = current_.load(std::memory_order_acquire);
    const std::uint64_t key = handle_bits(handle);
    for (std::size_t i = home(key, *slots);; i = (i + 1) & slots->mask) {
      const std::uint64_t there = slots->slot[i].key.load(std::memory_order_acquire);
      if (HOB_LIKELY(there == key)) return slots->slot[i].window.load(std::memory_order_relaxed);
      if (there == kEmpty) return nullptr;
    }
  }

  void put(MPI_Win handle, Window* window) {
    const std::lock_guard guard(lock_);
    Slots* slots = current_.load(std::memory_order_relaxed);
    if (2 * (slots->used + 1) > slots->mask) slots = grow(*slots);
    place(*slots, handle_bits(handle), window);
  }

  /// The key stays, for a later window with the same handle.
  void clear(MPI_Win handle) {
    const std::lock_guard guard(lock_);
    place(*current_.load(std::memory_order_relaxed), handle_bits(handle), nullptr);
  }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  struct Slot {
    std::atomic<std::uint64_t> key{kEmpty};
    std::atomic<Window*> window{nullptr};
  };
  struct Slots {
    explicit Slots(std::size_t count) : mask(count - 1), slot(count) {}
    std::size_t mask;
    std::size_t used = 0;
    std::vector<Slot> slot;
  };

  static std::size_t home(std::uint64_t key, const Slots& slots) {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15u) >> 40) & slots.mask;
  }

  static void place(Slots& slots, std::uint64_t key, Window* window) {
    for (std::size_t i = home(key, slots);; i = (i + 1) & slots.mask) {
      const std::uint64_t there = slots.slot[i].key.load(std::memory_order_relaxed);
      if (there != key && there != kEmpty) continue;
      slots.slot[i].window.store(window, std::memory_order_relaxed);
      if (there == kEmpty) {
        ++slots.used;
        slots.slot[i].key.store(key, std::memory_order_release);
      }
      return;
    }
  }

  Slots* grow(const Slots& old) {
    auto bigger = std::make_unique<Slots>(2 * (old.mask + 1));
    for (const Slot& slot : old.slot)
      if (Window* window = slot.window.load(std::memory_order_relaxed))
        place(*bigger, slot.key.load(), window);
    Slots* result = bigger.get();
    all_.push_back(std::move(bigger));
    current_.store(result, std::memory_order_release);
    return result;
  }

  std::mutex lock_;
  std::vector<std::unique_ptr<Slots>> all_ = first();
  std::atomic<Slots*> current_{all_.back().get()};

  static std::vector<std::unique_ptr<Slots>> first() {
    std::vector<std::unique_ptr<Slots>> slots;
    slots.push_back(std::make_unique<Slots>(256));
    return slots;
  }
};

struct Windows {
  Table table;
  std::mutex lock;
  std::vector<Window*> alive;
  std::atomic<int> next_id{0};
};

Windows& windows() { return lasting<Windows>(); }

}  // namespace

const char* name_of(WindowKind kind) {
  constexpr const char* names[] = {"create", "allocate", "shared", "dynamic"};
  return names[static_cast<int>(kind)];
}

Window::Window(MPI_Win win, WindowKind how, MPI_Comm comm, Stages to_target)
    : handle(win), kind(how), stages(std::move(to_target)), waits(ticks(), ticks_per_nanosecond()) {
  real::Comm_rank(comm, &rank);
  real::Comm_size(comm, &size);
}

Window::~Window() = default;

bool has_unified_memory(MPI_Win win) {
  int* model = nullptr;
  int flag = 0;
  real::Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
  return flag != 0 && *model == MPI_WIN_UNIFIED;
}

int next_window_id() { return windows().next_id.fetch_add(1, std::memory_order_relaxed); }

Window* find_window(MPI_Win handle) noexcept { return windows().table.find(handle); }

namespace {

/// With several threads: the wrappers count calls on this window that the library alone serves.
void remember_direct(Window& window) {
  const direct::Open open = window.direct.get();
  if (open == direct::Open::none) return;
  CachedGets* const cached = window.cached.get();
  // In the order of direct::Kind.
  direct::remember(
      window.handle,
      {.open = open,
       .counters = {&window.uncached_gets, &window.uncached_own_gets, &window.issued.puts,
                    &window.issued.accumulates, &window.issued.atomics, &window.issued.requested},
       .results = &window.atomic_results,
       .own = cached ? &cached->own_rank() : nullptr,
       .rank = window.rank,
       .size = window.size},
      [&] { return !all_windows.alias.get() && !window.waits.measuring(); });
}

}  // namespace

void remember_untracked(Window& window) {
  if (many_threads) return remember_direct(window);
  if (all_windows.alias.get() || window.waits.measuring()) return;
  const bool all_gets = !window.cached || window.cached->tracking_off_for_good();
  untracked_windows.put({.window = window.handle,
                         .own_rank = window.rank,
                         .puts = &window.issued.puts,
                         .accumulates = &window.issued.accumulates,
                         .atomics = &window.issued.atomics,
                         .results = &window.atomic_results,
                         .gets = all_gets ? &window.uncached_gets : nullptr,
                         .own_gets = &window.uncached_own_gets,
                         .requested = &window.issued.requested});
}

void forget_untracked(const Window& window) {
  if (many_threads) return direct::forget(window.handle);
  untracked_windows.forget(window.handle);
}

Window* add_window(std::unique_ptr<Window> window) {
  Windows& all = windows();
  Window* result = window.release();
  const std::lock_guard guard(all.lock);
  all.alive.push_back(result);
  all.table.put(result->handle, result);
  return result;
}

std::unique_ptr<Window> remove_window(MPI_Win handle) {
  Windows& all = windows();
  std::unique_ptr<Window> window(all.table.find(handle));
  if (!window) return nullptr;
  const std::lock_guard guard(all.lock);
  all.table.clear(handle);
  std::erase(all.alive, window.get());
  forget_untracked(*window);
  direct::release(window->handle);
  return window;
}

void expect_aliases() {
  if (all_windows.alias.get()) return;
  all_windows.alias.set(true);
  // Writes that were issued until now are not recorded.
  each_window([](Window& window) { window.aliased_writes.add_all(); });
  if (many_threads) return direct::forget_all();
  untracked_windows.forget_all();
}

void drop_aliased_copies(Window& written) {
  each_window([&](Window& other) {
    if (&other != &written && other.cached && !outlives_acquires(other.cached->mode()))
      other.cached->drop_all();
  });
}

void each_window(const std::function<void(Window&)>& act) {
  Windows& all = windows();
  const std::lock_guard guard(all.lock);
  for (Window* window : all.alive) act(*window);
}

}  // namespace hob::mpi
