#include "match/flat/part_index.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace hob::match::flat {

namespace {

constexpr std::size_t kLeastMessages = 32;
constexpr std::size_t kBitsPerMessage = 4;
constexpr std::size_t kMostBits = std::size_t{1} << 31;

// Messages are left out of the lists when four have come for each that was there and no search
// was for anything new meanwhile, and if it is worth it: if at least three in four values of
// the part are not searched for.
constexpr std::uint64_t kMessagesEach = 4;
constexpr std::size_t kMostSearched = 4;

// Lists of chosen messages are made for one message each where there are no more than this many for
// each value that is searched for.
constexpr std::size_t kMostLone = 2;

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
  std::size_t bits = std::bit_ceil(kBitsPerMessage * std::max(kLeastMessages, order.size()));
  bits = std::min(bits, kMostBits);
  if (before == 0 || bits > bits_) {
    // Making them looks at all slots that were ever used.
    std::uint64_t cost = std::max<std::uint64_t>(bits / kBitsPerMessage, slots.used());
    std::uint64_t period = kMessagesEach * cost * Slot::kSequenceStep;
    period_ = before == 0 ? period : std::max(period, period_);
    bits_ = bits;
    shift_ = 32 - static_cast<unsigned>(std::countr_zero(bits));
    before = 0;
  }
  each(use & ~before, [&](unsigned fresh) {
    of_[fresh].searched.make(bits_, false);
    list_all(of_[fresh], now);
  });
  OfPart& of = of_[part];
  std::uint32_t bit = bit_of(part, want);
  of.searched.set(bit);
  if (due(now)) choose(use, now);
  if (!of.kept.get(bit)) {
    list_all(of, now);
    period_ *= 2;
  }
  link(slots, use, order);
  used_ = use;
}

/// From now on every message is in these lists.
void PartIndex::list_all(OfPart& of, std::uint32_t now) {
  of.kept.make(bits_, true);
  of.all = true;
  choosing_ = true;
  since_ = now;
}

/// From now on only messages that a receive has searched for are in these parts' lists, where that
/// is worth it.
void PartIndex::choose(std::uint32_t parts, std::uint32_t now) {
  choosing_ = false;
  each(parts, [&](unsigned part) {
    OfPart& of = of_[part];
    if (!of.all) return;
    if (kMostSearched * of.searched.count(bits_) <= bits_) {
      of.kept.copy(of.searched, bits_);
      of.all = false;
    } else {
      of.searched.make(bits_, false);
      choosing_ = true;
    }
  });
  since_ = now;
  if (choosing_) period_ *= 2;
}

/// Makes the lists of these parts.
void PartIndex::link(Slots& slots, std::uint32_t parts, const std::vector<std::uint32_t>& order) {
  each(parts, [&](unsigned part) {
    OfPart& of = of_[part];
    std::size_t listed = order.size();
    if (!of.all) {
      listed = static_cast<std::size_t>(std::count_if(
          order.begin(), order.end(), [&](auto slot) { return keeps(part, slots[slot].key()); }));
    }
    bool lone = !of.all && listed <= kMostLone * of.kept.count(bits_);
    of.lists.make(bits_, listed, lone, slots.capacity());
  });
  for (std::uint32_t slot : order) {
    slots[slot].sequence &= ~Slot::kAllLists;
    append(slots, slot, slots[slot].key(), parts);
  }
}

void PartIndex::extend(std::size_t capacity) {
  std::uint32_t use = std::exchange(used_, 0);
  each(use, [&](unsigned part) { of_[part].lists.extend(capacity); });
  used_ = use;
}

std::uint32_t PartIndex::find(const Slots& slots, Part part, Key want, std::uint32_t now) {
  OfPart& of = of_[part];
  std::uint32_t bit = bit_of(part, want);
  if (choosing_ && !of.searched.get(bit)) {
    of.searched.set(bit);
    since_ = now;
  }
  return of.lists.find(bit,
                       [&](std::uint32_t slot) { return same(part, slots[slot].key(), want); });
}

void PartIndex::drop() {
  clear();
  for (OfPart& of : of_) {
    of.lists.drop();
    of.kept.drop();
    of.searched.drop();
  }
}

}  // namespace hob::match::flat
