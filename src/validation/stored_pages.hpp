// Pages of a range of memory, and which of them were stored to. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::validation {

/// Whole pages. The first and the last one may hold other data, too: [inner_begin, inner_end) are
/// those that do not.
struct PageRange {
  std::uintptr_t begin = 0, end = 0;
  std::uintptr_t inner_begin = 0, inner_end = 0;

  bool empty() const { return begin == end; }
  bool overlaps(std::uintptr_t from, std::uintptr_t to) const { return begin < to && from < end; }
  /// Bytes of [from, to) on pages that hold no other data.
  std::uint64_t inside(std::uintptr_t from, std::uintptr_t to) const {
    const std::uintptr_t first = std::max(from, inner_begin), last = std::min(to, inner_end);
    return last > first ? last - first : 0;
  }
};

struct StoredPages {
  std::int64_t count = 0;  ///< -1: the kernel does not say
  bool inside = false;     ///< some of them hold no other data, or it is unknown which they are
};

}  // namespace hob::validation
