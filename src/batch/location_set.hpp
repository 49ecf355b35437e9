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
  /// A range may be larger or smaller than the first one by this factor: beyond, looking it up
  /// costs too much.
  static constexpr std::uint64_t kSimilar = 8;
  /// Ranges that it can hold.
  static constexpr std::size_t kMost = 65536;

  /// Whether a range of so many bytes may be added. `bytes` > 0.
  bool accepts(std::uint64_t bytes) const {
    return size_ == 0 || (size_ < kMost && bytes <= kSimilar << shift_ &&
                          bytes * kSimilar >= std::uint64_t{1} << shift_);
  }

  /// The number of a range that overlaps [begin, begin + bytes), or kNone.
  std::uint32_t find(std::uint64_t begin, std::uint64_t bytes) const {
    const std::uint64_t end = begin + bytes;
    if (size_ == 0 || begin >= high_ || end <= low_) return kNone;
    const std::uint64_t last = (end - 1) >> shift_;
    // A long range against many small ones: all of these are looked at.
    if (last - (begin >> shift_) > 2 * kSimilar) return find_any(begin, end);
    for (std::uint64_t granule = begin >> shift_; granule <= last; ++granule)
      for (std::size_t i = home(granule); taken(slots_[i]); i = (i + 1) & mask_) {
        const std::uint32_t number = slots_[i] & kNumber;
        const Range& range = ranges_[number];
        if (range.begin < end && begin < range.end) return number;
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
    if (4 * (used_ + more) > slots_.size()) grow(used_ + more);
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
    if (++round_ <= kLastRound) return;
    for (std::uint32_t& slot : slots_) slot = 0;
    round_ = 1;
  }

  std::size_t size() const { return size_; }
  std::uint64_t begin_of(std::uint32_t number) const { return ranges_[number].begin; }
  std::uint64_t end_of(std::uint32_t number) const { return ranges_[number].end; }
  std::uint64_t memory_bytes() const {
    return slots_.capacity() * sizeof slots_[0] + ranges_.capacity() * sizeof(Range);
  }

 private:
  struct Range {
    std::uint64_t begin, end;
  };
  static constexpr std::size_t kFewest = 64;
  /// A slot is the number of a range and the round in which it was placed: of another round, it is
  /// empty. Four bytes, since a batch that fills the first-level cache costs more than its network:
  /// 35 ns for each operation in place of 8.
  static constexpr std::uint32_t kNumber = 0xFFFF, kRoundShift = 16, kLastRound = 0xFFFF;

  bool taken(std::uint32_t slot) const { return slot >> kRoundShift == round_; }

  std::size_t home(std::uint64_t granule) const {
    return static_cast<std::size_t>((granule * 0x9E3779B97F4A7C15u) >> 32) & mask_;
  }

  void place(std::uint64_t granule, std::uint32_t number) {
    std::size_t i = home(granule);
    while (taken(slots_[i])) i = (i + 1) & mask_;
    slots_[i] = round_ << kRoundShift | number;
    ++used_;
  }

  void grow(std::size_t wanted) {
    const std::size_t count = std::bit_ceil(wanted < kFewest / 4 ? kFewest : 4 * wanted);
    std::vector<std::uint32_t> bigger(count);
    slots_.swap(bigger);
    mask_ = count - 1;
    used_ = 0;
    for (std::uint32_t number = 0; number < size_; ++number) {
      const Range& range = ranges_[number];
      const std::uint64_t last = (range.end - 1) >> shift_;
      for (std::uint64_t granule = range.begin >> shift_; granule <= last; ++granule)
        place(granule, number);
    }
  }

  std::uint32_t find_any(std::uint64_t begin, std::uint64_t end) const {
    for (std::size_t i = 0; i < size_; ++i)
      if (ranges_[i].begin < end && begin < ranges_[i].end) return static_cast<std::uint32_t>(i);
    return kNone;
  }

  std::vector<std::uint32_t> slots_;
  std::vector<Range> ranges_;
  std::size_t mask_ = 0, size_ = 0, used_ = 0;
  std::uint64_t low_ = 0, high_ = 0;  ///< of all ranges
  std::uint32_t shift_ = 0;           ///< of a granule: the size of the first range, about
  std::uint32_t round_ = 1;           ///< 1..kLastRound
};

}  // namespace hob::batch
