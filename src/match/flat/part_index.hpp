#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "match/flat/part_lists.hpp"
#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Finds the oldest message by part of its envelope, for receives with wildcards.
///
/// For each part that is in use, messages are in one of many lists, chosen by a hash of the part,
/// in order of arrival. Messages of other parts that a search meets in its list are four at most,
/// on average, whatever the parts are.
///
/// At first every message is in a list for each part in use. After a while, the lists are made anew
/// of those messages whose part a receive has searched for, and others are left out from then on: a
/// bit, chosen by a hash of the part, says which. Once a search finds its bit not set, the lists
/// are made of all messages again, and the while gets twice as long: so what making them costs is
/// spread over ever more messages.
class PartIndex {
 public:
  /// The wildcards of the receives that look for it, less one.
  enum Part : unsigned { by_tag, by_source, by_context };

  explicit PartIndex(Memory& memory) : of_{OfPart(memory), OfPart(memory), OfPart(memory)} {}

  /// Whether any part is in use.
  bool any() const { return used_ != 0; }

  /// Whether find() can be called for this: all messages whose part is that of `want` are in its
  /// list, and there are lists enough, but not more than need be. `now`: the next message's
  /// sequence number.
  bool ready(Part part, Key want, std::uint32_t now) const {
    const OfPart& of = of_[part];
    return uses(part) && !of.lists.overfull() && keeps(part, want) && !due(now);
  }

  /// Begins to use a part, if it is not, and makes the lists of all parts anew for the messages in
  /// `order`, from the oldest to the youngest, and for slots up to the capacity: so that this
  /// find() can be called. Throws std::bad_alloc; then no part is in use.
  void make(Slots& slots, Part part, Key want, const std::vector<std::uint32_t>& order,
            std::uint32_t now);

  /// Makes room for this many slots. Throws std::bad_alloc; then no part is in use.
  void extend(std::size_t capacity);

  /// The oldest message whose part is that of `want`, or none. While ready().
  std::uint32_t find(const Slots& slots, Part part, Key want, std::uint32_t now);

  /// As find(), whether ready() or not, or `kUnsure` where that takes more than a look.
  [[gnu::always_inline]] std::uint32_t look(const Slots& slots, Part part, Key want) const {
    // A message that is in a list was kept, and then all with its part are in this list.
    if (!uses(part) || choosing_) return kUnsure;
    std::uint32_t slot = of_[part].lists.oldest(bit_of(part, want));
    return slot != kNone && same(part, slots[slot].key(), want) ? slot : kUnsure;
  }
  static constexpr std::uint32_t kUnsure = kNone;

  /// Whether a message that comes belongs in any list.
  [[gnu::always_inline]] bool wanted(Key key) const {
    return (uses(by_tag) && keeps(by_tag, key)) || (uses(by_source) && keeps(by_source, key)) ||
           (uses(by_context) && keeps(by_context, key));
  }

  /// A message has come. Its slot remembers which lists it is in.
  [[gnu::always_inline]] void append(Slots& slots, std::uint32_t slot, Key key) {
    append(slots, slot, key, used_);
  }

  /// A message is taken.
  [[gnu::always_inline]] void remove(const Slots& slots, std::uint32_t slot) {
    each(slots[slot].lists() & used_,
         [&](unsigned part) { of_[part].lists.remove(bit_of(part, slots[slot].key()), slot); });
  }

  /// Uses no part any more. The queue must be empty.
  void clear() { used_ = 0; }

  /// As clear(), and gives the memory back.
  void drop();

 private:
  class Bits {
   public:
    explicit Bits(Memory& memory) : words_(memory) {}
    bool get(std::size_t bit) const { return (words_[bit / 64] >> bit % 64 & 1) != 0; }
    void set(std::size_t bit) { words_[bit / 64] |= std::uint64_t{1} << bit % 64; }
    /// `bits` is a multiple of 64. Throws std::bad_alloc.
    void make(std::size_t bits, bool value);
    void copy(const Bits& from, std::size_t bits);
    std::size_t count(std::size_t bits) const;
    void drop() { words_.resize(0, 0); }

   private:
    Array<std::uint64_t> words_;
  };

  /// Of a part.
  struct OfPart {
    explicit OfPart(Memory& memory) : lists(memory), kept(memory), searched(memory) {}

    PartLists lists;  // chosen by bits
    Bits kept;        // messages with these are in the lists
    Bits searched;    // a receive has searched for these
    bool all = true;  // every message is in the lists
  };

  static constexpr unsigned kAllParts = 3;

  template <class Use>
  [[gnu::always_inline]] static void each(std::uint32_t parts, Use&& use) {
    if ((parts & 1u << by_tag) != 0) use(by_tag);
    if ((parts & 1u << by_source) != 0) use(by_source);
    if ((parts & 1u << by_context) != 0) use(by_context);
  }

  [[gnu::always_inline]] void append(Slots& slots, std::uint32_t slot, Key key,
                                     std::uint32_t parts) {
    each(parts, [&](unsigned part) {
      std::uint32_t bit = bit_of(part, key);
      if (!of_[part].kept.get(bit)) return;
      slots[slot].sequence |= 1u << part;
      of_[part].lists.add(bit, slot);
    });
  }

  // Without a branch: which part a receive looks for cannot be predicted.
  static std::uint64_t bits_of(unsigned part) { return kComparedBits[part + 1]; }

  static bool same(unsigned part, Key a, Key b) {
    return (((a.place ^ b.place) & bits_of(part)) | (a.context ^ b.context)) == 0;
  }

  bool uses(unsigned part) const { return (used_ & 1u << part) != 0; }
  bool keeps(unsigned part, Key key) const { return of_[part].kept.get(bit_of(part, key)); }
  std::uint32_t bit_of(unsigned part, Key key) const {
    return part_hash_of(key, bits_of(part)) >> shift_;
  }
  /// It is time to leave messages out.
  bool due(std::uint32_t now) const { return choosing_ && now - since_ >= period_; }

  void list_all(OfPart& of, std::uint32_t now);
  void choose(std::uint32_t parts, std::uint32_t now);
  void link(Slots& slots, std::uint32_t parts, const std::vector<std::uint32_t>& order);

  std::array<OfPart, kAllParts> of_;
  std::uint32_t used_ = 0;    // a bit for each part
  std::size_t bits_ = 0;      // of each part, a power of two
  unsigned shift_ = 0;        // from 32 bits of hash to a bit
  bool choosing_ = false;     // some part's lists have all messages
  std::uint32_t since_ = 0;   // the sequence number when something new was searched for
  std::uint64_t period_ = 0;  // of sequence numbers, until it is due
};

}  // namespace hob::match::flat
