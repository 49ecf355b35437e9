// The observer of the memory of all caches of the process. Global, since caches are made in many
// places and one heater serves all. All mutable globals of this part are here.
#pragma once

#include <cstddef>

namespace hob::cache {

/// Notified of the memory of indexes, so that a heater can keep it warm. Called from within the
/// cache's calls.
struct IndexObserver {
  void (*added)(const void* address, std::size_t bytes) noexcept;
  /// The cache no longer uses it; release(address) is to be called once, now or later.
  void (*removed)(void* address, std::size_t bytes, void (*release)(void*)) noexcept;
};

/// Set before the first cache is made, if at all, and never changed.
inline const IndexObserver* index_observer = nullptr;

}  // namespace hob::cache
