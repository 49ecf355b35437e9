// What ends the life of cached bytes, and when Hob must be awake to see it.
#include <mutex>
#include <new>

#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

const Layout* layout_or_none(MPI_Datatype type) {
  try {
    return &layout_of(type);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

/// From the first get on that may be kept, Hob must see what the process learns and writes. What it
/// did before was not seen.
void CachedGets::wake_up() {
  awake_ = true;
  wake();
  slept_ = true;
  unseen_writes_ = issued_.any();
  if (unseen_writes_) targets_.each([&](TargetState& t) { coherence_.assume_write(t); });
}

/// Lets Hob sleep again, when nothing of this window is under way and nothing will be looked up.
/// The wrappers then call the library at once, so these targets are not looked at again: whatever
/// a get between processes of one node costs, it is not a network.
void CachedGets::leave_alone() {
  if (!context().one_node || many_threads || tracing) return;
  bool busy = completing_all_ != 0;
  targets_.each(
      [&](const TargetState& t) { busy = busy || !t.pending.empty() || t.completing != 0; });
  if (busy) return;
  left_alone_ = true;
  awake_ = false;
  rest();
  cache_->drop_all();
  log::line(log::Level::debug, "window {}: left alone, since every target is bypassed", window_.id);
}

void CachedGets::own_epoch_begins() {
  const std::lock_guard guard(lock_);
  own_epoch_.begin();
}

bool CachedGets::own_epoch_ends() {
  const std::lock_guard guard(lock_);
  return own_epoch_.end();
}

void CachedGets::drop_for_acquire() {
  const cache::Stats& stats = cache_->stats();
  const std::uint64_t fetched = stats.bytes_from_network + stats.ahead_bytes;
  if (fetched != dropped_bytes_) {
    const char* const call = last_acquire.load(std::memory_order_relaxed);
    drop_causes_.add(call, fetched - dropped_bytes_);
    log::line(log::Level::debug, "window {}: {} invalidated {} fetched bytes", window_.id, call,
              fetched - dropped_bytes_);
  }
  dropped_bytes_ = fetched;
  drop_everything();
}

void CachedGets::drop_everything() {
  cache_->drop_all();
  reuse_trial_.dropped();
  kept_at_ = 0;
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.doubts.doubt_all();
  ++stats_.invalidations;
  if (HOB_UNLIKELY(tracing)) record({.kind = report::TraceKind::drop_all});
}

void CachedGets::record(report::TraceRecord what) {
  what.window = static_cast<std::uint16_t>(window_.id);
  trace(what);
}

/// Mode strict, the paper's transparent one: nothing outlives the closure of an epoch.
void CachedGets::end_strict_epoch() {
  if (cache_->entries() != 0) drop_everything();
}

void CachedGets::own_write(int rank, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
                           bool issued) {
  const std::lock_guard guard(lock_);
  if (rank < 0 || rank >= window_.size) return;
  coherence_.note_write(target(rank));
  if (HOB_UNLIKELY(coherence_.last_write() == tuning::kWatchedWrites) && awake_ && stats_.gets == 0)
    watch_no_more();
  if (count <= 0 || cache_->entries() == 0) return;
  const Layout* const layout = layout_or_none(type);
  if (!issued) ++stats_.own_writes;
  if (!layout || !layout->usable) {
    cache_->drop_target(static_cast<std::uint32_t>(rank));
    if (ahead_) ahead_->readahead.on_drop();
    return;
  }
  const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(disp) * units_->of(rank) +
                                                layout->lowest(count));
  const auto length = static_cast<std::uint64_t>(layout->highest(count) - layout->lowest(count));
  cache_->drop_range(static_cast<std::uint32_t>(rank), first, length);
  if (ahead_) ahead_->readahead.on_drop(static_cast<std::uint32_t>(rank), first, length);
  if (HOB_UNLIKELY(tracing))
    record({.kind = report::TraceKind::drop_range,
            .target = static_cast<std::uint32_t>(rank),
            .displacement = first,
            .size = length});
}

void CachedGets::note_write(int rank) {
  const std::lock_guard guard(lock_);
  if (rank < 0 || rank >= window_.size) return;
  coherence_.note_write(target(rank));
}

void CachedGets::drop_all() {
  const std::lock_guard guard(lock_);
  drop_everything();
}

/// Everything fetched from one target.
void CachedGets::drop_copies(int rank, TargetState& t) {
  const auto number = static_cast<std::uint32_t>(rank);
  cache_->drop_target(number);
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.doubts.doubt(t.doubted);
  if (HOB_UNLIKELY(tracing)) record({.kind = report::TraceKind::drop_target, .target = number});
}

void CachedGets::drop_target(int rank) {
  const std::lock_guard guard(lock_);
  drop_copies(rank, target(rank));
  ++stats_.invalidations;
}

void CachedGets::set_mode(Mode mode, std::string reason) {
  const std::lock_guard guard(lock_);
  log::line(log::Level::info, "window {}: mode {}: {}", window_.id, name_of(mode), reason);
  coherence_.set_mode(mode, std::move(reason));
  cache_->drop_all();
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.doubts.doubt_all();
}

}  // namespace hob::mpi
