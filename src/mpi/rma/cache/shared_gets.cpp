// Gets that are served from what other ranks of the node fetched.
#include <cstring>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"

namespace hob::mpi {

/// A get that is missing here, from what a rank of this node fetched: false if it must be issued.
/// The process's own cache takes it only where that costs no other entry its place: what the node
/// has anyway is worth less than what it has not.
bool CachedGets::serve_shared(const Get& get, TargetState& t, const CacheableGet& wanted,
                              int& result) {
  const std::uint64_t issued = sharing_.now();
  const std::uint64_t now = ticks();
  cache::Lookup found;
  // Where nothing is fetched ahead (any more), nothing is used that others fetched so.
  const bool blocks = ahead_ && ahead_->readahead.enabled();
  if (!sharing_.find(get, wanted, t, stats_.gets, blocks, found, now)) return false;
  if (mode() == Mode::automatic &&
      HOB_UNLIKELY(learning_.due(found.consecutive, found.fetched, now))) {
    learning_.refetch_begins(now);
    result = refetch_shared(get, t, wanted, issued);
    return true;
  }
  // Another rank may have asked for these bytes, or none: bytes fetched ahead get old sooner.
  if (found.first && old_ahead(found, ticks())) {
    ahead_->guard.begin(now);
    if (!issue_blocks(get, t, wanted, true)) result = issuer_.fetch(get, t, wanted);
    return true;
  }
  count_hit({get, t, wanted, found}, now);
  ++stats_.shared_hits;
  stats_.shared_bytes += wanted.size;
  if (cache_->used_bytes() + wanted.size <=
      cache_->storage_bytes() - cache_->storage_bytes() / tuning::gets::kRoomForOwn)
    if (const cache::EntryId entry = cache_->reserve(wanted.key, wanted.size).entry)
      cache_->fill(entry, found.data, wanted.size, 0, found.fetched);
  return true;
}

/// Fetches again what the node's log had. The program's buffer has it.
int CachedGets::refetch_shared(const Get& get, TargetState& t, const CacheableGet& wanted,
                               std::uint64_t issued) {
  std::unique_ptr<std::byte[]> had(new (std::nothrow) std::byte[wanted.size]);
  if (!had) return issuer_.fetch(get, t, wanted);
  std::memcpy(had.get(), wanted.first_byte(get), wanted.size);
  return issuer_.refetch(get, t,
                         {.layout = wanted.origin,
                          .bytes = wanted.size,
                          .displacement = wanted.key.displacement,
                          .served = std::move(had),
                          .issued = issued,
                          .epoch = coherence_.epochs.now()});
}

}  // namespace hob::mpi
