#pragma once

#include <array>
#include <cstdint>

#include "match/envelope.hpp"
#include "match/flat/ring.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

inline constexpr std::uint32_t kNone = 0xffffffff;

/// An envelope in the two words that are compared.
struct Key {
  std::uint64_t place;    ///< source in the upper half, tag in the lower
  std::uint32_t context;  ///< communicator

  static constexpr Key of(const Envelope& envelope) {
    return {std::uint64_t{static_cast<std::uint32_t>(envelope.source)} << 32 |
                static_cast<std::uint32_t>(envelope.tag),
            envelope.context};
  }
  Envelope envelope() const {
    return {context, static_cast<std::int32_t>(place >> 32), static_cast<std::int32_t>(place)};
  }
  std::uint32_t source() const { return static_cast<std::uint32_t>(place >> 32); }
  std::uint32_t tag() const { return static_cast<std::uint32_t>(place); }

  friend bool operator==(Key a, Key b) { return a.place == b.place && a.context == b.context; }
};

/// Wildcards are numbers: bit 0 the source, bit 1 the tag. This is the bits of a key's place that
/// count with them.
inline constexpr std::array<std::uint64_t, 4> kComparedBits = {~std::uint64_t{0}, 0xffffffff,
                                                               ~std::uint64_t{0xffffffff}, 0};

/// A place with both wildcards.
inline constexpr std::uint64_t kWildPlace = Key::of({0, kAnySource, kAnyTag}).place;

/// Which wildcards a key has.
[[gnu::always_inline]] inline unsigned wildcards_of(Key key) {
  if ((key.place & kWildPlace) == 0) [[likely]] {  // one test for almost all keys
    return 0;
  }
  return static_cast<unsigned>(static_cast<std::int32_t>(key.source()) == kAnySource) |
         static_cast<unsigned>(static_cast<std::int32_t>(key.tag()) == kAnyTag) << 1;
}

/// What a receive with these wildcards looks like that takes messages with this key.
[[gnu::always_inline]] inline Key with_wildcards(Key key, unsigned wildcards) {
  std::uint64_t bits = kComparedBits[wildcards];
  return {(key.place & bits) | (kWildPlace & ~bits), key.context};
}

/// Mixes a communicator and the source, the tag or none of the two (`bits`: where they are in a
/// place) into 32 bits, of which the upper ones depend on all.
[[gnu::always_inline]] inline std::uint32_t part_hash_of(Key key, std::uint64_t bits) {
  std::uint64_t part = key.place & bits;
  return (static_cast<std::uint32_t>(part | part >> 32) ^ key.context * 0x5bd1e995u) * 0x9e3779b1u;
}

/// A queued receive or message. Its fields are read as wide as they were written, for a match often
/// follows so soon that the processor forwards one to the other.
struct Slot {
  void* item;
  std::uint64_t place;     ///< with context: the key
  std::uint32_t context;   ///< free: the next free slot
  std::uint32_t sequence;  ///< place in the order, and the parts' lists; 0 if the slot is free

  /// The lower bits of a sequence number are those of the parts' lists that a message is in.
  static constexpr std::uint32_t kSequenceStep = 8;
  static constexpr std::uint32_t kAllLists = kSequenceStep - 1;
  /// Behind the last sequence number.
  static constexpr std::uint32_t kSequenceEnd = kNone & ~kAllLists;

  Key key() const { return {place, context}; }
  std::uint32_t lists() const { return sequence & kAllLists; }
};
static_assert(sizeof(Slot) == 24);

/// The slots of one queue. A slot keeps its number while it is in use.
class Slots {
 public:
  explicit Slots(Memory& memory) : slots_(memory), rings_(memory) {}

  Slot& operator[](std::uint32_t i) { return slots_[i]; }
  const Slot& operator[](std::uint32_t i) const { return slots_[i]; }

  /// The links of slots with the same key, by slot; only where there are several.
  Link* rings() { return rings_.data(); }

  /// A slot, or none: then grow() before.
  [[gnu::always_inline]] std::uint32_t allocate() {
    std::uint32_t i = free_;
    if (i != kNone) {
      free_ = slots_[i].context;
    } else if (unused_ != slots_.capacity()) {
      i = unused_++;
    }
    return i;
  }

  void release(std::uint32_t i) {
    slots_[i].sequence = 0;
    slots_[i].context = free_;
    free_ = i;
  }

  /// No slot is in use any more: hand them out from the start again, in order of address.
  void reset() {
    free_ = kNone;
    unused_ = 0;
  }

  /// As reset(), and gives the memory back.
  void drop() {
    reset();
    slots_.resize(0, 0);
    rings_.resize(0, 0);
  }

  /// Slots that have ever been handed out since the last reset() have numbers below this.
  std::uint32_t used() const { return unused_; }
  std::size_t capacity() const { return slots_.capacity(); }
  std::size_t next_capacity() const { return capacity() == 0 ? 64 : 2 * capacity(); }

  /// Makes the capacity next_capacity(). Throws std::bad_alloc, changing nothing.
  void grow() {
    if (rings_.capacity() < next_capacity()) rings_.resize(next_capacity(), unused_);
    slots_.resize(next_capacity(), unused_);
  }

 private:
  Array<Slot> slots_;
  Array<Link> rings_;
  std::uint32_t free_ = kNone;
  std::uint32_t unused_ = 0;
};

}  // namespace hob::match::flat
