#include "mpi/rma/cache/get_issuer.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/layouts.hpp"

namespace hob::mpi {

int GetIssuer::issue(const Get& get, TargetState& t) {
  parts_.hot.close();
  ++t.gets;
  ++parts_.stats.native_gets;
  if (get.target == config_.rank) parts_.own_epoch.end();
  t.profile.count_get(parts_.learning.profile());
  const bool recording = recall_ && recall_->recording();
  const std::uint64_t start = recording ? ticks() : 0;
  const int result = parts_.backend.issue(get);
  if (recording) recall_->spent(static_cast<double>(ticks() - start));
  // What an atomic read returns may announce writes to other memory.
  if (get.is_atomic() && parts_.coherence.mode() != Mode::always &&
      !config_.atomic_reads_are_gets && get.target >= 0)
    parts_.atomic_results.add(get.target);
  return result;
}

int GetIssuer::fetch(const Get& get, TargetState& t, const CacheableGet& wanted) {
  const std::uint64_t start = times(t) ? ticks() : 0;
  const std::uint64_t issued = parts_.sharing.covers(get, wanted, t) ? parts_.sharing.now() : 0;
  const int result = issue(get, t);
  GetsUnderWay& under_way = parts_.under_way;
  if (result != MPI_SUCCESS || under_way.full()) return result;
  missed(t, wanted.size, wanted.size);
  parts_.kept.fetches(get.target, t, wanted.key.displacement, wanted.extent(get));
  const std::uint64_t now = ticks();
  try {
    const std::uint32_t index = under_way.add(t.pending, get.target,
                                              {.buffer = get.result.address,
                                               .layout = wanted.origin,
                                               .bytes = wanted.size,
                                               .issue_ticks = start != 0 ? now - start : 0,
                                               .when = now,
                                               .displacement = wanted.key.displacement,
                                               .issued = issued,
                                               .epoch = parts_.coherence.epochs.now()});
    const cache::EntryId entry =
        parts_.cache
            .reserve(wanted.key, wanted.size, {.extent = wanted.extent(get), .cookie = index})
            .entry;
    under_way[index].entry = entry;
    // No hit can wait for one that has no place. Whoever times waits must see that there are
    // several.
    if (!entry && issued == 0 && t.pending.size() > 2) under_way.remove(t.pending, index);
    // The bytes are copied there when they have arrived: time to fetch its cache lines is now.
    if (const std::byte* place = entry ? parts_.cache.writable(entry) : nullptr)
      for (std::uint64_t at = 0; at < std::min(wanted.size, tuning::gets::kPrefetched); at += 64)
        __builtin_prefetch(place + at, 1, 2);
  } catch (const std::bad_alloc&) {
    // Not kept: the get itself is under way and will be complete at the flush.
  }
  return result;
}

bool GetIssuer::fetch_tail(const LookedUp& asked, int& result) {
  const auto& [get, t, wanted, hit] = asked;
  const std::uint64_t tail = wanted.key.displacement + hit.available;
  const auto unit = static_cast<std::uint64_t>(parts_.units.of(get.target));
  if (unit == 0 || tail % unit != 0 || parts_.under_way.full()) return false;
  std::byte* buffer = wanted.first_byte(get);
  const std::uint64_t missing = wanted.size - hit.available;
  std::memcpy(buffer, hit.data, hit.available);
  const auto count = static_cast<MPI_Count>(missing);
  result = issue(Get::get(buffer + hit.available, count, MPI_BYTE, get.target,
                          static_cast<MPI_Aint>(tail / unit), count, MPI_BYTE),
                 t);
  if (result != MPI_SUCCESS) return true;
  parts_.kept.fetches(get.target, t, wanted.key.displacement, wanted.size);
  try {
    const std::uint32_t index = parts_.under_way.add(t.pending, get.target,
                                                     {.buffer = buffer + hit.available,
                                                      .layout = &layout_of(MPI_BYTE),
                                                      .bytes = missing,
                                                      .offset = hit.available,
                                                      .when = ticks(),
                                                      .purpose = PendingGet::Purpose::tail});
    if (parts_.cache.extend(hit.entry, wanted.size, {.extent = wanted.size, .cookie = index}))
      parts_.under_way[index].entry = hit.entry;
  } catch (const std::bad_alloc&) {
    // As in fetch().
  }
  return true;
}

int GetIssuer::refetch(const Get& get, TargetState& t, PendingGet pending) {
  ++parts_.stats.refetches;
  const std::uint64_t start = ticks();
  const int result = issue(get, t);
  if (result != MPI_SUCCESS) return result;
  pending.buffer = get.result.address;
  pending.when = ticks();
  pending.issue_ticks = pending.when - start;
  pending.purpose = PendingGet::Purpose::refetch;
  const cache::EntryId entry = pending.entry;
  if (parts_.under_way.full()) return parts_.cache.drop(entry), result;
  try {
    parts_.under_way.add(t.pending, get.target, std::move(pending));
  } catch (const std::bad_alloc&) {
    parts_.cache.drop(entry);
  }
  return result;
}

void GetIssuer::verify(const LookedUp& asked) {
  const auto& [get, t, wanted, hit] = asked;
  if (get.is_atomic() || parts_.under_way.full()) return;
  const std::uint64_t size = wanted.size;
  try {
    std::unique_ptr<std::byte[]> bytes(new std::byte[2 * size]);
    std::memcpy(bytes.get() + size, hit.data, size);
    const Get again = Get::get(bytes.get(), static_cast<MPI_Count>(size), MPI_BYTE, get.target,
                               get.disp, get.target_count, get.target_type);
    if (issue(again, t) != MPI_SUCCESS) return;
    ++parts_.stats.verified;
    parts_.under_way.add(t.pending, get.target,
                         {.buffer = bytes.get(),
                          .layout = &layout_of(MPI_BYTE),
                          .bytes = size,
                          .purpose = PendingGet::Purpose::verify,
                          .displacement = wanted.key.displacement,
                          .served = std::move(bytes)});
  } catch (const std::bad_alloc&) {
    // One comparison fewer.
  }
}

}  // namespace hob::mpi
