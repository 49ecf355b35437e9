#pragma once

// Finds every entry that overlaps a range of target memory, for windows that are written to as
// well. Entries are in lists by the granule of their first byte; entries longer than a limit are in
// a list of their own. It exists from the first drop_range() on: windows that are only read never
// pay for it.

#include <algorithm>
#include <cstdint>

#include "cache/entry.hpp"
#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class RangeMap {
 public:
  bool active() const { return active_; }
  std::uint64_t bytes() const { return heads_.bytes(); }

  /// Makes it ready, with nothing in it, for about `entries` entries. False if there is no memory.
  bool activate(std::uint64_t entries) noexcept {
    if (heads_.size() < entries && !heads_.allocate(entries)) return false;
    for (std::uint64_t i = 0; i < heads_.size(); ++i) heads_[i] = kNone;
    long_ = kNone;
    longest_ = 0;
    active_ = true;
    return true;
  }
  void deactivate() { active_ = false; }

  void insert(LazyArray<Entry>& entries, std::uint32_t e) {
    std::uint32_t& head = head_of(entries[e]);
    entries[e].range_prev = kNone;
    entries[e].range_next = head;
    if (head != kNone) entries[head].range_prev = e;
    head = e;
    if (entries[e].extent <= kLongExtent) longest_ = std::max(longest_, entries[e].extent);
  }

  void remove(LazyArray<Entry>& entries, std::uint32_t e) {
    const Entry& entry = entries[e];
    if (entry.range_next != kNone) entries[entry.range_next].range_prev = entry.range_prev;
    if (entry.range_prev != kNone)
      entries[entry.range_prev].range_next = entry.range_next;
    else
      head_of(entry) = entry.range_next;
  }

  /// Calls visit(entry number) for every entry that overlaps; visit may remove that entry, and may
  /// be called again for one that stays. False if the range is so long that looking would cost more
  /// than it is worth.
  template <class Visit>
  bool overlapping(LazyArray<Entry>& entries, std::uint32_t target, std::uint64_t begin,
                   std::uint64_t bytes, Visit&& visit) {
    const std::uint64_t end = bytes > ~begin ? ~std::uint64_t{0} : begin + bytes;
    const std::uint64_t first = (begin - std::min(begin, longest_)) >> kShift;
    const std::uint64_t last = (end - 1) >> kShift;
    if (last - first > kMaxGranules) return false;
    const auto walk = [&](std::uint32_t e) {
      while (e != kNone) {
        const Entry& entry = entries[e];
        const std::uint32_t next = entry.range_next;
        if (entry.target == target && entry.displacement < end &&
            begin < entry.displacement + entry.extent)
          visit(e);
        e = next;
      }
    };
    for (std::uint64_t granule = first; granule <= last; ++granule) walk(list(target, granule));
    walk(long_);
    return true;
  }

 private:
  static constexpr std::uint32_t kShift = 12;
  static constexpr std::uint64_t kLongExtent = std::uint64_t{64} << 10;
  static constexpr std::uint64_t kMaxGranules = 1024;

  std::uint32_t& list(std::uint32_t target, std::uint64_t granule) {
    return heads_[to_range(mix(granule, target), heads_.size())];
  }
  std::uint32_t& head_of(const Entry& entry) {
    return entry.extent > kLongExtent ? long_ : list(entry.target, entry.displacement >> kShift);
  }

  ZeroArray<std::uint32_t> heads_;
  std::uint32_t long_ = kNone;
  std::uint64_t longest_ = 0;  ///< extent of any entry in heads_ so far
  bool active_ = false;
};

}  // namespace hob::cache
