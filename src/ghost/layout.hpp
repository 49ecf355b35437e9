// Where the bytes of an operation lie: flattened datatypes without MPI.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace hob::ghost {

/// `length` bytes at `offset` bytes from some base. Offsets may be negative.
struct Block {
  std::int64_t offset;
  std::uint64_t length;
  friend bool operator==(const Block&, const Block&) = default;
};

/// One instance of a datatype: its data blocks in the order in which MPI packs them.
struct Layout {
  std::uint64_t size = 0;   ///< sum of the block lengths
  std::int64_t extent = 0;  ///< distance between two instances
  std::vector<Block> blocks;

  /// One run of bytes, also when repeated.
  bool contiguous() const {
    return blocks.size() == 1 && static_cast<std::int64_t>(blocks[0].length) == extent;
  }
};

/// Appends a block and merges it with the last one where they touch.
inline void append_block(std::vector<Block>& blocks, Block block) {
  if (block.length == 0) return;
  if (!blocks.empty() &&
      blocks.back().offset + static_cast<std::int64_t>(blocks.back().length) == block.offset) {
    blocks.back().length += block.length;
  } else {
    blocks.push_back(block);
  }
}

/// `count` instances of a layout, first byte `start` bytes from the base.
inline std::vector<Block> expand(const Layout& layout, std::uint64_t count, std::int64_t start) {
  std::vector<Block> blocks;
  if (count == 0 || layout.size == 0) return blocks;
  if (layout.contiguous()) {
    blocks.push_back({start + layout.blocks[0].offset, layout.size * count});
    return blocks;
  }
  blocks.reserve(layout.blocks.size() * count);
  for (std::uint64_t i = 0; i < count; ++i) {
    for (const Block& block : layout.blocks) {
      append_block(blocks, {start + static_cast<std::int64_t>(i) * layout.extent + block.offset,
                            block.length});
    }
  }
  return blocks;
}

inline std::uint64_t total_bytes(std::span<const Block> blocks) {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

/// Copies the bytes of `blocks` (relative to base) one after the other to `packed`.
inline void gather(const std::byte* base, const std::vector<Block>& blocks, std::byte* packed) {
  for (const Block& block : blocks) {
    std::memcpy(packed, base + block.offset, block.length);
    packed += block.length;
  }
}

inline void scatter(std::byte* base, const std::vector<Block>& blocks, const std::byte* packed) {
  for (const Block& block : blocks) {
    std::memcpy(base + block.offset, packed, block.length);
    packed += block.length;
  }
}

/// The blocks that make up packed bytes [from, from + bytes) of `blocks`.
inline std::vector<Block> slice(std::span<const Block> blocks, std::uint64_t from,
                                std::uint64_t bytes) {
  std::vector<Block> part;
  for (const Block& block : blocks) {
    if (bytes == 0) break;
    if (from >= block.length) {
      from -= block.length;
      continue;
    }
    const std::uint64_t take = std::min(bytes, block.length - from);
    part.push_back({block.offset + static_cast<std::int64_t>(from), take});
    bytes -= take;
    from = 0;
  }
  return part;
}

}  // namespace hob::ghost
