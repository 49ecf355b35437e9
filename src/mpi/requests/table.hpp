// A table of request handles. Private to the request layer.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "mpi/core/handle.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/spin.hpp"

namespace hob::mpi {

class Operation;
class CompletionObserver;

namespace requests {

struct ArrayContent;

/// What is known of a handle.
struct KnownHandle {
  std::uint64_t key = 0;
  Operation* operation = nullptr;          ///< Hob's own, or null
  CompletionObserver* observer = nullptr;  ///< of a request of the library's, or null
  std::uint64_t cookie = 0;                ///< the observer's
  std::uint64_t watch = 0;                 ///< numbers the watches; 0: not watched
  bool pooled = false;                     ///< the handle belongs to Hob's pool
  std::uint32_t asked = 0;  ///< with several threads: by calls that did not complete it
  /// Further requests alive with this handle, from whose completion nothing is learned: libraries
  /// give all requests that are complete from the start one handle.
  std::uint32_t more = 0;
};

/// Open addressing: every wait and test looks here, and boost::unordered_flat_map is newer than the
/// Boost that Hob is built with. Entries are never removed, only emptied: libraries use the same
/// handles over and over, so their number is that of the most requests ever alive. Not thread safe.
class HandleTable {
 public:
  KnownHandle* find(std::uint64_t key) {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = start(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i];
      if (slots_[i].key == 0) return nullptr;
    }
  }

  /// The entry of this key, made if there is none. Throws std::bad_alloc.
  KnownHandle& at(std::uint64_t key) {
    if (KnownHandle* found = find(key)) return *found;
    if (2 * (used_ + 1) > slots_.size()) grow();
    ++used_;
    return place(key);
  }

  /// All entries. `visit` must not add any.
  template <class Visit>
  void each(Visit visit) {
    for (KnownHandle& entry : slots_)
      if (entry.key != 0) visit(entry);
  }

 private:
  std::size_t start(std::uint64_t key) const { return handle_hash(key, width_); }

  KnownHandle& place(std::uint64_t key) {
    std::size_t i = start(key);
    while (slots_[i].key != 0) i = (i + 1) & (slots_.size() - 1);
    slots_[i].key = key;
    return slots_[i];
  }

  void grow() {
    std::vector<KnownHandle> old(slots_.empty() ? 256 : 2 * slots_.size());
    old.swap(slots_);
    width_ = std::countr_zero(slots_.size());
    used_ = 0;
    for (const KnownHandle& entry : old) {
      if (!entry.operation && !entry.observer && !entry.pooled) continue;
      place(entry.key) = entry;
      ++used_;
    }
  }

  std::vector<KnownHandle> slots_;
  std::size_t used_ = 0;
  int width_ = 0;
};

struct Registry {
  Spin lock;
  HandleTable table;
  HandleTable starts;                 ///< the operations that MPI_Start asks
  std::uint64_t started_through = 0;  ///< so many
  std::vector<MPI_Request> free_handles;
  MPI_Request never = MPI_REQUEST_NULL;  ///< not complete until MPI ends
  std::uint64_t watches = 0;
  ArrayContent* free_contents = nullptr;  ///< of arrays that no call waits for (array.hpp)
  std::uint64_t changes = 0;              ///< how often a handle came to stand for something else
};

}  // namespace requests
}  // namespace hob::mpi
