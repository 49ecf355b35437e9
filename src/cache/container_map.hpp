#pragma once

// Finds a contiguous entry that covers a byte range although it starts elsewhere (row R17). Every
// such entry is noted in one bucket for each granule of target memory that it touches; a lookup
// reads the bucket of its first byte. Bounded work and memory make it forgetful: the longest
// entries of a bucket are kept, and what it says is a hint that the caller checks.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class ContainerMap {
 public:
  /// Room for about `entries` notes. False if there is no memory; then nothing is ever found.
  bool allocate(std::uint64_t entries) noexcept {
    ZeroArray<Bucket> buckets;
    if (!buckets.allocate(std::max<std::uint64_t>(entries / 4, 16))) return false;
    buckets_ = std::move(buckets);
    epoch_ = 1;
    levels_ = 0;
    longest_ = 0;
    return true;
  }

  std::uint64_t bytes() const { return buckets_.bytes(); }

  /// Notes an entry that covers [begin, begin + size) of a target.
  void insert(std::uint32_t target, std::uint64_t begin, std::uint64_t size, std::uint32_t entry) {
    if (buckets_.size() == 0 || size < 2) return;
    std::uint32_t level = 0;
    while (level + 1 < kShifts.size() && (size >> kShifts[level]) > kMaxGranules) ++level;
    levels_ |= 1u << level;
    longest_ = std::max(longest_, size);
    const std::uint64_t first = begin >> kShifts[level];
    const std::uint64_t last =
        std::min((begin + size - 1) >> kShifts[level], first + 2 * kMaxGranules);
    for (std::uint64_t granule = first; granule <= last; ++granule)
      note(hash(target, granule, level), std::bit_width(size), entry);
  }

  /// Calls covers(entry) for noted entries that may cover `bytes` bytes from `begin` on, until it
  /// says yes. Returns that entry, or 0xffffffff.
  template <class Covers>
  std::uint32_t find(std::uint32_t target, std::uint64_t begin, std::uint64_t size,
                     Covers&& covers) const {
    if (size >= longest_) return 0xffffffffu;  // who starts elsewhere and covers it is longer
    const int least = std::bit_width(size);
    for (std::uint32_t level = 0; level < kShifts.size(); ++level) {
      if ((levels_ >> level & 1) == 0) continue;
      const std::uint64_t h = hash(target, begin >> kShifts[level], level);
      const Bucket& bucket = buckets_[to_range(h, buckets_.size())];
      if (bucket.epoch != epoch_) continue;
      for (std::uint32_t i = 0; i < kWidth; ++i)
        if (bucket.tags[i] == tag_of(h) && bucket.logs[i] >= least && covers(bucket.entries[i]))
          return bucket.entries[i];
    }
    return 0xffffffffu;
  }

  /// Forgets everything, in O(1).
  void clear() {
    levels_ = 0;
    longest_ = 0;
    if (++epoch_ != 0) return;
    for (std::uint64_t b = 0; b < buckets_.size(); ++b) buckets_[b] = Bucket{};
    epoch_ = 1;
  }

 private:
  static constexpr std::uint32_t kWidth = 8;
  static constexpr std::uint64_t kMaxGranules = 64;  ///< per entry, before a coarser level is taken
  static constexpr std::array<std::uint32_t, 4> kShifts = {12, 18, 24, 36};

  struct alignas(64) Bucket {
    std::array<std::uint16_t, kWidth> tags;  ///< 0: free
    std::array<std::uint32_t, kWidth> entries;
    std::array<std::uint8_t, kWidth> logs;  ///< bit width of the entry's size
    std::uint32_t epoch;
    std::uint32_t turn;
  };
  static_assert(sizeof(Bucket) == 64);

  static std::uint64_t hash(std::uint32_t target, std::uint64_t granule, std::uint32_t level) {
    return mix(granule * 4 + level, target);
  }
  static std::uint16_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint16_t>(hash);
    return tag == 0 ? 1 : tag;
  }

  void note(std::uint64_t h, int log, std::uint32_t entry) {
    Bucket& bucket = buckets_[to_range(h, buckets_.size())];
    if (bucket.epoch != epoch_) {
      bucket = Bucket{};
      bucket.epoch = epoch_;
    }
    // In place of a free slot, else of the shortest entry, in turns among equals: what stays
    // longest unchallenged is likely gone.
    std::uint32_t place = bucket.turn++ % kWidth;
    for (std::uint32_t i = 0; i < kWidth; ++i) {
      const std::uint32_t k = (bucket.turn + i) % kWidth;
      if (bucket.logs[k] < bucket.logs[place]) place = k;
    }
    if (bucket.logs[place] > log && bucket.turn % 4 != 0) return;
    bucket.tags[place] = tag_of(h);
    bucket.entries[place] = entry;
    bucket.logs[place] = static_cast<std::uint8_t>(log);
  }

  ZeroArray<Bucket> buckets_;
  std::uint32_t epoch_ = 1;
  std::uint32_t levels_ = 0;
  std::uint64_t longest_ = 0;  ///< size of any entry noted so far
};

}  // namespace hob::cache
