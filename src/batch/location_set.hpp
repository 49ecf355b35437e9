// Byte ranges of one target that a batch touches, and whether a new one overlaps any of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hob::batch {

/// A set of byte ranges that do not overlap. Exact: ranges that only share a granule do not count.
/// Ranges are of similar size: see accepts(). Not thread safe. Functions that add may throw
/// std::bad_alloc, and have then changed nothing.
class LocationSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// A range may be so many times larger or smaller than the first one: beyond, looking it up costs
  /// too much.
  static constexpr std::uint64_t kSimilar = 8;

  /// Whether a range of so many bytes may be added. `bytes` > 0.
  bool accepts(std::uint64_t bytes) const {
    return size_ == 0 ||
           (bytes <= kSimilar << shift_ && bytes * kSimilar >= std::uint64_t{1} << shift_);
  }

  /// The number of a range that overlaps [begin, begin + bytes), or kNone.
  std::uint32_t find(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t end = begin + bytes;
    if (size_ == 0 || begin >= high_ || end <= low_) return kNone;
    const std::uint64_t last = (end - 1) >> shift_;
    // A long range against many small ones: all of these are looked at.
    if (last - (begin >> shift_) > 2 * kSimilar) return find_any(begin, end);
    for (std::uint64_t granule = begin >> shift_; granule <= last; ++granule)
      for (std::size_t i = home(granule); slots_[i].round == round_; i = (i + 1) & mask_) {
        const Slot& slot = slots_[i];
        if (slot.granule != granule) continue;
        const Range& range = ranges_[slot.number];
        if (range.begin < end && begin < range.end) return slot.number;
      }
    return kNone;
  }

  /// Adds a range that overlaps none and that accepts() allows. Ranges are numbered from 0.
  void add(std::uint64_t begin, std::uint64_t bytes) {
    const std::uint64_t end = begin + bytes;
    if (size_ == 0) {
      shift_ = static_cast<std::uint32_t>(std::bit_width(bytes) - 1);
      low_ = begin;
      high_ = end;
    }
    const std::uint64_t last = (end - 1) >> shift_;
    const std::size_t more = last - (begin >> shift_) + 1;
    if (2 * (used_ + more) > slots_.size()) grow(used_ + more);
    ranges_.push_back({begin, end});
    for (std::uint64_t granule = begin >> shift_; granule <= last; ++granule)
      place(granule, static_cast<std::uint32_t>(size_));
    ++size_;
    if (begin < low_) low_ = begin;
    if (end > high_) high_ = end;
  }

  void clear() {
    size_ = used_ = 0;
    ranges_.clear();
    if (++round_ != 0) return;
    for (Slot& slot : slots_) slot.round = 0;
    round_ = 1;
  }

  std::size_t size() const { return size_; }
  std::uint64_t begin_of(std::uint32_t number) const { return ranges_[number].begin; }
  std::uint64_t end_of(std::uint32_t number) const { return ranges_[number].end; }
  std::uint64_t memory_bytes() const {
    return slots_.capacity() * sizeof(Slot) + ranges_.capacity() * sizeof(Range);
  }

 private:
  /// A slot of another round is empty.
  struct Slot {
    std::uint64_t granule = 0;
    std::uint32_t number = 0;
    std::uint32_t round = 0;
  };
  struct Range {
    std::uint64_t begin, end;
  };
  static constexpr std::size_t kFewest = 64;

  std::size_t home(std::uint64_t granule) const {
    return static_cast<std::size_t>((granule * 0x9E3779B97F4A7C15u) >> 32) & mask_;
  }

  void place(std::uint64_t granule, std::uint32_t number) {
    std::size_t i = home(granule);
    while (slots_[i].round == round_) i = (i + 1) & mask_;
    slots_[i] = {granule, number, round_};
    ++used_;
  }

  void grow(std::size_t wanted) {
    const std::size_t count = std::bit_ceil(wanted < kFewest ? kFewest : 4 * wanted);
    std::vector<Slot> bigger(count);
    slots_.swap(bigger);
    mask_ = count - 1;
    used_ = 0;
    for (const Slot& slot : bigger)
      if (slot.round == round_) place(slot.granule, slot.number);
  }

  std::uint32_t find_any(std::uint64_t begin, std::uint64_t end) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ranges_[i].begin < end && begin < ranges_[i].end) return static_cast<std::uint32_t>(i);
    return kNone;
  }

  std::vector<Slot> slots_;
  std::vector<Range> ranges_;
  std::size_t mask_ = 0, size_ = 0, used_ = 0;
  std::uint64_t low_ = 0, high_ = 0;  ///< of all ranges
  std::uint32_t shift_ = 0;           ///< of a granule: the size of the first range, about
  std::uint32_t round_ = 1;
};

}  // namespace hob::batch
