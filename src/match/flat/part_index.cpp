#include "match/flat/part_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hob::match::flat {

namespace {

constexpr std::size_t least_heads = 32;
constexpr std::size_t bits_per_message = 4;

// Messages are left out of the lists when four have come for each that was there and nobody has
// searched for anything new meanwhile, and if it is worth it: if at least three in four values of
// the part are not searched for.
constexpr std::uint64_t messages_each = 4;
constexpr std::size_t most_searched = 4;

}  // namespace

void PartIndex::Bits::make(std::size_t bits, bool value) {
  if (words_.capacity() * 64 < bits) words_.resize(bits / 64, 0);
  std::fill_n(words_.data(), bits / 64, value ? ~std::uint64_t{0} : 0);
}

void PartIndex::Bits::copy(const Bits& from, std::size_t bits) {
  for (std::size_t i = 0; i < bits / 64; ++i) words_[i] = from.words_[i];
}

std::size_t PartIndex::Bits::count(std::size_t bits) const {
  std::size_t sum = 0;
  for (std::size_t i = 0; i < bits / 64; ++i) {
    sum += static_cast<std::size_t>(std::popcount(words_[i]));
  }
  return sum;
}

void PartIndex::make(Slots& slots, Part part, Key want, const std::vector<std::uint32_t>& order,
                     std::uint32_t now) {
  std::uint32_t before = std::exchange(used_, 0);
  std::uint32_t use = before | 1u << part;
  std::size_t bits = std::bit_ceil(bits_per_message * std::max(least_heads, order.size()));
  if (before == 0 || bits > bits_) {
    // Making them looks at all slots that were ever used.
    std::uint64_t cost = std::max<std::uint64_t>(bits / bits_per_message, slots.used());
    std::uint64_t period = messages_each * cost * Slot::sequence_step;
    period_ = before == 0 ? period : std::max(period, period_);
    bits_ = bits;
    shift_ = 64 - static_cast<unsigned>(std::countr_zero(bits));
    before = 0;
  }
  each(use & ~before, [&](unsigned fresh) {
    lists_[fresh].searched.make(bits_, false);
    list_all(lists_[fresh], now);
  });
  Lists& lists = lists_[part];
  std::size_t bit = bit_of(part, want);
  lists.searched.set(bit);
  if (due(now)) choose(use, now);
  if (!lists.kept.get(bit)) {
    list_all(lists, now);
    period_ *= 2;
  }
  link(slots, use, order);
  used_ = use;
}

/// From now on every message is in these lists.
void PartIndex::list_all(Lists& lists, std::uint32_t now) {
  lists.kept.make(bits_, true);
  lists.all = true;
  choosing_ = true;
  since_ = now;
}

/// From now on only messages that somebody has searched for are in these parts' lists, where that
/// is worth it.
void PartIndex::choose(std::uint32_t parts, std::uint32_t now) {
  choosing_ = false;
  each(parts, [&](unsigned part) {
    Lists& lists = lists_[part];
    if (!lists.all) return;
    if (most_searched * lists.searched.count(bits_) <= bits_) {
      lists.kept.copy(lists.searched, bits_);
      lists.all = false;
    } else {
      lists.searched.make(bits_, false);
      choosing_ = true;
    }
  });
  since_ = now;
  if (choosing_) period_ *= 2;
}

/// Makes the lists of these parts.
void PartIndex::link(Slots& slots, std::uint32_t parts, const std::vector<std::uint32_t>& order) {
  each(parts, [&](unsigned part) {
    Lists& lists = lists_[part];
    std::size_t listed = order.size();
    if (!lists.all) {
      listed = static_cast<std::size_t>(std::count_if(order.begin(), order.end(), [&](auto slot) {
        return lists.kept.get(bit_of(part, slots[slot].key()));
      }));
    }
    std::size_t heads = std::bit_ceil(std::max(least_heads, listed));
    if (lists.links.capacity() < heads + slots.capacity()) {
      lists.links.resize(heads + slots.capacity(), 0);
    }
    lists.heads = static_cast<std::uint32_t>(heads);
    lists.head_shift = static_cast<unsigned>(std::countr_zero(bits_) - std::countr_zero(heads));
    lists.listed = 0;
    for (std::uint32_t head = 0; head < lists.heads; ++head) lists.links[head] = {head, head};
  });
  for (std::uint32_t slot : order) {
    slots[slot].sequence &= ~Slot::all_lists;
    append(slots, slot, slots[slot].key(), parts);
  }
}

void PartIndex::extend(std::size_t capacity) {
  std::uint32_t use = std::exchange(used_, 0);
  each(use, [&](unsigned part) {
    Array<Link>& links = lists_[part].links;
    std::size_t room = lists_[part].heads + capacity;
    if (links.capacity() < room) links.resize(room, links.capacity());
  });
  used_ = use;
}

std::uint32_t PartIndex::find(const Slots& slots, Part part, Key want, std::uint32_t now) {
  Lists& lists = lists_[part];
  std::size_t bit = bit_of(part, want);
  if (choosing_ && !lists.searched.get(bit)) [[unlikely]] {
    lists.searched.set(bit);
    since_ = now;
  }
  std::uint32_t at = lists.links[lists.head_of(bit)].next;
  for (; at >= lists.heads; at = lists.links[at].next) {
    std::uint32_t slot = at - lists.heads;
    if (same(part, slots[slot].key(), want)) return slot;
  }
  return none;
}

void PartIndex::drop() {
  clear();
  for (Lists& lists : lists_) {
    lists.links.resize(0, 0);
    lists.kept.drop();
    lists.searched.drop();
  }
}

}  // namespace hob::match::flat
