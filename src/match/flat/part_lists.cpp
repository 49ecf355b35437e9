#include "match/flat/part_lists.hpp"

#include <algorithm>
#include <bit>

namespace hob::match::flat {

void PartLists::make(std::size_t numbers, std::size_t expected, bool lone, std::size_t capacity) {
  std::size_t heads = std::max(kLeastHeads, lone ? kListsEach * expected : expected);
  heads = std::min(numbers, std::bit_ceil(heads));
  lone_ = lone;
  heads_ = static_cast<std::uint32_t>(heads);
  head_shift_ = static_cast<unsigned>(std::countr_zero(numbers) - std::countr_zero(heads));
  listed_ = 0;
  std::size_t links = first_link() + capacity;
  if (links_.capacity() < links) links_.resize(links, 0);
  if (lone) {
    if (leads_.capacity() < heads) leads_.resize(heads, 0);
    std::fill_n(leads_.data(), heads, kNone);
  } else {
    for (std::uint32_t head = 0; head < heads_; ++head) links_[head] = {head, head};
  }
}

void PartLists::extend(std::size_t capacity) {
  std::size_t links = first_link() + capacity;
  if (links_.capacity() < links) links_.resize(links, links_.capacity());
}

}  // namespace hob::match::flat
