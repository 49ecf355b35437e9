#include "mpi/rma/cache/node_sharing.hpp"

#include <algorithm>

#include "cache/block.hpp"

namespace hob::mpi {

bool NodeSharing::find(const Get& get, const CacheableGet& wanted, const TargetState& target,
                       std::uint64_t number, bool blocks, cache::Lookup& found, std::uint64_t now) {
  if (target.writing() || target.floor == 0 ||
      coherence_.epochs.any(target.invalidated, target.floor_epoch))
    return false;
  std::byte* buffer = wanted.first_byte(get);
  std::uint64_t fetched = 0;
  cache::SharedLog& log = log_->log;
  if (!log.find(wanted.key, wanted.size, target.floor, buffer, fetched)) {
    if (!blocks || !log.find_in_blocks(wanted.key.target, wanted.key.displacement, wanted.size,
                                       target.floor, buffer, fetched))
      return false;
    found.first = true;  // for all that is known
  }
  const bool again = last_ == wanted.key && last_get_ + 1 == number;
  last_ = wanted.key;
  last_get_ = number;
  in_a_row_ = again ? in_a_row_ + 1 : 1;
  found.consecutive = in_a_row_;
  found.fetched = std::min(fetched, now);
  found.data = buffer;
  return true;
}

// The get has also shown that this process was let in, where it had been promised a lock or an
// exposure that the library had yet to get: from here on, it may use what others fetch.
bool NodeSharing::add(TargetState& target, const PendingGet& get) {
  if (coherence_.epochs.any(target.invalidated, get.epoch)) return false;
  cache::SharedLog& log = log_->log;
  if (target.floor == 0 || coherence_.epochs.any(target.invalidated, target.floor_epoch)) {
    target.floor = log.advance();
    target.floor_epoch = get.epoch;
  }
  const auto rank = static_cast<std::uint32_t>(get.rank);
  if (!get.ahead)
    return log.insert({rank, get.displacement, 0}, get.first_byte(), get.bytes, get.issued,
                      get.when);
  const cache::BlockFetch& blocks = get.ahead->blocks;
  bool added = false;
  for (std::uint32_t k = 0; k < blocks.count; ++k)
    added |= log.insert({rank, blocks.begin_of(k), cache::block_layout(blocks.shift)},
                        get.ahead->staging.get() + (blocks.begin_of(k) - get.displacement),
                        blocks.bytes_of(k), get.issued, get.when);
  return added;
}

}  // namespace hob::mpi
