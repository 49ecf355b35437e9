// Which of the program's request handles Hob knows. Private to the request layer.
#pragma once

#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::requests {

struct Entry {
  std::uint64_t key = 0;
  Operation* operation = nullptr;          ///< Hob's own, or null
  CompletionObserver* observer = nullptr;  ///< of a request of the library's, or null
  std::uint64_t cookie = 0;                ///< the observer's
  std::uint64_t watch = 0;                 ///< numbers the watches; 0: nobody watches
  bool pooled = false;                     ///< the handle belongs to Hob's pool
  /// Further requests alive with this handle, from whose completion nothing is learned: libraries
  /// give all requests that are complete from the start one handle.
  std::uint32_t more = 0;
};

/// Open addressing. Entries are never removed, only emptied: libraries use the same handles over
/// and over, so their number is that of the most requests ever alive. Not thread safe.
class Table {
 public:
  Entry* find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i];
      if (slots_[i].key == 0) return nullptr;
    }
  }

  /// The entry of this key, made if there is none. Throws std::bad_alloc.
  Entry& at(std::uint64_t key) {
    if (Entry* found = find(key)) return *found;
    if (2 * (used_ + 1) > slots_.size()) grow();
    ++used_;
    return place(key);
  }

  /// All entries. `visit` must not add any.
  template <class Visit>
  void each(Visit visit) {
    for (Entry& entry : slots_)
      if (entry.key != 0) visit(entry);
  }

 private:
  std::size_t start(std::uint64_t key) const { return handle_hash(key, width_); }

  Entry& place(std::uint64_t key) {
    std::size_t i = start(key);
    while (slots_[i].key != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i].key = key;
    return slots_[i];
  }

  void grow() {
    std::vector<Entry> old(slots_.empty() ? 256 : 2 * slots_.size());
    old.swap(slots_);
    width_ = std::countr_zero(slots_.size());
    used_ = 0;
    for (const Entry& entry : old) {
      if (!entry.operation && !entry.observer && !entry.pooled) continue;
      place(entry.key) = entry;
      ++used_;
    }
  }

  std::vector<Entry> slots_;
  std::size_t used_ = 0;
  int width_ = 0;
};

struct Registry {
  Spin lock;
  Table table;
  std::vector<MPI_Request> free_handles;
  MPI_Request never = MPI_REQUEST_NULL;  ///< not complete until MPI ends
  std::uint64_t watches = 0;
};

/// Never destroyed: requests may outlive everything else.
inline Registry& registry = *new Registry;

/// What is known of a handle, or null. Under the registry's lock.
inline const Entry* known(MPI_Request handle) {
  if (handle == MPI_REQUEST_NULL || unknown(handle)) return nullptr;
  return registry.table.find(handle_bits(handle));
}

/// A copy of what is known of a handle; nothing for a handle that Hob does not know.
Entry look_up(MPI_Request handle);

/// The same, and Hob forgets it; a pooled handle goes back to the pool.
Entry take(MPI_Request handle);

/// Adds one, or takes one away, where only those write who hold the lock.
template <class T>
void one_more(std::atomic<T>& counter) {
  counter.store(static_cast<T>(counter.load(std::memory_order_relaxed) + 1),
                std::memory_order_relaxed);
}
template <class T>
void one_less(std::atomic<T>& counter) {
  counter.store(static_cast<T>(counter.load(std::memory_order_relaxed) - 1),
                std::memory_order_relaxed);
}

/// Hob knows one handle more, or one less. Under the lock.
inline void begins(MPI_Request handle) {
  one_more(alive);
  if (auto& known = known_handle(handle); known.load(std::memory_order_relaxed) != UINT8_MAX)
    one_more(known);
}
inline void ends(MPI_Request handle) {
  one_less(alive);
  if (auto& known = known_handle(handle); known.load(std::memory_order_relaxed) != UINT8_MAX)
    one_less(known);
}

/// As take(), where this operation is behind the handle.
void forget_any(MPI_Request handle);
inline void forget(MPI_Request handle, Operation& operation) {
  if (HOB_UNLIKELY(operation.kept.handle != handle)) return forget_any(handle);
  const std::lock_guard guard(registry.lock);
  operation.kept.in_use = false;
  one_less(operations);
  ends(handle);
}

/// Tells the observer that the watched request is complete. Does nothing if another watch has taken
/// its place: the library gives a handle to another thread's request as soon as it is free.
void tell_complete(MPI_Request handle, std::uint64_t watch);

}  // namespace hob::mpi::requests
