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
class KeyIndex {
  static constexpr std::uint32_t lanes = 6;
  struct alignas(32) Bucket {
    std::uint64_t word;  // a byte for each lane, 0: free; above them, the number of keys gone past
    std::uint32_t slots[lanes];
  };

 public:
  /// Where a key was looked for. Good until the next change.
  struct Cell {
    std::uint32_t slot;  ///< the oldest of the key, or none
    std::uint32_t bit;   ///< of the bucket's word, where its byte begins
    Bucket* bucket;
    Bucket* home;  ///< where the search began
  };

  explicit KeyIndex(Memory& memory) : memory_(&memory), buckets_(memory) {}

  /// Makes room for one more key. Throws std::bad_alloc, changing nothing that can be seen.
  [[gnu::always_inline]] void reserve(const Slots& slots) {
    if (room_ == 0) [[unlikely]] {
      grow(slots);
    }
  }

  [[gnu::always_inline]] bool empty() const { return buckets_.capacity() == 0; }

  /// The oldest slot of a key. Not while empty().
  [[gnu::always_inline]] Cell find(const Slots& slots, Key key, std::uint64_t hash) {
    Bucket* home = &buckets_[hash & mask_];
    std::uint64_t word = home->word;
    std::uint64_t hits = zeros(word ^ tag_of(hash) * ones);
    if (hits != 0) {
      Cell cell = cell_at(home, hits);
      if (slots[cell.slot].key() == key) [[likely]] {
        cell.home = home;
        return cell;
      }
    } else if (word < passed_one) [[likely]] {
      return {none, 0, home, home};
    }
    return find_further(slots, key, hash);
  }

  /// Adds a slot as its key's youngest. After reserve().
  [[gnu::always_inline]] void append(Slots& slots, std::uint32_t slot, Key key,
                                     std::uint64_t hash) {
    Cell cell = find(slots, key, hash);
    if (cell.slot != none) {
      add_to_ring(slots, slot, cell.slot);
      return;
    }
    --room_;
    insert(cell.home, slot, hash);
    slots[slot].next = slot;
    slots[slot].prev = slot;
  }

  /// Takes out the slot that find() has found.
  [[gnu::always_inline]] void remove(Slots& slots, const Cell& cell, std::uint64_t hash) {
    std::uint32_t next = slots[cell.slot].next;
    if (next != cell.slot) {
      cell.bucket->slots[cell.bit / 8] = next;
      unlink(slots, cell.slot);
      return;
    }
    ++room_;
    cell.bucket->word -= tag_of(hash) << cell.bit;
    if (cell.bucket != cell.home) [[unlikely]] {
      unpass(cell.home, cell.bucket);
    }
  }

  /// Takes out a slot that is not its key's oldest.
  static void unlink(Slots& slots, std::uint32_t slot) {
    std::uint32_t next = slots[slot].next;
    std::uint32_t prev = slots[slot].prev;
    slots[prev].next = next;
    slots[next].prev = prev;
  }

  /// Forgets all keys and gives the memory back.
  void drop() {
    buckets_.resize(0, 0);
    room_ = 0;
  }

 private:
  static constexpr std::size_t least_buckets = 16;
  static constexpr std::uint64_t ones = 0x0000010101010101;
  static constexpr std::uint64_t passed_one = std::uint64_t{1} << 48;
  static constexpr std::uint64_t passed_most = 0xffff * passed_one;

  /// 1 to 127.
  static std::uint64_t tag_of(std::uint64_t hash) {
    std::uint64_t tag = hash >> 57;
    return tag + (tag == 0);
  }

  /// The top bit of each lane's byte that is 0, if no byte is above 127.
  static std::uint64_t zeros(std::uint64_t word) {
    constexpr std::uint64_t tops = ones << 7;
    return (tops - word) & tops;
  }

  static Cell cell_at(Bucket* bucket, std::uint64_t hits) {
    std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(hits)) / 8;
    return {bucket->slots[lane], 8 * lane, bucket, nullptr};
  }

  Bucket* after(Bucket* bucket) {
    return &buckets_[static_cast<std::size_t>(bucket - buckets_.data() + 1) & mask_];
  }

  static void add_to_ring(Slots& slots, std::uint32_t slot, std::uint32_t first) {
    std::uint32_t last = slots[first].prev;
    slots[slot].next = first;
    slots[slot].prev = last;
    slots[last].next = slot;
    slots[first].prev = slot;
  }

  [[gnu::always_inline]] void insert(Bucket* home, std::uint32_t slot, std::uint64_t hash) {
    std::uint64_t free = zeros(home->word);
    if (free == 0) [[unlikely]] {
      home = pass(home);
      free = zeros(home->word);
    }
    std::uint32_t lane = static_cast<std::uint32_t>(std::countr_zero(free)) / 8;
    home->word += tag_of(hash) << 8 * lane;
    home->slots[lane] = slot;
  }

  /// As find(), for the rare cases.
  [[gnu::noinline, gnu::cold]] Cell find_further(const Slots& slots, Key key, std::uint64_t hash);
  /// The first bucket after this one that is not full; those on the way count one more key.
  [[gnu::noinline, gnu::cold]] Bucket* pass(Bucket* bucket);
  /// Takes back what pass() counted from a key's home on.
  [[gnu::noinline, gnu::cold]] void unpass(Bucket* home, const Bucket* bucket);
  [[gnu::noinline, gnu::cold]] void grow(const Slots& slots);

  Memory* memory_;
  Array<Bucket> buckets_;
  std::size_t mask_ = 0;
  std::size_t room_ = 0;  // keys before the table grows
};

}  // namespace hob::match::flat
