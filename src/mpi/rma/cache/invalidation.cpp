// What invalidates cached bytes, and when Hob must track calls to see it.
#include <limits>

#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/tracing.hpp"

namespace hob::mpi {

/// From the first get on that may be kept, Hob must see what the process learns and writes. What it
/// did before was not seen.
void CachedGets::turn_tracking_on() {
  begin_tracking();
  const bool wrote = issued_.writes() != settled_writes_;
  tracking_.turn_on(wrote);
  coherence_.epochs.advance_all();
  targets_.each([](TargetState& t) { t.closed = false; });
  if (wrote) targets_.each([&](TargetState& t) { coherence_.assume_write(t); });
}

/// Lets Hob sleep again, when nothing of this window is under way and nothing will be looked up.
/// The wrappers then call the library at once, so these targets are not looked at again: whatever
/// a get between processes of one node costs, it is not a network.
void CachedGets::turn_tracking_off_for_good() {
  if (!context().one_node || !may_turn_tracking_off()) return;
  turn_tracking_off();
  tracking_.turn_off_for_good();
}

/// Whether nothing of this window depends on calls that are not seen while Hob sleeps.
bool CachedGets::may_turn_tracking_off() {
  return !many_threads && !tracing && !own_epoch_.used() && !completions_.busy();
}

/// All copies are dropped: calls that invalidate them are not seen any more.
void CachedGets::turn_tracking_off() {
  bool writing = tracking_.unseen_writes();
  targets_.each([&](const TargetState& t) { writing = writing || t.writing(); });
  settled_writes_ = writing ? ~std::uint64_t{0} : issued_.writes();
  tracking_.turn_off();
  end_tracking();
  hot_.close();
  cache_->drop_all();
  kept_.dropped();
  if (ahead_) ahead_->readahead.on_drop();
  log::line(log::Level::debug, "window {}: tracking is off, since its calls gain nothing",
            window_.id);
}

void CachedGets::own_epoch_begins() {
  const Entered guard(lock_, hot_);
  own_epoch_.begin();
}

bool CachedGets::own_epoch_ends() {
  const Entered guard(lock_, hot_);
  return own_epoch_.end();
}

void CachedGets::drop_for_acquire() {
  const cache::Stats& stats = cache_->stats();
  phase_ended();
  const std::uint64_t fetched = stats.bytes_from_network + stats.ahead_bytes + stats_.recall_bytes;
  const char* const call = acquires.last.load(std::memory_order_relaxed);
  if (const std::uint64_t lost = drop_causes_.add(call, fetched); lost != 0)
    log::line(log::Level::debug, "window {}: {} invalidated {} fetched bytes", window_.id, call,
              lost);
  drop_everything();
}

void CachedGets::drop_everything() {
  hot_.close();
  cache_->drop_all();
  learning_.dropped();
  kept_.dropped();
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.epochs.advance_all();
  ++stats_.invalidations;
  if (HOB_UNLIKELY(tracing)) record({.kind = report::TraceKind::drop_all});
}

void CachedGets::record(report::TraceRecord what) {
  // Traces have no numbers for windows beyond these: they are left out, since two of one number
  // would be taken for one.
  if (window_.id > std::numeric_limits<std::uint16_t>::max()) return;
  what.window = static_cast<std::uint16_t>(window_.id);
  trace(what);
}

/// Mode strict, the paper's transparent one: nothing outlives the closure of an epoch.
void CachedGets::end_strict_epoch() {
  if (cache_->entries() != 0) drop_everything();
}

void CachedGets::own_write(int rank, MPI_Aint disp, MPI_Count count, MPI_Datatype type,
                           bool issued) {
  if (many_threads && rank == window_.rank) return own_rank_.marks.note();
  const Entered guard(lock_, hot_);
  if (rank < 0 || rank >= window_.size) return;
  coherence_.note_write(target(rank));
  if (!outlives_acquires(mode())) call_in_vain();
  if (count <= 0 || cache_->entries() == 0) return;
  const Layout span = span_of(type);
  if (!issued) ++stats_.own_writes;
  const auto first = static_cast<std::uint64_t>(static_cast<std::int64_t>(disp) * units_->of(rank) +
                                                span.lowest(count));
  const auto length = static_cast<std::uint64_t>(span.highest(count) - span.lowest(count));
  drop_bytes(rank, first, length);
}

void CachedGets::drop_bytes(int rank, std::uint64_t first, std::uint64_t bytes) {
  const auto number = static_cast<std::uint32_t>(rank);
  cache_->drop_range(number, first, bytes);
  if (ahead_) ahead_->readahead.on_drop(number, first, bytes);
  if (HOB_UNLIKELY(tracing))
    record({.kind = report::TraceKind::drop_range,
            .target = number,
            .displacement = first,
            .size = bytes});
}

void CachedGets::note_write(int rank) {
  if (many_threads && rank == window_.rank) return own_rank_.marks.note();
  const Entered guard(lock_, hot_);
  if (rank < 0 || rank >= window_.size) return;
  coherence_.note_write(target(rank));
}

void CachedGets::drop_all() {
  const Entered guard(lock_, hot_);
  drop_everything();
}

/// Everything fetched from one target.
void CachedGets::drop_copies(int rank, TargetState& t) {
  const auto number = static_cast<std::uint32_t>(rank);
  cache_->drop_target(number);
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.epochs.advance(t.invalidated);
  if (HOB_UNLIKELY(tracing)) record({.kind = report::TraceKind::drop_target, .target = number});
}

void CachedGets::drop_target(int rank) {
  const Entered guard(lock_, hot_);
  drop_copies(rank, target(rank));
  ++stats_.invalidations;
}

void CachedGets::set_mode(Mode mode, std::string reason) {
  const Entered guard(lock_, hot_);
  log::line(log::Level::info, "window {}: mode {}: {}", window_.id, name_of(mode), reason);
  coherence_.set_mode(mode, std::move(reason));
  settle_own_flushes();
  cache_->drop_all();
  if (ahead_) ahead_->readahead.on_drop();
  coherence_.epochs.advance_all();
}

}  // namespace hob::mpi
