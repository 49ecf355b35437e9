// Flushes, ends of epochs, completed requests: when bytes have arrived.
#include <fmt/core.h>

#include <cstring>
#include <mutex>
#include <new>

#include "base/clock.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/rma/cache/cached_gets.hpp"
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
    if (pending.request != 0 && succeeded && !requested_.wait_for(pending)) failed = true;
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
      return waited_in_phase(blocks_->finish(pending));
    case Purpose::recall:
      return recalls_->finish(pending);
  }
}

void CachedGets::finish_fetch(PendingGet& pending) {
  if (pending.whole()) {
    const std::byte* packed = pending.first_byte();
    if (pending.entry) store(pending, packed);
    under_way_.serve_waiters(pending, packed);
  } else if (std::byte* place = pending.entry ? cache_->writable(pending.entry) : nullptr) {
    pack(*pending.layout, pending.buffer, place, pending.bytes);
    under_way_.serve_waiters(pending, place);
    cache_->complete(pending.entry, pending.when);
  } else {
    under_way_.serve_waiters(pending);
  }
}

void CachedGets::store(const PendingGet& pending, const std::byte* packed) {
  const bool timed = pending.bytes >= gets::CopyWorth::kLarge;
  const std::uint64_t start = timed ? ticks() : 0;
  if (cache_->fill(pending.entry, packed, pending.bytes, pending.offset, pending.when) && timed)
    learning_.stored(pending.bytes, ticks() - start);
}

void CachedGets::refetch_arrived(bool recalled, std::uint64_t now) {
  if (recalled && recalls_)
    recalls_->refetch_arrived(now);
  else
    learning_.refetch_arrived(now);
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
  if (pending.speculative) return recalls_->end();
  ++stats_.refetches_changed;
  note_acquire("bytes that changed");
  coherence_.set_mode(
      Mode::strict,
      fmt::format("the program polls with plain gets: bytes of rank {} changed without "
                  "synchronization",
                  pending.rank));
  settle_own_flushes();
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

/// A get with a request has arrived. Where the program waited for it, those that were under way
/// beside it took part of that time, and what is waited for them later is no price.
void CachedGets::get_arrived(PendingGet& pending, TargetState& t, bool awaited) {
  apply_acquires();
  if (awaited && request_groups_.waited()) {
    learning_.completed();
    completed_something();
  }
  if (awaited && pending.asked != 0) {
    const std::uint64_t now = ticks();
    const std::uint64_t waited = now - pending.asked;
    waited_in_phase(waited);
    if (many_threads) return finish(pending);
    if (waits_) waits_->waited(waited, now, 1, [&] { return cache_->stats().ahead_bytes; });
    learning_.waited_for_request(t, pending.when, waited, now, in_batch());
  }
  finish(pending);
}

/// A program that waits for requests alone never flushes, so writes that are only assumed would be
/// in the way for good: they are completed here, as may be done wherever MPI_Rget is allowed.
void CachedGets::settle_assumed_writes(int rank, TargetState& t) {
  if (!t.writing() || t.written != t.assumed || many_threads) return;
  if (backend_.synchronise(rma::Sync::flush(rank)) == MPI_SUCCESS) t.settled = t.written;
}

pay::SavedRange CachedGets::saved(std::uint64_t locks) const {
  const cache::Stats& cached = cache_->stats();
  return learning_.saved({.trips = stats_.flushes_skipped + locks + request_groups_.spared(),
                          .hits = cached.hits_full + cached.hits_pending,
                          .bytes = cached.bytes_from_cache,
                          .ahead_bytes = cached.ahead_bytes,
                          .native_each = issuer_.batches().native_ticks_each.get()});
}

bool CachedGets::flush_skipped(int rank) {
  const std::lock_guard guard(lock_);
  ++stats_.flushes;
  if (rank != window_.rank) completed_something();
  // What the program issues to a window that rests is not seen while Hob sleeps.
  if (!tracking_.is_on()) return false;
  const bool unseen = tracking_.was_off() || own_rank_.marks.writing();
  if (!(rank >= 0 ? completions_.skip(target(rank)) : completions_.skip_all(unseen))) return false;
  ++stats_.flushes_skipped;
  request_groups_.complete();
  if (mode() == Mode::strict) end_strict_epoch();
  return true;
}

CachedGets::FlushToken CachedGets::before_flush(int rank, bool local) {
  const Entered guard(lock_, hot_);
  request_groups_.complete();
  if (rank != window_.rank) learning_.completed();
  TargetState* const t = rank < 0 ? nullptr : &target(rank);
  if (!t && !many_threads) completions_.none_passed_by();
  FlushToken token = completions_.begin(t, local, coherence_.last_write());
  if (many_threads && (!t || rank == window_.rank)) token.own_flush = own_rank_.marks.begin_flush();
  const bool waits = (ahead_ || recalls_) && (!t || !t->pending.empty());
  if (waits || (t && t->profile.sampling())) token.started = ticks();
  return token;
}

void CachedGets::after_flush(int rank, const FlushToken& token, bool succeeded) {
  const Entered guard(lock_, hot_);
  const std::uint64_t now = ticks();
  progress_.entered(now);
  if (token.started != 0) waited_in_phase(now - token.started);
  if (!token.local) own_rank_.marks.settle(token.own_flush);
  const auto waited_alone = [&](const TargetState& t) {
    return completions_.waited_alone(t, token.last_get);
  };
  const auto settle = [&](TargetState& t) {
    gets::Completions::settle(t, token);
    complete(t, token.last_get, succeeded);
  };
  if (rank >= 0) {
    TargetState& t = target(rank);
    completions_.end(&t);
    if (HOB_UNLIKELY(token.started != 0) && waited_alone(t)) {
      learning_.waited(t, now - token.started, in_batch());
      if (recalls_) recalls_->learn_prices(t, now - token.started);
    }
    settle(t);
  } else {
    completions_.end(nullptr);
    if (token.started != 0)
      learning_.waited_for_all(targets_, now - token.started, in_batch(), waited_alone);
    targets_.each(settle);
    if (!token.local) tracking_.completed();
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode() == Mode::strict) end_strict_epoch();
}

void CachedGets::epoch_opened(int rank) {
  const Entered guard(lock_, hot_);
  if (rank >= 0)
    target(rank).closed = false;
  else
    targets_.each([](TargetState& t) { t.closed = false; });
}

void CachedGets::epoch_closed(int rank, bool succeeded, std::uint64_t waited, bool opens) {
  const Entered guard(lock_, hot_);
  if (rank >= 0 && waited != 0 && completions_.waited_alone(target(rank), under_way_.last_birth()))
    learning_.waited(target(rank), waited, in_batch());
  request_groups_.complete();
  learning_.completed();
  completed_something();
  waited_in_phase(waited);
  if (many_threads && (rank < 0 || rank == window_.rank))
    own_rank_.marks.settle(own_rank_.marks.begin_flush());
  const bool closed = succeeded && !opens;
  const auto close = [&](TargetState& t) {
    complete(t, under_way_.last_birth(), succeeded);
    gets::Completions::close(t, coherence_.last_write(), closed);
  };
  if (rank >= 0) {
    close(target(rank));
  } else {
    targets_.each(close);
    if (!many_threads) completions_.none_passed_by();
    tracking_.completed();
  }
  if (HOB_UNLIKELY(!succeeded)) drop_everything();
  if (mode() == Mode::strict) end_strict_epoch();
}

}  // namespace hob::mpi
