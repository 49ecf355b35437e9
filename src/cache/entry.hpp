#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cache/block.hpp"
#include "cache/cache.hpp"

namespace hob::cache {

/// No entry, no region, no slot.
inline constexpr std::uint32_t kNone = 0xffffffffu;

/// One cached get. What a hit reads and writes comes first.
struct alignas(128) Entry {
  std::uint64_t displacement;
  std::uint64_t layout;
  std::uint32_t target;
  std::uint32_t birth;  ///< 0: this Entry is free
  std::uint64_t valid;  ///< bytes that can be read; less than size while pending
  std::byte* data;
  std::uint64_t size;        ///< bytes here or under way
  std::uint64_t last;        ///< index of the last get that matched (paper III-D1: x.last)
  std::uint32_t uses;        ///< gets: the one that fetched it and every hit
  std::uint32_t generation;  ///< of the cache when it was reserved, see CacheEngine::drop_target

  std::uint64_t fetched;  ///< the caller's clock
  std::uint64_t
      touched;  ///< blocks: the parts that were asked for; others: Fetch::tag, 0 once asked for
  std::uint64_t extent;
  std::uint32_t cookie;
  std::uint32_t slot;                    ///< where the index keeps it
  std::uint32_t region;                  ///< where the storage keeps it
  std::uint32_t consecutive;             ///< hits with nothing in between
  float interval;                        ///< policies: mean gets between two uses
  std::uint32_t prev, next;              ///< policies: a list; also the list of free entries
  std::uint32_t range_prev, range_next;  ///< RangeMap
  std::uint32_t mark;                    ///< policies: a few bits

  bool pending() const { return valid < size; }
  bool matches(const Key& key) const {
    return displacement == key.displacement && target == key.target && layout == key.layout;
  }
  Key key() const { return {target, displacement, layout}; }
  /// Bytes that some get asked for, as far as that is known.
  std::uint64_t used_bytes() const {
    return is_block(layout) ? std::min(bytes_of_parts(block_shift(layout), touched), size) : size;
  }
};
static_assert(sizeof(Entry) == 128);

}  // namespace hob::cache
