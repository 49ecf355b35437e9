#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "match/flat/slots.hpp"

namespace hob::match::flat {

/// Finds the oldest message by part of its envelope, for receives with wildcards.
///
/// For each part that is kept, every message is in one of many lists, chosen by a hash of the part,
/// in order of arrival. The lists are rings through one array of links, their heads in front and a
/// link for each slot behind them: so adding and removing need no branch, and touch nothing but
/// neighbours. Messages of other parts that a search meets in its list are four at most, on
/// average, whatever the parts are.
class PartIndex {
 public:
  /// The wildcards of the receives that look for it, less one.
  enum Part : unsigned { by_tag, by_source, by_context };

  explicit PartIndex(Memory& memory)
      : links_{Array<Link>(memory), Array<Link>(memory), Array<Link>(memory)} {}

  /// Whether any part is kept.
  bool any() const { return kept_ != 0; }

  /// Whether find() can be called for this part with this many messages queued: the part is kept,
  /// and there are lists enough.
  bool ready(Part part, std::size_t messages) const {
    return (kept_ >> part & 1) != 0 && messages <= 4 * std::size_t{heads_};
  }

  /// Begins to keep a part, and makes the lists of all parts anew for the messages in `order`, from
  /// the oldest to the youngest, and for slots up to the capacity. Throws std::bad_alloc; then no
  /// part is kept.
  void make(const Slots& slots, Part part, const std::vector<std::uint32_t>& order);

  /// Makes room for this many slots. Throws std::bad_alloc; then no part is kept.
  void extend(std::size_t capacity);

  /// The oldest message whose part is that of `want`, or none. While ready().
  std::uint32_t find(const Slots& slots, Part part, Key want) const;

  /// A message has come.
  [[gnu::always_inline]] void append(std::uint32_t slot, Key key) {
    each_kept([&](unsigned part) {
      Link* links = links_[part].data();
      std::uint32_t head = head_of(part, key);
      std::uint32_t at = heads_ + slot;
      std::uint32_t tail = links[head].prev;
      links[tail].next = at;
      links[head].prev = at;
      links[at].next = head;
      links[at].prev = tail;
    });
  }

  /// A message is taken.
  [[gnu::always_inline]] void remove(std::uint32_t slot) {
    each_kept([&](unsigned part) {
      Link* links = links_[part].data();
      std::uint32_t next = links[heads_ + slot].next;
      std::uint32_t prev = links[heads_ + slot].prev;
      links[prev].next = next;
      links[next].prev = prev;
    });
  }

  /// Keeps no part any more.
  void clear() { kept_ = 0; }

  /// As clear(), and gives the memory back.
  void drop();

 private:
  struct Link {
    std::uint32_t next;  // heads have numbers below heads_, slots from there on
    std::uint32_t prev;
  };
  static constexpr unsigned parts = 3;

  template <class Use>
  [[gnu::always_inline]] void each_kept(Use&& use) {
    if ((kept_ & 1u << by_tag) != 0) use(by_tag);
    if ((kept_ & 1u << by_source) != 0) use(by_source);
    if ((kept_ & 1u << by_context) != 0) use(by_context);
  }

  // Without a branch: which part a receive looks for cannot be predicted.
  static std::uint64_t bits_of(unsigned part) { return compared_bits[part + 1]; }

  static bool same(unsigned part, Key a, Key b) {
    return (((a.place ^ b.place) & bits_of(part)) | (a.context ^ b.context)) == 0;
  }

  std::uint32_t head_of(unsigned part, Key key) const {
    return static_cast<std::uint32_t>(part_hash_of(key, bits_of(part)) >> shift_);
  }

  std::array<Array<Link>, parts> links_;
  std::uint32_t kept_ = 0;  // a bit for each part
  std::uint32_t heads_ = 0;
  unsigned shift_ = 0;  // from 64 bits of hash to a head
};

}  // namespace hob::match::flat
