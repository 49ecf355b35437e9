#include "cache/block_fetch.hpp"

#include <algorithm>

#include "cache/block.hpp"

namespace hob::cache {

BlockFetch reserve_blocks(Cache& cache, const Readahead::Plan& plan, const Key& key,
                          std::uint64_t size, std::uint32_t cookie) noexcept {
  const std::uint64_t block = std::uint64_t{1} << plan.shift;
  const auto key_at = [&](std::uint64_t begin) {
    return Key{key.target, begin, block_layout(plan.shift)};
  };
  BlockFetch fetch{.begin = plan.begin, .end = plan.end, .shift = plan.shift};
  while (fetch.begin < fetch.end && cache.entry_of(key_at(fetch.begin))) fetch.begin += block;
  if (fetch.begin >= fetch.end) return {};
  if (plan.into_free_room && cache.used_bytes() + fetch.bytes() > cache.storage_bytes()) return {};
  const std::uint64_t asked_end = key.displacement + size;
  for (std::uint64_t begin = fetch.begin; begin < fetch.end; begin += block) {
    const std::uint64_t end = std::min(begin + block, fetch.end);
    const std::uint64_t asked = std::max(begin, key.displacement);
    const std::uint64_t asked_until = std::min(end, asked_end);
    const std::uint64_t asked_bytes = asked_until > asked ? asked_until - asked : 0;
    const bool beyond = begin >= asked_end;
    EntryId entry{};
    if (!beyond || !cache.entry_of(key_at(begin)))
      entry = cache
                  .reserve(key_at(begin), end - begin,
                           {.cookie = cookie,
                            .asked = asked_bytes != 0 ? asked - begin : 0,
                            .asked_bytes = asked_bytes})
                  .entry;
    if (!entry && beyond) {  // bytes that were not asked for end at the first block without a place
      fetch.end = begin;
      break;
    }
    fetch.entries[fetch.count++] = entry;
  }
  const bool none_has_place =
      std::none_of(fetch.entries.begin(), fetch.entries.begin() + fetch.count,
                   [](EntryId entry) { return static_cast<bool>(entry); });
  return none_has_place ? BlockFetch{} : fetch;
}

}  // namespace hob::cache
