#include "match/flat/key_index.hpp"

#include <algorithm>
#include <utility>

namespace hob::match::flat {

KeyIndex::Cell KeyIndex::find_further(const Slots& slots, Key key, std::uint64_t hash) {
  Bucket* home = &buckets_[hash & mask_];
  for (Bucket* bucket = home;; bucket = after(bucket)) {
    std::uint64_t hits = zeros(bucket->word ^ tag_of(hash) * kOnes);
    for (; hits != 0; hits &= hits - 1) {
      Cell cell = cell_at(bucket, hits);
      cell.home = home;
      if (slots[cell.slot].key() == key) return cell;
    }
    if (bucket->word < kPassedOne) return {kNone, 0, bucket, home};
  }
}

void KeyIndex::append(Slots& slots, std::uint32_t slot, Key key, std::uint64_t hash) {
  Cell cell = find(slots, key, hash);
  if (cell.slot != kNone) {
    ring::add_to(cell.bucket->slots[cell.bit / 8], slots.rings(), slot);
  } else {
    insert_from(cell.home, slot, hash);
  }
}

void KeyIndex::remove(Slots& slots, std::uint32_t slot, const Cell& cell, std::uint64_t hash) {
  std::uint32_t& lane = cell.bucket->slots[cell.bit / 8];
  if (ring::has_several(lane)) {
    ring::take_from(lane, slots.rings(), slot);
    return;
  }
  cell.bucket->word -= tag_of(hash) << cell.bit;
  for (Bucket* passed = cell.home; passed != cell.bucket; passed = after(passed)) {
    // A count that was ever at its most is not known any more, and stays there.
    if (passed->word < kPassedMost) passed->word -= kPassedOne;
  }
}

void KeyIndex::insert_from(Bucket* home, std::uint32_t content, std::uint64_t hash) {
  Bucket* bucket = home;
  std::uint64_t free = zeros(bucket->word);
  while (free == 0) {
    if (bucket->word < kPassedMost) bucket->word += kPassedOne;
    bucket = after(bucket);
    free = zeros(bucket->word);
  }
  std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(free)) / 8;
  bucket->word += tag_of(hash) << 8 * lane;
  bucket->slots[lane] = content;
}

void KeyIndex::grow(std::size_t keys, const Slots& slots) {
  std::size_t now = std::max(kLeastBuckets, 2 * buckets_.capacity());
  // 2.5 keys a bucket: one in a hundred is full then.
  while (now * 5 / 2 < keys) now *= 2;
  Array<Bucket> old(*memory_);
  old.resize(now, 0);
  for (std::size_t i = 0; i < now; ++i) old[i].word = 0;
  std::swap(old, buckets_);
  mask_ = now - 1;
  room_ = now * 5 / 2;
  each_lane(old, [&](std::uint32_t content) {
    std::uint64_t hash = hash_of(slots[ring::oldest_of(content)].key());
    insert_from(&buckets_[hash & mask_], content, hash);
  });
}

}  // namespace hob::match::flat
