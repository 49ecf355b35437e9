#include "match/flat/part_index.hpp"

#include <algorithm>
#include <bit>

namespace hob::match::flat {

namespace {

constexpr std::size_t least_heads = 32;

}  // namespace

void PartIndex::make(const Slots& slots, Part part, const std::vector<std::uint32_t>& order) {
  std::uint32_t kept = kept_ | 1u << part;
  kept_ = 0;
  heads_ = static_cast<std::uint32_t>(std::bit_ceil(std::max(least_heads, order.size())));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(heads_));
  for (unsigned each = 0; each < parts; ++each) {
    if ((kept >> each & 1) == 0) continue;
    Array<Link>& links = links_[each];
    std::size_t room = heads_ + slots.capacity();
    if (links.capacity() < room) links.resize(room, 0);
    for (std::uint32_t head = 0; head < heads_; ++head) links[head] = {head, head};
  }
  kept_ = kept;
  for (std::uint32_t slot : order) append(slot, slots[slot].key());
}

void PartIndex::extend(std::size_t capacity) {
  std::uint32_t kept = kept_;
  kept_ = 0;
  for (unsigned each = 0; each < parts; ++each) {
    Array<Link>& links = links_[each];
    std::size_t room = heads_ + capacity;
    if ((kept >> each & 1) != 0 && links.capacity() < room) links.resize(room, links.capacity());
  }
  kept_ = kept;
}

std::uint32_t PartIndex::find(const Slots& slots, Part part, Key want) const {
  const Array<Link>& links = links_[part];
  for (std::uint32_t at = links[head_of(part, want)].next; at >= heads_; at = links[at].next) {
    if (same(part, slots[at - heads_].key(), want)) return at - heads_;
  }
  return none;
}

void PartIndex::drop() {
  clear();
  for (Array<Link>& links : links_) links.resize(0, 0);
}

}  // namespace hob::match::flat
