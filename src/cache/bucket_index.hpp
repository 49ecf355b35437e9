#pragma once

// Hob's index: buckets of one CPU cache line, 8 slots of a 16-bit tag and an entry number each. A
// key lives in its home bucket or in the one beside it (the same pair of lines), so a lookup reads
// one line, rarely two, and then the one entry whose tag agrees.

#include <array>
#include <bit>
#include <cstdint>
#include <span>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"

namespace hob::cache {

class BucketIndex {
 public:
  static constexpr std::uint32_t kWidth = 8;
  static constexpr std::uint32_t kNobody = 0xffffffffu;

  /// Room for `slots` entries, empty. Twice as many places keep pairs of buckets from overflowing
  /// long before that. False, and unchanged, if there is no memory.
  bool allocate(std::uint64_t slots, std::uint64_t /*seed*/) noexcept {
    ZeroArray<Bucket> buckets;
    const std::uint64_t places = 2 * slots;
    constexpr std::uint64_t pair = std::uint64_t{2} * kWidth;
    if (!buckets.allocate((places + pair - 1) / pair * 2)) return false;
    buckets_ = std::move(buckets);
    slots_ = slots;
    count_ = 0;
    epoch_ = 1;
    return true;
  }

  std::uint64_t slots() const { return slots_; }
  std::uint64_t bytes() const { return buckets_.bytes(); }

  /// The entry with this hash for which equal(entry) holds, or `kNobody`.
  template <class Equal>
  std::uint32_t find(std::uint64_t hash, Equal&& equal) const {
    const std::uint64_t home = to_range(hash, buckets_.size());
    const std::uint16_t tag = tag_of(hash);
    const Bucket& bucket = buckets_[home];
    if (bucket.epoch != epoch_) return kNobody;
    for (std::uint32_t m = match(bucket, tag); m != 0; m &= m - 1) {
      const std::uint32_t entry = bucket.entries[std::countr_zero(m)];
      if (equal(entry)) return entry;
    }
    if (bucket.spilled == 0) return kNobody;
    const Bucket& beside = buckets_[home ^ 1];
    for (std::uint32_t m = match(beside, tag); m != 0; m &= m - 1) {
      const std::uint32_t entry = beside.entries[std::countr_zero(m)];
      if (equal(entry)) return entry;
    }
    return kNobody;
  }

  /// Looks for a place for a key that is not here. True if there is one; else candidates() are the
  /// entries of which one must go. `hash_of(entry)` gives an entry's hash.
  template <class HashOf>
  bool prepare(std::uint64_t hash, HashOf&&) {
    home_ = to_range(hash, buckets_.size());
    tag_ = tag_of(hash);
    place_ = kNoneFree;
    candidate_count_ = 0;
    for (const std::uint64_t b : {home_, home_ ^ 1}) {
      const Bucket& bucket = fresh(b);
      const std::uint32_t free = match(bucket, 0);
      if (free != 0 && count_ < slots_) {
        place_ = static_cast<std::uint32_t>(b * kWidth) + std::countr_zero(free);
        return true;
      }
      for (std::uint32_t i = 0; i < kWidth; ++i)
        if ((free >> i & 1) == 0) candidates_[candidate_count_++] = bucket.entries[i];
    }
    return false;
  }

  std::span<const std::uint32_t> candidates() const {
    return {candidates_.data(), candidate_count_};
  }

  /// Inserts `entry` where prepare() found a place, or where an erased candidate was.
  /// `set_slot(entry, slot)` gets the place of every entry concerned.
  template <class HashOf, class SetSlot>
  bool commit(std::uint64_t, std::uint32_t entry, HashOf&&, SetSlot&& set_slot) {
    if (place_ == kNoneFree) {
      for (const std::uint64_t b : {home_, home_ ^ 1})
        if (const std::uint32_t free = match(buckets_[b], 0); free != 0 && place_ == kNoneFree)
          place_ = static_cast<std::uint32_t>(b * kWidth) + std::countr_zero(free);
      if (place_ == kNoneFree) return false;
    }
    Bucket& bucket = buckets_[place_ / kWidth];
    bucket.tags[place_ % kWidth] = tag_;
    bucket.entries[place_ % kWidth] = entry;
    ++count_;
    if (place_ / kWidth != home_) {
      ++buckets_[home_].spilled;
      bucket.guests |= static_cast<std::uint8_t>(1u << (place_ % kWidth));
    }
    set_slot(entry, place_);
    return true;
  }

  void erase(std::uint32_t slot) {
    Bucket& bucket = buckets_[slot / kWidth];
    const auto bit = static_cast<std::uint8_t>(1u << (slot % kWidth));
    bucket.tags[slot % kWidth] = 0;
    --count_;
    if ((bucket.guests & bit) != 0) {
      bucket.guests &= static_cast<std::uint8_t>(~bit);
      --buckets_[(slot / kWidth) ^ 1].spilled;
    }
  }

  /// Empties the index in O(1): buckets of an older epoch count as empty.
  void clear() {
    count_ = 0;
    if (++epoch_ != 0) return;
    for (std::uint64_t b = 0; b < buckets_.size(); ++b) buckets_[b] = Bucket{};
    epoch_ = 1;
  }

 private:
  struct alignas(64) Bucket {
    std::array<std::uint16_t, kWidth> tags;  ///< 0: free
    std::array<std::uint32_t, kWidth> entries;
    std::uint32_t epoch;
    std::uint8_t spilled;  ///< keys at home here that live in the bucket beside
    std::uint8_t guests;   ///< slots here of keys that are at home beside, as bits
  };
  static_assert(sizeof(Bucket) == 64);
  static constexpr std::uint32_t kNoneFree = 0xffffffffu;

  static std::uint16_t tag_of(std::uint64_t hash) {
    const auto tag = static_cast<std::uint16_t>(hash);
    return tag == 0 ? 1 : tag;
  }

  /// The slots of a bucket with this tag, as bits.
  static std::uint32_t match(const Bucket& bucket, std::uint16_t tag) {
#if defined(__SSE2__)
    const __m128i tags = _mm_load_si128(reinterpret_cast<const __m128i*>(bucket.tags.data()));
    const __m128i equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(static_cast<short>(tag)));
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_packs_epi16(equal, _mm_setzero_si128())));
#else
    std::uint32_t bits = 0;
    for (std::uint32_t i = 0; i < kWidth; ++i) bits |= std::uint32_t{bucket.tags[i] == tag} << i;
    return bits;
#endif
  }

  Bucket& fresh(std::uint64_t b) {
    Bucket& bucket = buckets_[b];
    if (bucket.epoch != epoch_) {
      bucket = Bucket{};
      bucket.epoch = epoch_;
    }
    return bucket;
  }

  ZeroArray<Bucket> buckets_;
  std::uint64_t slots_ = 0;
  std::uint64_t count_ = 0;
  std::uint32_t epoch_ = 1;

  // What prepare() found.
  std::uint64_t home_ = 0;
  std::uint16_t tag_ = 0;
  std::uint32_t place_ = kNoneFree;
  std::array<std::uint32_t, std::size_t{2} * kWidth> candidates_{};
  std::size_t candidate_count_ = 0;
};

}  // namespace hob::cache
