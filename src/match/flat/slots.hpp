#pragma once

#include <cstdint>

#include "match/envelope.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

inline constexpr std::uint32_t none = 0xffffffff;

/// Neighbours in a ring of slots, by number.
struct Links {
  std::uint32_t next;
  std::uint32_t prev;
};

/// A queued receive or message: half a cache line.
struct alignas(32) Slot {
  void* item;
  std::uint32_t context;
  std::int32_t source;
  std::int32_t tag;
  std::uint32_t sequence;  ///< deep queue: place in the order; 0 if the slot is free
  Links links;  ///< short queue: neighbours in order; deep: ring of slots with the same key;
                ///< free: the next free slot

  Envelope envelope() const { return {context, source, tag}; }
};
static_assert(sizeof(Slot) == 32);

/// The slots of one queue. A slot keeps its number while it is in use.
class Slots {
 public:
  explicit Slots(Memory& memory) : slots_(memory) {}

  Slot& operator[](std::uint32_t i) { return slots_[i]; }
  const Slot& operator[](std::uint32_t i) const { return slots_[i]; }

  /// Makes sure that the next allocate() has a slot. Throws std::bad_alloc.
  void reserve() {
    if (free_ == none && unused_ == slots_.capacity()) [[unlikely]] {
      slots_.resize(slots_.capacity() == 0 ? 64 : 2 * slots_.capacity(), unused_);
    }
  }

  std::uint32_t allocate() {
    if (free_ == none) return unused_++;
    std::uint32_t i = free_;
    free_ = slots_[i].links.next;
    return i;
  }

  void release(std::uint32_t i) {
    slots_[i].sequence = 0;
    slots_[i].links.next = free_;
    free_ = i;
  }

  /// No slot is in use any more: hand them out from the start again, in order of address.
  void reset() {
    free_ = none;
    unused_ = 0;
  }

  /// As reset(), and gives the memory back.
  void drop() {
    reset();
    slots_.resize(0, 0);
  }

  /// Slots that have ever been handed out since the last reset() have numbers below this.
  std::uint32_t used() const { return unused_; }
  std::size_t capacity() const { return slots_.capacity(); }

 private:
  Array<Slot> slots_;
  std::uint32_t free_ = none;
  std::uint32_t unused_ = 0;
};

}  // namespace hob::match::flat
