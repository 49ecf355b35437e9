#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Mixes a key into 32 bits, all of which depend on all of the key.
inline std::uint32_t hash_of(const Envelope& key) {
  std::uint64_t place = std::uint64_t{static_cast<std::uint32_t>(key.source)} << 32 |
                        static_cast<std::uint32_t>(key.tag);
  unsigned __int128 product =
      static_cast<unsigned __int128>(place ^ 0x9e3779b97f4a7c15u) *
      ((std::uint64_t{key.context} << 32 | 0x8ebc6af1u) ^ 0xd6e8feb86659fd93u);
  std::uint64_t mixed =
      static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  return static_cast<std::uint32_t>(mixed ^ mixed >> 32);
}

/// From keys to rings of slots, oldest first: open addressing, linear probing, at most half full,
/// no tombstones. Access says what a slot's key is and where its links are:
///   Envelope key(std::uint32_t slot) const;   Links& links(std::uint32_t slot)
template <class Access>
class KeyIndex {
 public:
  explicit KeyIndex(Memory& memory) : memory_(&memory), cells_(memory) {}

  /// Makes room for one more key. Throws std::bad_alloc, changing nothing.
  void reserve() {
    if (2 * (keys_ + 1) > cells_.capacity()) [[unlikely]] {
      grow();
    }
  }

  /// The cell of a key, or none.
  std::uint32_t find(const Access& access, const Envelope& key, std::uint32_t hash) const {
    if (keys_ == 0) return none;
    for (std::uint32_t i = hash & mask_;; i = (i + 1) & mask_) {
      const Cell& cell = cells_[i];
      if (cell.head == none) return none;
      if (cell.hash == hash && access.key(cell.head) == key) return i;
    }
  }

  /// The oldest slot of a cell.
  std::uint32_t head(std::uint32_t cell) const { return cells_[cell].head; }

  /// Adds a slot as its key's youngest. After reserve().
  void append(Access access, std::uint32_t slot, const Envelope& key, std::uint32_t hash) {
    std::uint32_t i = hash & mask_;
    for (; cells_[i].head != none; i = (i + 1) & mask_) {
      std::uint32_t head = cells_[i].head;
      if (cells_[i].hash != hash || !(access.key(head) == key)) continue;
      std::uint32_t tail = access.links(head).prev;
      access.links(slot) = {head, tail};
      access.links(tail).next = slot;
      access.links(head).prev = slot;
      return;
    }
    cells_[i] = {hash, slot};
    access.links(slot) = {slot, slot};
    ++keys_;
  }

  /// Takes a slot out of the ring of its cell.
  void remove(Access access, std::uint32_t cell, std::uint32_t slot) {
    Links at = access.links(slot);
    if (at.next == slot) {
      erase(cell);
      return;
    }
    access.links(at.prev).next = at.next;
    access.links(at.next).prev = at.prev;
    if (cells_[cell].head == slot) cells_[cell].head = at.next;
  }

  /// Gives the memory back. The index must be empty.
  void drop() { cells_.resize(0, 0); }

  std::size_t capacity() const { return cells_.capacity(); }

 private:
  struct Cell {
    std::uint32_t hash;
    std::uint32_t head;
  };

  void erase(std::uint32_t hole) {
    for (std::uint32_t i = (hole + 1) & mask_; cells_[i].head != none; i = (i + 1) & mask_) {
      std::uint32_t home = cells_[i].hash & mask_;
      if (((i - home) & mask_) >= ((i - hole) & mask_)) {
        cells_[hole] = cells_[i];
        hole = i;
      }
    }
    cells_[hole].head = none;
    --keys_;
  }

  void grow() {
    std::size_t before = cells_.capacity();
    std::size_t capacity = before == 0 ? 64 : 2 * before;
    Array<Cell> old(*memory_);
    old.resize(capacity, 0);
    for (std::size_t i = 0; i < capacity; ++i) old[i].head = none;
    std::swap(old, cells_);
    mask_ = static_cast<std::uint32_t>(capacity - 1);
    for (std::size_t i = 0; i < before; ++i) {
      if (old[i].head == none) continue;
      std::uint32_t to = old[i].hash & mask_;
      while (cells_[to].head != none) to = (to + 1) & mask_;
      cells_[to] = old[i];
    }
  }

  Memory* memory_;
  Array<Cell> cells_;
  std::uint32_t mask_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace hob::match::flat
