// Runs of bytes: what is left of datatypes where no MPI is known. (The glue's flattened layouts,
// mpi/datatype/layouts.hpp, are of one element, shared and kept; these are of one operation.)
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

inline std::uint64_t total_bytes(std::span<const Block> blocks) {
  std::uint64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

/// Copies packed bytes to `blocks` (relative to base).
inline void scatter(std::byte* base, std::span<const Block> blocks, const std::byte* packed) {
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
