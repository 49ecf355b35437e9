// How batches go out, and the calls that complete them.
#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "mpi/core/after_handler.hpp"
#include "mpi/core/errors_returned.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/gathered.hpp"
#include "mpi/rma/batch/batching.hpp"
#include "mpi/rma/batch/indexed.hpp"

namespace hob::mpi {

/// Whether so few operations go out one by one: a datatype would cost more.
bool Batching::singly(const OpenBatch& open, const batch::Lane& lane, int target) const {
  if (lane.operations() >= (options_.forced ? 2 : tuning::batching::kFewest)) return false;
  const auto unit = static_cast<std::uint64_t>(units_.of(target));
  if (unit == 0 || open.lowest_low != 0) return false;
  return std::all_of(lane.begins().begin(), lane.begins().end(),
                     [unit](std::uint64_t begin) { return begin % unit == 0; });
}

int Batching::issue_singly(const OpenBatch& open, SentBatch& sent, int target) {
  batch::Lane& lane = *sent.lane;
  const auto unit = static_cast<std::uint64_t>(units_.of(target));
  const Unit of = open.kind == BatchKind::get || open.kind == BatchKind::put
                      ? widest_unit(lane)
                      : Unit{type_of(open.element), open.element.bytes};
  int first_error = MPI_SUCCESS;
  for (std::uint32_t i = 0; i < lane.operations(); ++i) {
    const auto count = static_cast<MPI_Count>(lane.length_of(i) / of.bytes);
    const auto disp = static_cast<MPI_Aint>(lane.begins()[i] / unit);
    std::byte* const place = lane.place_of(i);
    if (open.kind == BatchKind::get && !place) continue;  // discarded
    BatchedGet** const get = requested_as(sent, i);
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_SUCCESS;
    switch (open.kind) {
      case BatchKind::get:
        error = next_->get(place, count, of.type, target, disp, count, of.type,
                           get ? &request : nullptr);
        if (get && error == MPI_SUCCESS) std::exchange(*get, nullptr)->issued_alone(request);
        break;
      case BatchKind::put:
        error = next_->put(lane.data_of(i), count, of.type, target, disp, count, of.type, nullptr);
        break;
      case BatchKind::accumulate:
        error = next_->accumulate(lane.data_of(i), count, of.type, target, disp, count, of.type,
                                  open.mpi_op, nullptr);
        break;
      case BatchKind::fetch:
        error = next_->get_accumulate(lane.data_of(i), count, of.type, place, count, of.type,
                                      target, disp, count, of.type, open.mpi_op, nullptr);
        break;
    }
    if (error != MPI_SUCCESS && first_error == MPI_SUCCESS) first_error = error;
    ++stats_.batches;
  }
  return first_error;
}

/// The request of operation `number` of a batch, or null.
BatchedGet** Batching::requested_as(SentBatch& sent, std::uint32_t number) {
  const auto found =
      std::find_if(sent.requested.begin(), sent.requested.end(),
                   [number](const BatchedGet* get) { return get && get->number() == number; });
  return found == sent.requested.end() ? nullptr : &*found;
}

int Batching::issue_indexed(const OpenBatch& open, SentBatch& sent, int target) {
  batch::Lane& lane = *sent.lane;
  const bool atomic = slot_of(open.kind) == kAtomics;
  const Unit unit = atomic ? Unit{type_of(open.element), open.element.bytes} : widest_unit(lane);
  const IndexedType there(lane, open.lowest - static_cast<std::uint64_t>(open.lowest_low),
                          unit.type, unit.bytes);
  if (!there.good()) return MPI_ERR_INTERN;
  ++stats_.batches;
  const auto count = static_cast<MPI_Count>(lane.bytes() / unit.bytes);
  const bool brings = open.kind == BatchKind::get || open.kind == BatchKind::fetch;
  // A get may be issued once more, alone (issue_alone()), and the program use its buffer again.
  sent.delivers = brings && (!lane.consecutive() || !sent.requested.empty());
  std::byte* const results = !brings         ? nullptr
                             : sent.delivers ? lane.results()
                                             : lane.first_place();
  const MPI_Aint disp = open.lowest_disp;
  switch (open.kind) {
    case BatchKind::get:
      return next_->get(results, count, unit.type, target, disp, 1, there.get(), nullptr);
    case BatchKind::put:
      return next_->put(lane.data(), count, unit.type, target, disp, 1, there.get(), nullptr);
    case BatchKind::accumulate:
      return next_->accumulate(lane.data(), count, unit.type, target, disp, 1, there.get(),
                               open.mpi_op, nullptr);
    case BatchKind::fetch:
      return next_->get_accumulate(lane.data(), count, unit.type, results, count, unit.type, target,
                                   disp, 1, there.get(), open.mpi_op, nullptr);
  }
  return MPI_ERR_INTERN;
}

int Batching::issue(const OpenBatch& open, SentBatch& sent, int target) {
  if (singly(open, *sent.lane, target)) return issue_singly(open, sent, target);
  return issue_indexed(open, sent, target);
}

void Batching::send(BatchTarget& t, int target, std::size_t slot) {
  OpenBatch& open = t.open[slot];
  if (!open.lane) return;
  t.sent.emplace_back();
  SentBatch& sent = t.sent.back();
  sent.lane = std::move(open.lane);
  sent.requested.swap(open.requested);
  // The program has waited for what it asked for, or its batch was long.
  if (!sent.requested.empty() &&
      !t.bursts[slot].complete_by_wait(sent.lane->operations(), tuning::batching::kLeast) &&
      open.kind == BatchKind::get)
    batched_gets_.gathered.set(false);
  t.alike.joins = false;
  waiting_ -= sent.lane->bytes() + sent.lane->operations() * tuning::batching::kBytesOfOperation;
  sent.number = ++sent_;
  sent.brings = open.kind == BatchKind::get || open.kind == BatchKind::fetch;
  pool_.give_back(std::move(open.locations));
  open_.add(std::size_t(-1));
  count(gathered::waiting, -1);
  t.outstanding += tuning::batching::kPriceOfBatch;
  const auto hold = [&] {
    sent.held = sizeof sent + sent.lane->memory_bytes();
    t.held += sent.held;
    held_ += sent.held;
  };
  const auto refused = [&](int error) {
    sent.delivers = false;
    sent.error = error;
    if (t.error == MPI_SUCCESS) t.error = error;
  };
  const std::uint64_t start = ticks();
  try {
    const int error = issue(open, sent, target);
    if (error != MPI_SUCCESS) refused(error);
  } catch (const std::bad_alloc&) {
    refused(MPI_ERR_NO_MEM);
  } catch (...) {  // an error handler of the program's
    refused(MPI_ERR_OTHER);
    hold();
    throw;
  }
  hold();
  interval_[static_cast<std::size_t>(open.kind)].ticks += ticks() - start;
}

void Batching::send_all_of(BatchTarget& t, int target) {
  if (open_.get() == 0) return;
  for (std::size_t slot = 0; slot < kSlots; ++slot) send(t, target, slot);
}

void Batching::send_everything() {
  if (open_.get() == 0) return;
  for (auto& [target, t] : targets_) send_all_of(t, target);
}

void Batching::send_waiting(bool all) {
  const std::lock_guard guard(lock_);
  if (all) return send_everything();
  if (open_.get() == 0) return;
  const std::uint64_t now = ticks();
  for (auto& [target, t] : targets_) send_old(t, target, now);
}

void Batching::send_quietly() {
  if (open_.get() == 0) return;
  const std::lock_guard guard(lock_);
  const ErrorsReturned errors(MPI_COMM_NULL, window_.handle);
  const std::uint64_t now = ticks();
  for (auto& [target, t] : targets_) {
    const bool had_error = t.error != MPI_SUCCESS;
    send_old(t, target, now);
    if (!had_error && t.error != MPI_SUCCESS) t.unheard = true;
  }
}

/// An error of send_quietly() reaches the program. What the call that completes returns.
int Batching::tell(int error) const {
  real::Win_call_errhandler(window_.handle, error);
  return after_handler(window_.handle, error);
}

/// What the batch of such a get brings is not used for it.
void Batching::discard(BatchTarget& t, BatchedGet& get) {
  get.lane().discard(get.number());
  const auto forget = [&get](std::vector<BatchedGet*>& requested) {
    std::replace(requested.begin(), requested.end(), &get, static_cast<BatchedGet*>(nullptr));
  };
  forget(t.open[kGets].requested);
  for (SentBatch& sent : t.sent) forget(sent.requested);
}

int Batching::complete_batch_of(BatchedGet& get) {
  const int target = get.target();
  const int error = complete_one(target, false, [&](bool) { return next_->flush(target); });
  if (error == MPI_SUCCESS) return error;
  const std::lock_guard guard(lock_);
  if (get.waits()) discard(targets_.at(target), get);
  return error;
}

void Batching::issue_alone(BatchedGet& get) {
  const std::lock_guard guard(lock_);
  BatchTarget& t = targets_.at(get.target());
  const batch::Lane& lane = get.lane();
  const auto disp = static_cast<MPI_Aint>(lane.begins()[get.number()] /
                                          static_cast<std::uint64_t>(units_.of(get.target())));
  const auto bytes = static_cast<MPI_Count>(lane.length_of(get.number()));
  std::byte* const place = lane.place_of(get.number());
  discard(t, get);
  requests_left_alone_ = next_left_alone_.next();
  t.clean = false;
  t.brings = true;
  ++t.outstanding;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      next_->get(place, bytes, MPI_BYTE, get.target(), disp, bytes, MPI_BYTE, &request);
  if (error == MPI_SUCCESS)
    get.issued_alone(request);
  else
    get.arrived(error);
}

/// What was sent up to number `last` is complete, if the completing call `succeeded`: else the
/// library may still use its memory.
void Batching::finish(BatchTarget& t, std::uint64_t last, bool succeeded) {
  if (!succeeded) return;
  std::size_t kept = 0;
  for (SentBatch& sent : t.sent) {
    if (sent.number > last) {
      if (&t.sent[kept] != &sent) t.sent[kept] = std::move(sent);
      ++kept;
      continue;
    }
    if (sent.delivers) sent.lane->deliver();
    all_arrived(sent.requested, sent.error);
    t.held -= sent.held;
    held_ -= sent.held;
    pool_.give_back(std::move(sent.lane));
  }
  t.sent.resize(kept);
  t.outstanding = 0;
}

/// A call that completes operations at a target, sent up to number `last`, has returned. The error
/// that was kept for it.
Batching::KeptError Batching::settle(BatchTarget& t, std::uint64_t last, bool succeeded) {
  finish(t, last, succeeded);
  t.brings = false;
  t.clean = succeeded && !many_threads;
  for (batch::Burst& burst : t.bursts) burst.complete();
  return {std::exchange(t.error, MPI_SUCCESS), std::exchange(t.unheard, false)};
}

/// The operations since the last completion are complete, which took `waited`.
void Batching::account(std::uint64_t waited, bool timed) {
  constexpr std::uint64_t kMost = 8;  // all but an eighth
  std::uint64_t all = 0, gathered = 0;
  for (const Interval& each : interval_) {
    all += each.operations;
    gathered += each.gathered;
  }
  if (all == 0) return;
  const Interval& gets = interval_[static_cast<std::size_t>(BatchKind::get)];
  if (gets.operations != 0 && gets.gathered == 0) batched_gets_.gathered.set(false);
  for (std::size_t kind = 0; kind < kBatchKinds; ++kind) {
    Interval& each = interval_[kind];
    const bool alone = each.operations * kMost >= all * (kMost - 1);
    if (alone && each.operations >= tuning::batching::kLeast && !options_.forced) {
      const bool in_batches = each.gathered * kMost >= each.operations * (kMost - 1);
      const std::uint64_t gathering = ticks_in(each.gathered * tuning::batching::kGatherNs);
      // With requests, waits are elsewhere: all that passed counts, in batches and without.
      const std::uint64_t spent = each.requested != 0
                                      ? ticks() - each.requested
                                      : each.ticks + gathering + (timed ? waited : 0);
      if (in_batches)
        trials_[kind].complete(true, each.operations, spent);
      else if (each.gathered == 0)
        trials_[kind].complete(false, each.operations, each.timed == each.operations ? spent : 0);
      if (in_batches)
        savings_[kind].in_batches(each.operations, spent);
      else if (each.gathered == 0 && each.timed == each.operations)
        learn_native(static_cast<BatchKind>(kind), each.operations, spent);
    }
    savings_[kind].gathered(each.gathered);
    each = {};
  }
  batched_gets_.ticks_each.set(trials_[static_cast<std::size_t>(BatchKind::get)].batch_price());
  if (gathered != 0) {
    idle_intervals_ = 0;
    next_look_.reset();
  } else if (++idle_intervals_ >= tuning::batching::kIdleIntervals) {
    idle_intervals_ = 0;
    step_aside();
  }
}

bool Batching::any_brings(const BatchTarget& t) {
  return std::any_of(t.sent.begin(), t.sent.end(),
                     [](const SentBatch& sent) { return sent.brings; });
}

bool Batching::only_writes(const BatchTarget& t) {
  constexpr std::size_t kMostSent = 16;  // beyond, their memory is wanted back
  const OpenBatch& atomics = t.open[kAtomics];
  return t.sent.size() <= kMostSent && !t.brings && t.error == MPI_SUCCESS && !t.open[kGets].lane &&
         !(atomics.lane && atomics.kind == BatchKind::fetch) && !any_brings(t);
}

/// What has waited for long goes out.
void Batching::send_old(BatchTarget& t, int target, std::uint64_t now) {
  const std::uint64_t old = ticks_in(tuning::batching::kOldNs);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    if (t.open[slot].lane && now - t.open[slot].born > old) send(t, target, slot);
}

/// A local flush where only_writes(): what a batch sends was copied, so that nothing need be sent
/// for it, and the library is asked only where it has buffers of the program's. The operations go
/// on being one burst until they are complete at the target. Others' operations on this process may
/// need it in the library now and then.
template <class Call>
int Batching::free_buffers(BatchTarget& t, int target, Call call) {
  const std::uint64_t start = ticks();
  if (!options_.forced) send_old(t, target, start);
  if (t.clean && start - entered_ < ticks_in(options_.progress_ns)) return MPI_SUCCESS;
  const int result = call(true);
  entered_ = ticks();
  const std::uint64_t waited = entered_ - start;
  if (result != MPI_SUCCESS) return result;
  t.clean = true;
  const bool puts = interval_[static_cast<std::size_t>(BatchKind::put)].operations != 0;
  interval_[static_cast<std::size_t>(puts ? BatchKind::put : BatchKind::accumulate)].ticks +=
      waited;
  return result;
}

template <class Call>
int Batching::complete_one(int target, bool local, Call call) {
  // Operations on the own rank are neither batched nor seen (Window::way_to()).
  if (HOB_LIKELY(!awake_.get()) || target == window_.rank) return call(local);
  std::uint64_t last = 0;
  {
    const std::lock_guard guard(lock_);
    if (BatchTarget* const t = at(target)) {
      if (local && !many_threads && only_writes(*t)) return free_buffers(*t, target, call);
      send_all_of(*t, target);
      // The library's local completion need not mean that what a get brings is there.
      local = local && !any_brings(*t);
    }
    last = sent_;
  }
  const std::uint64_t start = ticks();
  int result = call(local);
  const std::uint64_t waited = ticks() - start;
  bool unheard = false;
  {
    const std::lock_guard guard(lock_);
    if (BatchTarget* const t = at(target)) {
      const KeptError kept = settle(*t, last, result == MPI_SUCCESS);
      unheard = kept.unheard && result == MPI_SUCCESS;
      if (result == MPI_SUCCESS) result = kept.error;
    }
    account(waited, true);
  }
  return HOB_UNLIKELY(unheard) ? tell(result) : result;
}

template <class Call>
int Batching::complete_all(bool local, bool timed, Call call) {
  if (HOB_LIKELY(!awake_.get())) return call(local);
  std::uint64_t last = 0;
  {
    const std::lock_guard guard(lock_);
    send_everything();
    for (const auto& [_, t] : targets_) local = local && !any_brings(t);
    last = sent_;
  }
  const std::uint64_t start = ticks();
  int result = call(local);
  const std::uint64_t waited = ticks() - start;
  bool unheard = false;
  {
    const std::lock_guard guard(lock_);
    int error = MPI_SUCCESS;
    for (auto& [_, t] : targets_) {
      const KeptError its = settle(t, last, result == MPI_SUCCESS);
      if (error != MPI_SUCCESS) continue;
      error = its.error;
      unheard = its.unheard;
    }
    unheard = unheard && result == MPI_SUCCESS;
    if (result == MPI_SUCCESS) result = error;
    account(waited, timed);
  }
  return HOB_UNLIKELY(unheard) ? tell(result) : result;
}

/// After a lock of the program, or a flush, which is allowed only where the target is locked,
/// whether that was seen or not.
int Batching::shows_lock(int target, int result) {
  if (result != MPI_SUCCESS || !awake_.get()) return result;
  const std::lock_guard guard(lock_);
  if (BatchTarget* const t = at(target)) {
    t->epoch = epoch_;
    t->locked = true;
  }
  return result;
}

int Batching::flush(int target) {
  look_in_flush(target);
  return shows_lock(target,
                    complete_one(target, false, [&](bool) { return next_->flush(target); }));
}
/// The library's flush of all targets, after one of each whose batches bring something: MPICH 4
/// returns from MPI_Win_flush_all before operations with indexed types are complete.
int Batching::flush_each_and_all() {
  std::vector<int> targets;
  {
    const std::lock_guard guard(lock_);
    for (const auto& [target, t] : targets_)
      if (any_brings(t)) targets.push_back(target);
  }
  for (const int target : targets)
    if (const int error = next_->flush(target); error != MPI_SUCCESS) return error;
  return next_->flush_all();
}

int Batching::flush_all() {
  return complete_all(false, true, [&](bool) { return flush_each_and_all(); });
}
int Batching::flush_local(int target) {
  return shows_lock(target, complete_one(target, true, [&](bool local) {
                      return local ? next_->flush_local(target) : next_->flush(target);
                    }));
}
int Batching::flush_local_all() {
  return complete_all(true, true, [&](bool local) {
    return local ? next_->flush_local_all() : flush_each_and_all();
  });
}

int Batching::unlock(int target) {
  const int result = complete_one(target, false, [&](bool) { return next_->unlock(target); });
  if (awake_.get()) {
    const std::lock_guard guard(lock_);
    if (BatchTarget* const t = at(target)) t->epoch = 0;
  }
  return result;
}

int Batching::unlock_all() {
  const int result = complete_all(false, true, [&](bool) { return next_->unlock_all(); });
  const std::lock_guard guard(lock_);
  ++epoch_;
  all_locked_ = false;
  return result;
}

int Batching::fence(int assertion) {
  const int result = complete_all(false, false, [&](bool) { return next_->fence(assertion); });
  const std::lock_guard guard(lock_);
  ++epoch_;
  return result;
}

int Batching::complete() {
  const int result = complete_all(false, false, [&](bool) { return next_->complete(); });
  const std::lock_guard guard(lock_);
  ++epoch_;
  return result;
}

int Batching::start(MPI_Group group, int assertion) {
  const int result = next_->start(group, assertion);
  const std::lock_guard guard(lock_);
  ++epoch_;
  return result;
}

int Batching::lock(int type, int target, int assertion) {
  return shows_lock(target, next_->lock(type, target, assertion));
}

int Batching::lock_all(int assertion) {
  const int result = next_->lock_all(assertion);
  if (result != MPI_SUCCESS || !awake_.get()) return result;
  const std::lock_guard guard(lock_);
  ++epoch_;
  all_locked_ = true;
  return result;
}

int Batching::post(MPI_Group group, int assertion) {
  {
    const std::lock_guard guard(lock_);
    send_everything();
  }
  return next_->post(group, assertion);
}

int Batching::wait() {
  {
    const std::lock_guard guard(lock_);
    send_everything();
  }
  return next_->wait();
}

int Batching::test(int* flag) {
  {
    const std::lock_guard guard(lock_);
    send_everything();
  }
  return next_->test(flag);
}

int Batching::sync() {
  {
    const std::lock_guard guard(lock_);
    send_everything();
  }
  return next_->sync();
}

void Batching::closing() {
  {
    const std::lock_guard guard(lock_);
    send_everything();
  }
  next_->closing();
}

}  // namespace hob::mpi
