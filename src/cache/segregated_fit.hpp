#pragma once

// Free regions in lists by size class, 16 classes to a power of two, found by two levels of bit
// maps (TLSF; Masmano et al. 2004). Every operation is O(1).

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "cache/entry.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class SegregatedFit {
 public:
  /// Programs ask for pairs of integers by the hundred thousand: a cache line for each would leave
  /// room for a quarter of them.
  static constexpr std::uint64_t kGrain = 16;

  struct Region {
    std::uint64_t offset;
    std::uint64_t size;
    std::uint32_t prev, next;            ///< neighbours in the buffer
    std::uint32_t owner;                 ///< entry, or `kNone` if free
    std::uint32_t free_prev, free_next;  ///< list of the size class

    void reset() { owner = kNone; }
  };

  SegregatedFit() { clear(); }

  void insert(LazyArray<Region>& regions, std::uint32_t r) {
    const Class c = class_of(regions[r].size);
    std::uint32_t& head = heads_[c.first][c.second];
    regions[r].free_prev = kNone;
    regions[r].free_next = head;
    if (head != kNone) regions[head].free_prev = r;
    head = r;
    first_ |= std::uint64_t{1} << c.first;
    second_[c.first] |= static_cast<std::uint16_t>(1u << c.second);
  }

  void remove(LazyArray<Region>& regions, std::uint32_t r) {
    const Region& region = regions[r];
    if (region.free_next != kNone) regions[region.free_next].free_prev = region.free_prev;
    if (region.free_prev != kNone) {
      regions[region.free_prev].free_next = region.free_next;
      return;
    }
    const Class c = class_of(region.size);
    heads_[c.first][c.second] = region.free_next;
    if (region.free_next != kNone) return;
    second_[c.first] &= static_cast<std::uint16_t>(~(1u << c.second));
    if (second_[c.first] == 0) first_ &= ~(std::uint64_t{1} << c.first);
  }

  /// Removes and returns a region of at least `bytes` bytes, nearly the smallest; or `kNone`.
  std::uint32_t take(LazyArray<Region>& regions, std::uint64_t bytes) {
    const Class c = class_of(bytes);
    // The class of the size itself may hold regions that are too small: look at a few.
    std::uint32_t r = heads_[c.first][c.second];
    for (int tries = 0; tries < kOwnClassTries && r != kNone; ++tries) {
      if (regions[r].size >= bytes) {
        remove(regions, r);
        return r;
      }
      r = regions[r].free_next;
    }
    // Every region of a higher class is large enough.
    const std::uint32_t above = second_[c.first] & (~std::uint32_t{1} << c.second);
    std::uint32_t first = c.first;
    std::uint32_t second = 0;
    if ((above & 0xffffu) != 0) {
      second = static_cast<std::uint32_t>(std::countr_zero(above));
    } else {
      const std::uint64_t higher = first_ & (~std::uint64_t{1} << c.first);
      if (higher == 0) return kNone;
      first = static_cast<std::uint32_t>(std::countr_zero(higher));
      second = static_cast<std::uint32_t>(std::countr_zero(second_[first]));
    }
    r = heads_[first][second];
    remove(regions, r);
    return r;
  }

  void clear() {
    first_ = 0;
    second_.fill(0);
    for (auto& row : heads_) row.fill(kNone);
  }

 private:
  static constexpr std::uint32_t kSplit = 16;  ///< classes per power of two
  static constexpr int kOwnClassTries = 8;
  struct Class {
    std::uint32_t first, second;
  };

  /// Size classes in units of the grain: below 16 units one each, above 16 per power of two.
  static Class class_of(std::uint64_t bytes) {
    const std::uint64_t units = bytes / kGrain;
    if (units < kSplit) return {0, static_cast<std::uint32_t>(units)};
    const auto log = static_cast<std::uint32_t>(std::bit_width(units)) - 1;
    return {std::min<std::uint32_t>(log - 3, 47),
            static_cast<std::uint32_t>((units >> (log - 4)) & (kSplit - 1))};
  }

  std::uint64_t first_ = 0;
  std::array<std::uint16_t, 48> second_{};
  std::array<std::array<std::uint32_t, kSplit>, 48> heads_{};
};

}  // namespace hob::cache
