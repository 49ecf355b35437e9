#pragma once

#include <cstdint>

namespace hob::match::flat {

/// Neighbours in a ring of slots.
struct Link {
  std::uint32_t next;
  std::uint32_t prev;
};

/// What leads to some slots, oldest first: the oldest's number, with a bit if there are others. One
/// slot alone has no links, so nothing is touched but this.
namespace ring {

inline constexpr std::uint32_t kSeveral = std::uint32_t{1} << 31;

/// The oldest.
[[gnu::always_inline]] inline std::uint32_t oldest_of(std::uint32_t lead) {
  return lead & ~kSeveral;
}

/// Whether there are others.
[[gnu::always_inline]] inline bool has_several(std::uint32_t lead) {
  return (lead & kSeveral) != 0;
}

/// Adds a slot as the youngest. `links`: by slot.
[[gnu::always_inline]] inline void add_to(std::uint32_t& lead, Link* links, std::uint32_t slot) {
  std::uint32_t oldest = oldest_of(lead);
  if (!has_several(lead)) {
    lead |= kSeveral;
    links[oldest] = {oldest, oldest};
  }
  std::uint32_t last = links[oldest].prev;
  links[slot] = {oldest, last};
  links[last].next = slot;
  links[oldest].prev = slot;
}

/// Takes out any of several.
[[gnu::always_inline]] inline void take_from(std::uint32_t& lead, Link* links, std::uint32_t slot) {
  std::uint32_t oldest = oldest_of(lead);
  Link link = links[slot];
  oldest = oldest == slot ? link.next : oldest;
  links[link.prev].next = link.next;
  links[link.next].prev = link.prev;
  lead = oldest | (links[oldest].next != oldest ? kSeveral : 0);
}

}  // namespace ring

}  // namespace hob::match::flat
