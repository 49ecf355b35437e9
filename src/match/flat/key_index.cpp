#include "match/flat/key_index.hpp"

#include <utility>

namespace hob::match::flat {

KeyIndex::Cell KeyIndex::find_further(const Slots& slots, Key key, std::uint64_t hash) {
  Bucket* home = &buckets_[hash & mask_];
  for (Bucket* bucket = home;; bucket = after(bucket)) {
    std::uint64_t hits = zeros(bucket->word ^ tag_of(hash) * ones);
    for (; hits != 0; hits &= hits - 1) {
      Cell cell = cell_at(bucket, hits);
      cell.home = home;
      if (slots[cell.slot].key() == key) return cell;
    }
    if (bucket->word < passed_one) return {none, 0, bucket, home};
  }
}

KeyIndex::Bucket* KeyIndex::pass(Bucket* bucket) {
  for (; zeros(bucket->word) == 0; bucket = after(bucket)) {
    if (bucket->word < passed_most) bucket->word += passed_one;
  }
  return bucket;
}

void KeyIndex::unpass(Bucket* home, const Bucket* bucket) {
  for (; home != bucket; home = after(home)) {
    // A count that was ever at its most is not known any more, and stays there.
    if (home->word < passed_most) home->word -= passed_one;
  }
}

void KeyIndex::grow(const Slots& slots) {
  std::size_t before = buckets_.capacity();
  std::size_t now = before == 0 ? least_buckets : 2 * before;
  Array<Bucket> old(*memory_);
  old.resize(now, 0);
  for (std::size_t i = 0; i < now; ++i) old[i].word = 0;
  std::swap(old, buckets_);
  mask_ = now - 1;
  room_ += (now - before) * 5 / 2;  // 2.5 keys a bucket: one in a hundred is full then
  for (std::size_t i = 0; i < before; ++i) {
    for (std::uint64_t used = ~zeros(old[i].word) & ones << 7; used != 0; used &= used - 1) {
      std::uint32_t slot = cell_at(&old[i], used).slot;
      std::uint64_t hash = hash_of(slots[slot].key());
      insert(&buckets_[hash & mask_], slot, hash);
    }
  }
}

}  // namespace hob::match::flat
