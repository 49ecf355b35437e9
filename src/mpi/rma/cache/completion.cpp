// Flushes, ends of epochs, completed requests: when bytes have arrived.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/cache/stale_bytes.hpp"

namespace hob::mpi {

/// The gets to a target up to the one numbered `last` are complete. Whoever finds that out first
/// finishes them all, other threads' too: their flush may return before this thread's does, and
/// they may then reuse the buffers.
void CachedGets::complete(TargetState& t, std::uint32_t last, bool succeeded) {
  if (t.pending.empty()) return;
  apply_acquires();
  bool failed = false;
  under_way_.finish_until(t.pending, last, [&](PendingGet& pending) {
    if (pending.request != 0 && succeeded) {
      auto handle = handle_of<MPI_Request>(pending.request);
      int error = MPI_SUCCESS;
      for (int flag = 0; !flag && error == MPI_SUCCESS;)
        error = requests::test(&handle, &flag, MPI_STATUS_IGNORE);
      if (HOB_UNLIKELY(error != MPI_SUCCESS)) {
        failed = true;
        requests_.failed(requests_.cookie_of(under_way_.index_of(pending)), error);
      }
    }
    if (pending.issued != 0 && succeeded && sharing_.add(t, pending)) ++stats_.shared_inserts;
    finish(pending);
  });
  if (HOB_UNLIKELY(failed)) drop_everything();
}

/// The bytes of one get have arrived in the program's buffer.
void CachedGets::finish(PendingGet& pending) {
  switch (pending.purpose) {
    case Purpose::fetch:
    case Purpose::requested:
    case Purpose::tail:
      return finish_fetch(pending);
    case Purpose::refetch:
      return finish_refetch(pending);
    case Purpose::verify:
      return finish_verify(pending);
    case Purpose::ahead:
      return finish_ahead(pending);
    case Purpose::recall:
      return finish_recall(pending);
  }
}

void CachedGets::finish_fetch(PendingGet& pending) {
  if (pending.whole()) {
    const std::byte* packed = pending.first_byte();
    if (pending.entry)
      cache_->fill(pending.entry, packed, pending.bytes, pending.offset, pending.when);
    under_way_.serve_waiters(pending, packed);
  } else if (std::byte* place = pending.entry ? cache_->writable(pending.entry) : nullptr) {
    pack(*pending.layout, pending.buffer, place, pending.bytes);
    under_way_.serve_waiters(pending, place);
    cache_->complete(pending.entry, pending.when);
  } else {
    under_way_.serve_waiters(pending);
  }
}

void CachedGets::finish_refetch(PendingGet& pending) {
  refetch_arrived(pending.speculative, ticks());
  const std::byte* packed = pending.first_byte();
  std::unique_ptr<std::byte[]> copy;
  if (!pending.whole()) {
    copy.reset(new (std::nothrow) std::byte[pending.bytes]);
    if (!copy) return cache_->drop(pending.entry);
    pack(*pending.layout, pending.buffer, copy.get(), pending.bytes);
    packed = copy.get();
  }
  const bool changed =
      pending.served
          ? std::memcmp(pending.served.get(), packed, pending.bytes) != 0
          : cache_->refresh(pending.entry, packed, pending.bytes, pending.offset, pending.when);
  if (!changed) return;
  if (pending.speculative) return end_recall();
  ++stats_.refetches_changed;
  note_acquire("bytes that changed");
  coherence_.set_mode(
      Mode::strict,
      fmt::format("the program polls with plain gets: bytes of rank {} changed without "
                  "synchronization",
                  pending.rank));
}

void CachedGets::finish_verify(const PendingGet& pending) {
  const std::byte* fetched = pending.served.get();
  if (std::memcmp(fetched, fetched + pending.bytes, pending.bytes) == 0) return;
  ++stats_.verify_failures;
  if (!verifier_.room()) return;
  const std::string sentence =
      fmt::format("rank {} served {} stale bytes of window {}, rank {}, displacement {}",
                  window_.rank, pending.bytes, window_.id, pending.rank, pending.displacement);
  verifier_.add_failure("verify: " + sentence);
  report_stale_bytes(sentence);
}

/// Whether a wait for the gets to a target up to the one numbered `last`, which ends now, was for
/// these alone: no other thread waits for them too, or has issued more since.
bool CachedGets::waited_alone(const TargetState& t, std::uint32_t last) const {
  if (!many_threads || t.pending.empty()) return true;
  const std::uint32_t youngest = under_way_[t.pending.back()].birth;
  return t.completing == 0 && completing_all_ == 0 &&
         static_cast<std::int32_t>(youngest - last) <= 0;
}

pay::SavedRange CachedGets::saved(std::uint64_t locks) const {
  const cache::Stats& cached = cache_->stats();
  return learning_.saved({.trips = stats_.flushes_skipped + locks + request_groups_.spared(),
                          .hits = cached.hits_full + cached.hits_pending,
                          .bytes = cached.bytes_from_cache,
                          .ahead_bytes = cached.ahead_bytes,
                          .native_each = batches_->native_ticks_each.get()});
}

/// Whether nothing of this process is outstanding at any target, so that a flush would do nothing,
/// and it is called for the sake of hits: a program that flushes for progress alone still does.
bool CachedGets::skip_flush(TargetState& t) {
  if (!HOB_LIKELY(t.hits_to_flush() && is_idle(t))) return false;
  t.flushed_hits = t.hits;
  return true;
}

bool CachedGets::skip_flush_all() {
  bool idle =
      !wakefulness_.slept() && completing_all_ == 0 && !passed_by_.load(std::memory_order_relaxed);
  bool hits = false;
  targets_.each([&](const TargetState& t) {
    idle = idle && t.gets == 0 && !t.writing() && t.completing == 0;
    hits = hits || t.hits_to_flush();
  });
  if (!idle || !hits) return false;
  targets_.each([](TargetState& t) { t.flushed_hits = t.hits; });
  return true;
}

bool CachedGets::flush_skipped(int rank) {
  const std::lock_guard guard(lock_);
  ++stats_.flushes;
  completed_something();
  // What the program issues to a window that rests is not seen while Hob sleeps.
  if (!wakefulness_.awake()) return false;
  if (!(rank >= 0 ? skip_flush(target(rank)) : skip_flush_all())) return false;
  ++stats_.flushes_skipped;
  request_groups_.complete();
  if (mode() == Mode::strict) end_strict_epoch();
  return true;
}

CachedGets::FlushToken CachedGets::before_flush(int rank, bool local) {
  const Entered guard(*this);
  request_groups_.complete();
  TargetState* const one = rank >= 0 ? &target(rank) : nullptr;
  FlushToken token{
      .local = local, .last_get = under_way_.last_birth(), .last_write = coherence_.last_write()};
  const auto leave = [&](TargetState& t) {
    if (!t.pending.empty()) token.local = false;
    t.gets = 0;
    t.flushed_hits = t.hits;
  };
  if (one) {
    ++one->completing;
    leave(*one);
    if (one->profile.sampling() || (times_waits() && !one->pending.empty()))
      token.started = ticks();
  } else {
    ++completing_all_;
    passed_by_.store(false, std::memory_order_relaxed);
    targets_.each(leave);
    if (times_waits()) token.started = ticks();
  }
  return token;
}

void CachedGets::after_flush(int rank, const FlushToken& token, bool succeeded) {
  const Entered guard(*this);
  const std::uint64_t now = ticks();
  progress_.entered(now);
  if (token.started != 0) waited_in_phase(now - token.started);
  const auto settle = [&](TargetState& t) {
    if (!token.local) t.settled = std::max(t.settled, token.last_write);
    complete(t, token.last_get, succeeded);
  };
  if (rank >= 0) {
    TargetState& t = target(rank);
    --t.completing;
    if (HOB_UNLIKELY(token.started != 0) && waited_alone(t, token.last_get)) {
      learning_.waited(t, now - token.started, in_batch());
      if (recalling_) learn_prices(t, now - token.started);
    }
    settle(t);
  } else {
    --completing_all_;
    if (token.started != 0)
      learning_.waited_for_all(
          targets_, now - token.started, in_batch(),
          [&](const TargetState& t) { return waited_alone(t, token.last_get); });
    targets_.each(settle);
    if (!token.local) wakefulness_.completed();
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode() == Mode::strict) end_strict_epoch();
}

void CachedGets::epoch_opened(int rank) {
  const Entered guard(*this);
  if (rank >= 0)
    target(rank).closed = false;
  else
    targets_.each([](TargetState& t) { t.closed = false; });
}

void CachedGets::epoch_closed(int rank, bool succeeded, std::uint64_t waited, bool opens) {
  const Entered guard(*this);
  if (rank >= 0 && waited != 0 && waited_alone(target(rank), under_way_.last_birth()))
    learning_.waited(target(rank), waited, in_batch());
  request_groups_.complete();
  completed_something();
  waited_in_phase(waited);
  const bool closed = succeeded && !opens;
  const auto close = [&](TargetState& t) {
    complete(t, under_way_.last_birth(), succeeded);
    t.gets = 0;
    t.flushed_hits = t.hits;
    t.settled = coherence_.last_write();
    t.closed = closed;
  };
  if (rank >= 0) {
    close(target(rank));
  } else {
    targets_.each(close);
    passed_by_.store(false, std::memory_order_relaxed);
    wakefulness_.completed();
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode() == Mode::strict) end_strict_epoch();
}

}  // namespace hob::mpi
