#pragma once

// What one trip for blocks brings: the places in the cache for the blocks of a plan that are not
// there yet. The program and `hob replay` both use it.

#include <array>
#include <cstdint>

#include "cache/cache.hpp"
#include "cache/readahead.hpp"

namespace hob::cache {

/// The bytes [begin, end) of a target are to be fetched. Entry k, if any, is for the block that
/// begins at begin + (k << shift).
struct BlockFetch {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint32_t shift = 0;
  std::uint32_t count = 0;  ///< 0: nothing is to be fetched, for want of room
  std::array<EntryId, Readahead::kMostBlocks> entries{};

  std::uint64_t bytes() const { return end - begin; }
  /// Of the block of entry k.
  std::uint64_t begin_of(std::uint32_t k) const { return begin + (std::uint64_t{k} << shift); }
  std::uint64_t bytes_of(std::uint32_t k) const {
    const std::uint64_t rest = end - begin_of(k);
    return rest >> shift != 0 ? std::uint64_t{1} << shift : rest;
  }
};

/// Reserves entries for the blocks of a plan that was made for the contiguous get `key`, `size`.
/// Blocks at the ends that are in the cache already are left out. Data that find() or fragments()
/// pointed to must have been copied before.
BlockFetch reserve_blocks(Cache& cache, const Readahead::Plan& plan, const Key& key,
                          std::uint64_t size, std::uint32_t cookie) noexcept;

}  // namespace hob::cache
