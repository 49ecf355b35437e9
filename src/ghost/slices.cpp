#include "ghost/slices.hpp"

#include <algorithm>
#include <iterator>

namespace hob::ghost {

Slices::Slices(std::uint64_t begin, std::uint64_t end) { insert(begin, end); }

void Slices::insert(std::uint64_t begin, std::uint64_t end) {
  if (begin == end) return;
  by_offset_[begin] = end;
  by_size_.emplace(end - begin, begin);
}

void Slices::erase(std::map<std::uint64_t, std::uint64_t>::iterator it) {
  auto [first, last] = by_size_.equal_range(it->second - it->first);
  by_size_.erase(std::find_if(first, last, [&](const auto& e) { return e.second == it->first; }));
  by_offset_.erase(it);
}

std::optional<std::uint64_t> Slices::allocate(std::uint64_t bytes, std::uint64_t alignment) {
  for (auto fit = by_size_.lower_bound(bytes); fit != by_size_.end(); ++fit) {
    const auto region = by_offset_.find(fit->second);
    const std::uint64_t begin = region->first;
    const std::uint64_t end = region->second;
    const std::uint64_t at = (begin + alignment - 1) & ~(alignment - 1);
    if (at > end || end - at < bytes) continue;
    erase(region);
    insert(begin, at);
    insert(at + bytes, end);
    return at;
  }
  return std::nullopt;
}

void Slices::free(std::uint64_t offset, std::uint64_t bytes) {
  std::uint64_t begin = offset;
  std::uint64_t end = offset + bytes;
  auto after = by_offset_.lower_bound(begin);
  if (after != by_offset_.end() && after->first == end) {
    end = after->second;
    const auto gone = after++;
    erase(gone);
  }
  if (after != by_offset_.begin()) {
    const auto before = std::prev(after);
    if (before->second == begin) {
      begin = before->first;
      erase(before);
    }
  }
  insert(begin, end);
}

}  // namespace hob::ghost
