#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Finds the oldest message by part of its envelope, for receives with wildcards.
///
/// Every message gets a record in order of arrival; that is all that adding does, and removing does
/// nothing: a record is recognised as gone because its slot no longer has its sequence. Records are
/// in a chain for each part that is kept: chains are chosen by a hash of the part, and hold their
/// records in order. A search first links what has come since the last one and is still there. What
/// is gone leaves a chain when a search meets it, and the array when that is full. Messages of
/// other parts that a search meets in its chain are less than two, on average, whatever the parts
/// are.
class PartIndex {
 public:
  enum Part : unsigned { by_source, by_tag, by_context };

  explicit PartIndex(Memory& memory)
      : records_(memory), chains_{Array<Ends>(memory), Array<Ends>(memory), Array<Ends>(memory)} {}

  /// Whether any part is kept.
  bool any() const { return any_; }

  /// The oldest message whose part is that of `want`, or none. The first search by a part makes its
  /// chains: that walks all slots. Throws std::bad_alloc, changing nothing that can be seen.
  std::uint32_t find(const Slots& slots, Part part, Key want);

  /// Makes room for one more message. Throws as above. While any().
  [[gnu::always_inline]] void reserve(const Slots& slots) {
    if (used_ == records_.capacity()) [[unlikely]] {
      renew(slots);
    }
  }

  /// A message has come. After reserve().
  [[gnu::always_inline]] void append(std::uint32_t slot, std::uint32_t sequence) {
    records_[used_].sequence = sequence;
    records_[used_].slot = slot;
    ++used_;
  }

  /// Keeps no part any more.
  void clear() {
    used_ = linked_ = 0;
    on_ = {};
    any_ = false;
  }

  /// As clear(), and gives the memory back.
  void drop();

 private:
  struct Record {
    std::uint32_t sequence;
    std::uint32_t slot;
    std::array<std::uint32_t, 3> next;  // in each part's chain
  };
  struct Ends {
    std::uint32_t head;
    std::uint32_t tail;
  };

  static bool same(unsigned part, Key a, Key b) {
    if (a.context != b.context) return false;
    if (part == by_source) return a.source() == b.source();
    return part == by_context || a.tag() == b.tag();
  }

  Ends& chain_of(unsigned part, Key key) {
    std::uint64_t word = std::uint64_t{key.context} << 32;
    if (part == by_source) word |= key.source();
    if (part == by_tag) word |= key.tag();
    word = (word ^ word >> 29) * 0x9e3779b97f4a7c15u;
    return chains_[part][word >> shift_];
  }

  void link(unsigned part, std::uint32_t at, Key key) {
    Ends& chain = chain_of(part, key);
    records_[at].next[part] = none;
    (chain.head == none ? chain.head : records_[chain.tail].next[part]) = at;
    chain.tail = at;
  }

  static bool alive(const Slots& slots, const Record& record) {
    return slots[record.slot].sequence == record.sequence;
  }

  void make(const Slots& slots, Part part);
  [[gnu::noinline, gnu::cold]] void renew(const Slots& slots);
  void unlink_all();
  void link_new(const Slots& slots);

  Array<Record> records_;
  std::array<Array<Ends>, 3> chains_;
  std::array<bool, 3> on_{};
  bool any_ = false;
  unsigned shift_ = 0;  // from 64 bits of hash to a chain
  std::uint32_t used_ = 0;
  std::uint32_t linked_ = 0;  // records before this are in chains
};

}  // namespace hob::match::flat
