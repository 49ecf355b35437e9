#include "match/flat/wild_filter.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hob::match::flat {

void WildFilter::make(std::size_t receives, const KeyIndex& index, const Slots& slots) {
  // At least half of the room is for receives to come, so that making it anew costs each a little.
  std::size_t room = std::bit_ceil(std::max(kLeastRoom, 2 * receives));
  std::size_t bits = std::min(room * kBitsEach, kMostBits);
  std::size_t words = bits / 64;
  if (words > words_.capacity()) words_.resize(words, 0);
  std::memset(words_.data(), 0, words * sizeof(std::uint64_t));
  shift_ = 32 - static_cast<unsigned>(std::countr_zero(bits));
  left_ = room / 2;
  index.each_oldest([&](std::uint32_t slot) { set(slots[slot].key()); });
}

}  // namespace hob::match::flat
