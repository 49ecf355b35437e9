#pragma once

#include <cstddef>
#include <cstdint>

#include "match/flat/ring.hpp"
#include "match/flat/slots.hpp"
#include "match/memory.hpp"

namespace hob::match::flat {

/// Lists of slots, each in the order in which they were added, chosen by a number that many lists
/// may share: its upper bits are the list's.
///
/// They have one of two forms. Where lists are long, they are rings through one array of links,
/// their heads in front and a link for each slot behind them: so adding and removing need no
/// branch, and touch nothing but neighbours. Where most have one slot at most (`lone`), a word
/// leads to each (see ring), and hardly anything else is touched.
class PartLists {
 public:
  explicit PartLists(Memory& memory) : links_(memory), leads_(memory) {}

  /// Empty lists, for numbers below `numbers` (a power of two), about `expected` slots, and slots
  /// up to `capacity`. Throws std::bad_alloc.
  void make(std::size_t numbers, std::size_t expected, bool lone, std::size_t capacity);

  /// Makes room for slots up to `capacity`. Throws std::bad_alloc, changing nothing.
  void extend(std::size_t capacity);

  /// There are so many slots that there should be more lists.
  bool overfull() const { return listed_ > kMostListed * heads_; }

  [[gnu::always_inline]] void add(std::uint32_t number, std::uint32_t slot) {
    ++listed_;
    Link* links = links_.data();
    std::uint32_t head = head_of(number);
    if (lone_) {
      std::uint32_t& lead = leads_[head];
      if (lead == kNone) {
        lead = slot;
      } else {
        ring::add_to(lead, links, slot);
      }
      return;
    }
    std::uint32_t at = heads_ + slot;
    std::uint32_t tail = links[head].prev;
    links[tail].next = at;
    links[head].prev = at;
    links[at].next = head;
    links[at].prev = tail;
  }

  /// Takes out a slot that was added with this number.
  [[gnu::always_inline]] void remove(std::uint32_t number, std::uint32_t slot) {
    --listed_;
    Link* links = links_.data();
    if (lone_) {
      std::uint32_t& lead = leads_[head_of(number)];
      if (lead == slot) {
        lead = kNone;
      } else {
        ring::take_from(lead, links, slot);
      }
      return;
    }
    std::uint32_t next = links[heads_ + slot].next;
    std::uint32_t prev = links[heads_ + slot].prev;
    links[prev].next = next;
    links[next].prev = prev;
  }

  /// The oldest of a number's list, or none.
  [[gnu::always_inline]] std::uint32_t oldest(std::uint32_t number) const {
    std::uint32_t head = head_of(number);
    if (lone_) {
      std::uint32_t lead = leads_[head];
      return lead == kNone ? kNone : ring::oldest_of(lead);
    }
    std::uint32_t at = links_[head].next;
    return at < heads_ ? kNone : at - heads_;
  }

  /// The oldest of a number's list for which `is(slot)`, or none.
  template <class Is>
  std::uint32_t find(std::uint32_t number, Is&& is) const {
    std::uint32_t first = oldest(number);
    bool others = first != kNone && (!lone_ || ring::has_several(leads_[head_of(number)]));
    for (std::uint32_t slot = first; slot != kNone; slot = others ? after(slot, first) : kNone) {
      if (is(slot)) return slot;
    }
    return kNone;
  }

  /// Gives the memory back.
  void drop() {
    links_.resize(0, 0);
    leads_.resize(0, 0);
  }

 private:
  static constexpr std::size_t kLeastHeads = 32;
  // With so many slots for each list, most slots that a search meets are not what it wants.
  static constexpr std::uint32_t kMostListed = 4;
  // Lone: so many lists for each slot that few share one.
  static constexpr std::size_t kListsEach = 4;

  std::uint32_t head_of(std::uint32_t number) const { return number >> head_shift_; }
  /// Where the slots' links begin.
  std::size_t first_link() const { return lone_ ? 0 : heads_; }
  /// The next of a list, or none behind the last.
  std::uint32_t after(std::uint32_t slot, std::uint32_t first) const {
    std::uint32_t next = links_[first_link() + slot].next;
    if (lone_) return next == first ? kNone : next;
    return next < heads_ ? kNone : next - heads_;
  }

  bool lone_ = false;
  std::uint32_t heads_ = 0;     // lists, a power of two
  unsigned head_shift_ = 0;     // from a number to its list
  std::uint32_t listed_ = 0;    // slots
  Array<Link> links_;           // those of heads (not if lone) have numbers below `heads_`
  Array<std::uint32_t> leads_;  // lone: for each list what leads to its slots, or none
};

}  // namespace hob::match::flat
