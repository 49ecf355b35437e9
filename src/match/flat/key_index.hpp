#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Mixes a key into 64 bits: the lower and the uppermost depend on all of it.
[[gnu::always_inline]] inline std::uint64_t hash_of(Key key) {
  unsigned __int128 product =
      static_cast<unsigned __int128>(key.place ^ std::uint64_t{key.context} * 0x5bd1e995u) *
      0x9e3779b97f4a7c15u;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// From keys to rings of slots, oldest first: a hash table of buckets of half a cache line.
///
/// A bucket has a word with a byte of hash for each of its 6 cells, and the cells. All bytes are
/// compared at once, so that there is next to no branch that cannot be predicted; and the word is
/// written and read as a whole, so that a search right after a change does not wait for it, as a
/// vector compare would. A key whose bucket is full goes to the next that is not; each bucket
/// counts the keys that went past it.
///
/// The caller looks into a key's own bucket by look() and does what is usual there by itself;
/// find(), append() and remove() do everything.
class KeyIndex {
  static constexpr std::uint32_t kLanes = 6;
  struct alignas(32) Bucket {
    std::uint64_t word;  // a byte for each lane, 0: free; above them, the number of keys gone past
    std::uint32_t slots[kLanes];  // what leads to the slots of a key: see ring
  };
  static constexpr std::uint64_t kOnes = 0x0000010101010101;
  static constexpr std::uint64_t kPassedOne = std::uint64_t{1} << 48;
  static constexpr std::uint64_t kPassedMost = 0xffff * kPassedOne;

 public:
  /// A key's own bucket. Good until the next change.
  struct Look {
    Bucket* home;
    std::uint64_t word;
    std::uint64_t tag;   ///< the key's byte
    std::uint64_t hits;  ///< the top bit of each lane's byte that is the key's

    /// The key may be here.
    bool hit() const { return hits != 0; }
    /// Keys of this bucket are in others.
    bool passed() const { return word >= kPassedOne; }
    bool nowhere() const { return !hit() && !passed(); }
    /// Where the first lane that may be the key's begins in the word.
    std::uint32_t bit() const { return static_cast<std::uint32_t>(std::countr_zero(hits)) & ~7u; }
    /// What that lane holds: it leads to the key's slots, see ring.
    std::uint32_t& lane() const { return home->slots[bit() / 8]; }
    /// Frees that lane. There must be no others with its key.
    void clear() const { home->word = word - (tag << bit()); }
  };

  /// Where a key was found.
  struct Cell {
    std::uint32_t slot;  ///< the oldest of the key, or none
    std::uint32_t bit;   ///< of the bucket's word, where its byte begins
    Bucket* bucket;
    Bucket* home;  ///< where the search began
  };

  explicit KeyIndex(Memory& memory) : memory_(&memory), buckets_(memory) {}

  /// Makes room for this many keys. Throws std::bad_alloc, changing nothing that can be seen.
  [[gnu::always_inline]] void reserve(std::size_t keys, const Slots& slots) {
    if (keys > room_) [[unlikely]] {
      grow(keys, slots);
    }
  }

  /// After a reserve() of more than 0.
  [[gnu::always_inline]] Look look(std::uint64_t hash) {
    Bucket* home = &buckets_[hash & mask_];
    std::uint64_t tag = tag_of(hash);
    return {home, home->word, tag, zeros(home->word ^ tag * kOnes)};
  }

  /// Puts a new key into its own bucket, or returns false: that is full.
  [[gnu::always_inline]] static bool insert(std::uint32_t slot, const Look& look) {
    std::uint64_t free = zeros(look.word);
    if (free == 0) [[unlikely]] {
      return false;
    }
    std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(free)) / 8;
    look.home->word = look.word + (look.tag << 8 * lane);
    look.home->slots[lane] = slot;
    return true;
  }

  /// The oldest slot of a key, wherever it is.
  [[gnu::always_inline]] Cell find(const Slots& slots, Key key, std::uint64_t hash) {
    Look here = look(hash);
    if (here.hit()) {
      std::uint32_t slot = ring::oldest_of(here.lane());
      if (slots[slot].key() == key) [[likely]] {
        return {slot, here.bit(), here.home, here.home};
      }
    } else if (!here.passed()) [[likely]] {
      return {kNone, 0, here.home, here.home};
    }
    return find_further(slots, key, hash);
  }
  /// Adds a slot as its key's youngest, wherever there is room. After reserve().
  void append(Slots& slots, std::uint32_t slot, Key key, std::uint64_t hash);
  /// Takes out a slot of the key that find() has found.
  void remove(Slots& slots, std::uint32_t slot, const Cell& cell, std::uint64_t hash);

  /// Calls `use` with each key's oldest slot.
  template <class Use>
  void each_oldest(Use&& use) const {
    each_lane(buckets_, [&](std::uint32_t lane) { use(ring::oldest_of(lane)); });
  }

  /// Forgets all keys and gives the memory back.
  void drop() {
    buckets_.resize(0, 0);
    room_ = 0;
  }

 private:
  static constexpr std::size_t kLeastBuckets = 16;

  /// 1 to 127.
  static std::uint64_t tag_of(std::uint64_t hash) {
    std::uint64_t tag = hash >> 57;
    return tag + (tag == 0);
  }

  /// The top bit of each lane's byte that is 0, if no byte is above 127.
  static std::uint64_t zeros(std::uint64_t word) {
    constexpr std::uint64_t tops = kOnes << 7;
    return (tops - word) & tops;
  }

  static Cell cell_at(Bucket* bucket, std::uint64_t hits) {
    std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
    return {ring::oldest_of(bucket->slots[lane]), 8 * lane, bucket, nullptr};
  }

  template <class Use>
  static void each_lane(const Array<Bucket>& buckets, Use&& use) {
    for (std::size_t i = 0; i < buckets.capacity(); ++i) {
      std::uint64_t used = ~zeros(buckets[i].word) & kOnes << 7;
      for (; used != 0; used &= used - 1) {
        use(buckets[i].slots[static_cast<std::uint32_t>(std::countr_zero(used)) / 8]);
      }
    }
  }

  Bucket* after(Bucket* bucket) {
    return &buckets_[static_cast<std::size_t>(bucket - buckets_.data() + 1) & mask_];
  }

  [[gnu::noinline]] Cell find_further(const Slots& slots, Key key, std::uint64_t hash);
  /// Puts a lane's content into the first bucket from its home on that is not full; those on the
  /// way count one more key.
  void insert_from(Bucket* home, std::uint32_t content, std::uint64_t hash);
  [[gnu::noinline, gnu::cold]] void grow(std::size_t keys, const Slots& slots);

  Memory* memory_;
  Array<Bucket> buckets_;
  std::size_t mask_ = 0;
  std::size_t room_ = 0;  // keys before the table must grow
};

}  // namespace hob::match::flat
