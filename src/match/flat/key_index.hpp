#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Mixes a key into 32 bits, all of which depend on all of the key.
[[gnu::always_inline]] inline std::uint32_t hash_of(const Envelope& key) {
  std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(key.source)} << 32 |
                        static_cast<std::uint32_t>(key.tag);
  unsigned __int128 product =
      static_cast<unsigned __int128>(place ^ 0x9e3779b97f4a7c15u) *
      ((std::uint64_t{key.context} << 32 | 0x8ebc6af1u) ^ 0xd6e8feb86659fd93u);
  std::uint64_t mixed =
      static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return static_cast<std::uint32_t>(mixed ^ mixed >> 32);
}

/// From keys to rings of slots, oldest first: a hash table with so many chains for each key that
/// the first comparison almost always decides (what costs here is a branch that cannot be
/// predicted, not memory). Access says what a slot's key is and where its links are:
///   Envelope key(std::uint32_t slot) const;   Links& links(std::uint32_t slot) const;
///   void is_first(std::uint32_t slot, bool first) const;   told whether a slot is its key's oldest
template <class Access, std::size_t chains_per_key = 8>
class KeyIndex {
 public:
  explicit KeyIndex(Memory& memory) : memory_(&memory), firsts_(memory), chain_(memory) {}

  /// Makes room for one more slot, with a number below `slots`. Throws std::bad_alloc, changing
  /// nothing that can be seen.
  [[gnu::always_inline]] void reserve(Access access, std::size_t slots) {
    if (keys_ == room_ || chain_.capacity() < slots) [[unlikely]] {
      grow(access, slots);
    }
  }

  /// The oldest slot of a key, or none. After the first reserve().
  [[gnu::always_inline]] std::uint32_t find(Access access, const Envelope& key,
                                            std::uint32_t hash) const {
    std::uint32_t slot = firsts_[hash & mask_];
    while (slot != none && !same(access.key(slot), key)) slot = chain_[slot];
    return slot;
  }

  /// Adds a slot as its key's youngest. After reserve().
  [[gnu::always_inline]] void append(Access access, std::uint32_t slot, const Envelope& key,
                                     std::uint32_t hash) {
    std::uint32_t first = find(access, key, hash);
    if (first != none) {
      std::uint32_t last = access.links(first).prev;
      access.links(slot) = {first, last};
      access.links(last).next = slot;
      access.links(first).prev = slot;
      access.is_first(slot, false);
      return;
    }
    access.links(slot) = {slot, slot};
    access.is_first(slot, true);
    insert(slot, hash);
    ++keys_;
  }

  /// Takes out the oldest slot of a key.
  [[gnu::always_inline]] void remove_first(Access access, std::uint32_t slot, std::uint32_t hash) {
    std::uint32_t* link = &firsts_[hash & mask_];
    while (*link != slot) link = &chain_[*link];
    Links at = access.links(slot);
    if (at.next == slot) {
      *link = chain_[slot];
      --keys_;
      return;
    }
    unlink(access, at);
    access.is_first(at.next, true);
    chain_[at.next] = chain_[slot];
    *link = at.next;
  }

  /// Takes out a slot that is not its key's oldest.
  [[gnu::always_inline]] void remove_younger(Access access, std::uint32_t slot) {
    unlink(access, access.links(slot));
  }

  /// Forgets all keys and gives the memory back.
  void drop() {
    firsts_.resize(0, 0);
    chain_.resize(0, 0);
    keys_ = room_ = 0;
  }

 private:
  static constexpr std::size_t least_chains = 512;
  // Larger tables have half as many chains for each key: there the caches matter more.
  static constexpr std::size_t roomy_chains = 32768;

  static bool same(const Envelope& a, const Envelope& b) {
    return ((a.context ^ b.context) | static_cast<std::uint32_t>(a.source ^ b.source) |
            static_cast<std::uint32_t>(a.tag ^ b.tag)) == 0;
  }

  void insert(std::uint32_t slot, std::uint32_t hash) {
    chain_[slot] = firsts_[hash & mask_];
    firsts_[hash & mask_] = slot;
  }

  static void unlink(Access access, Links at) {
    access.links(at.prev).next = at.next;
    access.links(at.next).prev = at.prev;
  }

  [[gnu::noinline, gnu::cold]] void grow(Access access, std::size_t slots) {
    if (chain_.capacity() < slots) chain_.resize(slots, chain_.capacity());
    if (keys_ != room_) return;
    std::size_t before = firsts_.capacity();
    std::size_t after = before == 0 ? least_chains : 2 * before;
    Array<std::uint32_t> old(*memory_);
    old.resize(after, 0);
    for (std::size_t i = 0; i < after; ++i) old[i] = none;
    std::swap(old, firsts_);
    mask_ = static_cast<std::uint32_t>(after - 1);
    room_ = after / (after <= roomy_chains ? chains_per_key : (chains_per_key + 1) / 2);
    for (std::size_t i = 0; i < before; ++i) {
      for (std::uint32_t slot = old[i]; slot != none;) {
        std::uint32_t next = chain_[slot];
        insert(slot, hash_of(access.key(slot)));
        slot = next;
      }
    }
  }

  Memory* memory_;
  Array<std::uint32_t> firsts_;  // by hash: the first slot of a chain of keys' oldest slots
  Array<std::uint32_t> chain_;   // by slot: the next of its chain
  std::uint32_t mask_ = 0;
  std::size_t keys_ = 0;
  std::size_t room_ = 0;  // keys before the table grows
};

}  // namespace hob::match::flat
