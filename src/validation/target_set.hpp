// A set of targets of windows, of bounded size: exact while it fits, and ever coarser beyond. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace hob::validation {

/// Any number of windows times any number of ranks, in kWords words. Targets are numbered window by
/// window. The set is a sorted list of blocks, 32 neighbouring numbers each, of which a mask says
/// which are in it. Where more than kBlocks blocks were needed, the set is made coarser: each bit
/// stands for 2, 4, 8, ... neighbours, as few as will do. Then the set says of some targets that
/// they are in it which are not, and never the reverse.
///
/// How coarse a set is depends on what is in it alone, since a part of a set never needs more
/// blocks than the whole. So the union of many sets is the same words in whatever order they are
/// united: all processes learn the same. All its words are plain numbers; not thread safe.
class TargetSet {
 public:
  static constexpr std::size_t kBlocks = 61;
  static constexpr std::size_t kWords = kBlocks + 1;

  void add(std::uint64_t target) {
    const std::uint64_t number = target % kTargets;
    for (;;) {
      const std::uint64_t place = number >> scale();
      const std::uint64_t bit = std::uint64_t{1} << place % kBlockBits;
      const std::uint64_t name = place / kBlockBits;
      std::uint64_t* const found = find(name);
      if (found != end() && name_of(*found) == name) {
        *found |= bit;
        return;
      }
      if (size() < kBlocks) {
        std::copy_backward(found, end(), end() + 1);
        *found = name << kBlockBits | bit;
        set_header(size() + 1, scale());
        return;
      }
      make_coarser();
    }
  }

  bool has(std::uint64_t target) const {
    const std::uint64_t place = target % kTargets >> scale();
    const std::uint64_t* const found = find(place / kBlockBits);
    return found != end() && name_of(*found) == place / kBlockBits &&
           (*found >> place % kBlockBits & 1) != 0;
  }

  /// Adds all that is in `other`.
  void unite(const TargetSet& other) {
    if (other.size() == 0) return;
    TargetSet theirs = other;
    while (theirs.scale() < scale()) theirs.make_coarser();
    while (scale() < theirs.scale()) make_coarser();
    std::array<std::uint64_t, 2 * kBlocks> both;
    std::uint64_t* const first = both.data();
    std::uint64_t* last = std::merge(blocks(), end(), theirs.blocks(), theirs.end(), first, before);
    last = join_equal(first, last);
    unsigned now = scale();
    for (; static_cast<std::size_t>(last - first) > kBlocks; ++now) last = halve(first, last);
    std::fill(std::copy(first, last, blocks()), words_.data() + kWords, 0);
    set_header(static_cast<std::size_t>(last - first), now);
  }

  /// Each bit stands for so many neighbours; 1: exact.
  std::uint64_t neighbours() const { return std::uint64_t{1} << scale(); }

  /// Of kBlocks.
  std::size_t size() const { return words_[0] >> kSizeShift; }

  bool operator==(const TargetSet&) const = default;

 private:
  static constexpr unsigned kBlockBits = 32, kSizeShift = 8;
  /// Names of blocks have 32 bits: targets that are so far apart share a number.
  static constexpr std::uint64_t kTargets = std::uint64_t{1} << 37;

  static std::uint64_t name_of(std::uint64_t block) { return block >> kBlockBits; }
  static bool before(std::uint64_t one, std::uint64_t other) {
    return name_of(one) < name_of(other);
  }

  unsigned scale() const { return words_[0] & ((1u << kSizeShift) - 1); }
  void set_header(std::size_t size, unsigned scale) { words_[0] = size << kSizeShift | scale; }

  std::uint64_t* blocks() { return &words_[1]; }
  std::uint64_t* end() { return blocks() + size(); }
  const std::uint64_t* end() const { return &words_[1] + size(); }

  /// The first block that is not before this one.
  const std::uint64_t* find(std::uint64_t name) const {
    return std::lower_bound(&words_[1], end(), name << kBlockBits);
  }
  std::uint64_t* find(std::uint64_t name) {
    return std::lower_bound(blocks(), end(), name << kBlockBits);
  }

  /// Blocks of one name become one. Returns the new end.
  static std::uint64_t* join_equal(std::uint64_t* first, std::uint64_t* last) {
    std::uint64_t* kept = first;
    for (std::uint64_t* next = first; next != last; ++next) {
      if (kept != first && name_of(kept[-1]) == name_of(*next))
        kept[-1] |= *next;
      else
        *kept++ = *next;
    }
    return kept;
  }

  /// Bits of two neighbours become one.
  static std::uint64_t halve(std::uint64_t block) {
    constexpr std::uint64_t kMask = 0xffffffff;
    std::uint64_t bits = (block | block >> 1) & 0x55555555;
    bits = (bits | bits >> 1) & 0x33333333;
    bits = (bits | bits >> 2) & 0x0f0f0f0f;
    bits = (bits | bits >> 4) & 0x00ff00ff;
    bits = (bits | bits >> 8) & 0x0000ffff;
    const std::uint64_t name = name_of(block);
    return (name >> 1) << kBlockBits | (bits << (name % 2 * kBlockBits / 2) & kMask);
  }
  static std::uint64_t* halve(std::uint64_t* first, std::uint64_t* last) {
    for (std::uint64_t* block = first; block != last; ++block) *block = halve(*block);
    return join_equal(first, last);
  }

  void make_coarser() {
    std::uint64_t* const last = halve(blocks(), end());
    std::fill(last, end(), 0);
    set_header(static_cast<std::size_t>(last - blocks()), scale() + 1);
  }

  /// The number of blocks and how coarse they are; then the blocks: name, mask.
  std::array<std::uint64_t, kWords> words_{};
};

}  // namespace hob::validation
