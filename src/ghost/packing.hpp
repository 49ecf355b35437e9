// Copies between the blocks of the program's memory and packed bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ghost/block.hpp"
#include "ghost/peer.hpp"

namespace hob::ghost {

/// Visits the pieces of program memory that hold packed bytes [at, at + bytes).
template <class Visit>
void visit(const Local& local, std::uint64_t at, std::uint64_t bytes, Visit&& each) {
  for (const Block& block : local.blocks) {
    if (bytes == 0) return;
    if (at >= block.length) {
      at -= block.length;
      continue;
    }
    const std::uint64_t take = std::min(bytes, block.length - at);
    each(local.base + block.offset + at, take);
    bytes -= take;
    at = 0;
  }
}

inline void pack(const Local& from, std::uint64_t at, std::uint64_t bytes, std::byte* packed) {
  visit(from, at, bytes, [&](const std::byte* piece, std::uint64_t length) {
    std::memcpy(packed, piece, length);
    packed += length;
  });
}

inline void unpack(const Local& into, std::uint64_t bytes, const std::byte* packed) {
  visit(into, 0, bytes, [&](std::byte* piece, std::uint64_t length) {
    std::memcpy(piece, packed, length);
    packed += length;
  });
}

/// The program's memory if packed bytes [at, at + bytes) are one run of it, else null.
inline std::byte* one_run(const Local& local, std::uint64_t at, std::uint64_t bytes) {
  std::byte* run = nullptr;
  visit(local, at, bytes,
        [&](std::byte* piece, std::uint64_t length) { run = length == bytes ? piece : nullptr; });
  return run;
}

/// Pairs the pieces of program memory with the blocks of the target that they belong to.
template <class Move>
void pairwise(const Local& local, std::span<const Block> there, Move&& move) {
  std::uint64_t at = 0;
  for (const Block& block : there) {
    std::int64_t offset = block.offset;
    visit(local, at, block.length, [&](std::byte* piece, std::uint64_t length) {
      move(piece, Block{offset, length});
      offset += static_cast<std::int64_t>(length);
    });
    at += block.length;
  }
}

}  // namespace hob::ghost
