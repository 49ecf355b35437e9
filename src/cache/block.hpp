#pragma once

// Blocks: entries that hold more than one get asked for. A block covers the bytes [n << shift,
// (n + 1) << shift) of a target, or fewer where the exposed memory ends, so that whatever lies in
// it is found by its number, without a search. Blocks differ from exact entries, and from blocks
// of other sizes, by their layout. The engine marks which 64ths of a block were asked for.

#include <array>
#include <bit>
#include <cstdint>

namespace hob::cache {

inline constexpr std::uint32_t kMinBlockShift = 8;   ///< 256 B
inline constexpr std::uint32_t kMaxBlockShift = 20;  ///< 1 MiB

/// Key::layout of blocks of 1 << shift bytes. No id of a datatype's layout gets this large.
constexpr std::uint64_t block_layout(std::uint32_t shift) { return ~std::uint64_t{0} - shift; }

constexpr bool is_block(std::uint64_t layout) {
  return layout >= ~std::uint64_t{0} - kMaxBlockShift;
}

/// Of a block's layout.
constexpr std::uint32_t block_shift(std::uint64_t layout) {
  return static_cast<std::uint32_t>(~std::uint64_t{0} - layout);
}

constexpr std::uint64_t block_begin(std::uint64_t displacement, std::uint32_t shift) {
  return displacement >> shift << shift;
}

/// Parts of a block, a bit each, that [offset, offset + bytes) touches; bytes > 0, all in it.
constexpr std::uint64_t block_parts(std::uint32_t shift, std::uint64_t offset,
                                    std::uint64_t bytes) {
  const std::uint64_t first = offset >> (shift - 6);
  const std::uint64_t last = (offset + bytes - 1) >> (shift - 6);
  return (~std::uint64_t{0} << first) & (~std::uint64_t{0} >> (63 - last));
}

/// Bytes of the parts that are marked.
constexpr std::uint64_t bytes_of_parts(std::uint32_t shift, std::uint64_t parts) {
  return static_cast<std::uint64_t>(std::popcount(parts)) << (shift - 6);
}

/// How many blocks of each size there are.
class BlockSizes {
 public:
  void add(std::uint32_t shift) {
    if (counts_[shift - kMinBlockShift]++ == 0) mask_ |= 1u << shift;
  }
  void remove(std::uint32_t shift) {
    if (--counts_[shift - kMinBlockShift] == 0) mask_ &= ~(1u << shift);
  }
  void clear() {
    counts_ = {};
    mask_ = 0;
  }
  /// Bit `shift` is set if there are blocks of that size.
  std::uint32_t mask() const { return mask_; }

 private:
  std::array<std::uint32_t, kMaxBlockShift - kMinBlockShift + 1> counts_{};
  std::uint32_t mask_ = 0;
};

}  // namespace hob::cache
