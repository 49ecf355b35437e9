#pragma once

#include <cstddef>
#include <cstdint>

#include "match/flat/key_index.hpp"
#include "match/flat/slots.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

/// Knows of almost every message that no receive from any source and none with any tag wants it:
/// in a third of the instructions of two searches, and in a part of their memory.
///
/// Each such receive sets a bit, chosen by a hash of what it does ask for. Bits of receives that
/// are gone stay, until there are too many: then those still queued set theirs anew.
class WildFilter {
 public:
  explicit WildFilter(Memory& memory) : words_(memory) {}

  /// Which of the receives that have one wildcard may accept messages with this key: bit 0 those
  /// from any source, bit 1 those with any tag. Bits that are 0 are sure. After an add().
  [[gnu::always_inline]] unsigned may_accept(Key message) const {
    std::size_t source = bit_of(message, 1);
    std::size_t tag = bit_of(message, 2);
    return static_cast<unsigned>(words_[source / 64] >> source % 64 & 1) |
           static_cast<unsigned>(words_[tag / 64] >> tag % 64 & 1) << 1;
  }

  /// Makes room for `more` receives than those that `index` holds, `queued` in number. Throws
  /// std::bad_alloc; then nothing has changed.
  void reserve(std::size_t more, std::size_t queued, const KeyIndex& index, const Slots& slots) {
    if (left_ < more) [[unlikely]] {
      make(more + queued, index, slots);
    }
  }

  /// A receive that has a wildcard. After reserve().
  void add(Key receive) {
    --left_;
    set(receive);
  }

  /// Forgets all and gives the memory back.
  void drop() {
    words_.resize(0, 0);
    left_ = 0;
  }

 private:
  static constexpr std::size_t kLeastRoom = 64;
  static constexpr std::size_t kBitsEach = 32;
  static constexpr std::size_t kMostBits = std::size_t{1} << 31;

  std::size_t bit_of(Key key, unsigned wildcards) const {
    return part_hash_of(key, kComparedBits[wildcards]) >> shift_;
  }

  void set(Key receive) {
    std::size_t bit = bit_of(receive, wildcards_of(receive));
    words_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }

  [[gnu::noinline, gnu::cold]] void make(std::size_t receives, const KeyIndex& index,
                                         const Slots& slots);

  Array<std::uint64_t> words_;
  unsigned shift_ = 0;    // from a hash to a bit's number
  std::size_t left_ = 0;  // receives that may be added before the bits are made anew
};

}  // namespace hob::match::flat
