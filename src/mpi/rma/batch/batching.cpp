#include "mpi/rma/batch/batching.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/accelerator.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/contents.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/progress/batched.hpp"
#include "mpi/requests/served.hpp"

namespace hob::mpi {
namespace {

/// Whether two operations on one location may be made one: the result is the same bit by bit.
bool combines_exactly(unsigned op, ElementClass element) {
  if (op == kReplace) return true;
  return element == ElementClass::integer &&
         (op == kSum || op == kProduct || op == kMin || op == kMax || op == kBitAnd ||
          op == kBitOr || op == kBitXor);
}

/// Operations of a batch after which the clock is read again.
constexpr std::size_t kClockInterval = 16;

}  // namespace

Batching::~Batching() {
  count(batched::waiting.number,
        -static_cast<int>(open_.get()));  // its last call may have been unwound
  for (auto& [_, t] : targets_) {
    all_arrived(t.open[kGets].requested, MPI_ERR_OTHER);
    for (SentBatch& sent : t.sent) all_arrived(sent.requested, MPI_ERR_OTHER);
  }
  if (tracking_.get()) end_tracking();
}

BatchStats Batching::stats() {
  const std::lock_guard guard(lock_);
  BatchStats all = stats_;
  bool bounded = true;
  for (const batch::Saving& each : savings_) {
    const pay::SavedRange saved = each.estimate();
    all.saved.least += saved.least;
    all.saved.usual += saved.usual;
    all.saved.most += saved.most;
    bounded = bounded && saved.most >= saved.usual;
  }
  if (!bounded) all.saved.most = 0;
  return all;
}

std::uint64_t Batching::waiting_bytes() {
  const std::lock_guard guard(lock_);
  return waiting_;
}

std::uint64_t Batching::held_bytes() {
  const std::lock_guard guard(lock_);
  return held_;
}

// Whether operations are tracked

/// Nothing was batched for long.
void Batching::stop_tracking() {
  if (options_.forced || many_threads || open_.get() != 0 || !tracking_.get()) return;
  for (const auto& [_, t] : targets_)
    if (!t.sent.empty() || t.error != MPI_SUCCESS) return;
  tracking_.set(false);
  end_tracking();
  idle_intervals_ = 0;
  until_retry_.set(next_retry_.next());
  only_counting_.set(true);
}

/// What happened before was not seen: no epoch is known to be open.
void Batching::start_tracking() {
  if (HOB_LIKELY(tracking_.get())) return;
  tracking_.set(true);
  begin_tracking();
  for (auto& [_, t] : targets_) t.clean = false;
  ++epoch_;
  all_locked_ = false;
}

bool Batching::retry(std::uint64_t operations, std::uint64_t waits) {
  const std::lock_guard guard(lock_);
  const std::uint64_t more = operations - seen_operations_;
  seen_operations_ = operations;
  if (!only_counting_.get() || more < waits * tuning::batching::kLeast) return false;
  only_counting_.set(false);
  return true;
}

void Batching::reached_by_stores(int target) {
  const std::lock_guard guard(lock_);
  send_everything();
  // Without memory for a target, nothing is batched for it.
  if (target < 0)
    all_reached_ = true;
  else if (BatchTarget* const t = at(target))
    t->reached = true;
}

BatchTarget* Batching::at(int target) {
  if (HOB_LIKELY(target == last_rank_)) return last_;
  if (target < 0 || target >= window_.size) return nullptr;
  try {
    last_ = &targets_[target];
    last_rank_ = target;
    return last_;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Batching

/// Whether an operation of such a kind is batched now.
bool Batching::worthwhile(BatchTarget& t, const SmallOperation& op) {
  // The program reaches that memory by loads and stores, too, and others' operations on it may
  // follow from what they read elsewhere: where it was issued, it is done, with every library.
  if (op.target == window_.rank || all_reached_ || t.reached) return false;
  if (options_.forced) return true;
  const std::size_t slot = slot_of(op.kind);
  const bool is_long = t.bursts[slot].batches(tuning::batching::kLeast);
  if (HOB_UNLIKELY(t.bursts[slot].length() == 1)) begin_sample(t, op);
  if (HOB_UNLIKELY(is_sampled(op)) && t.bursts[slot].length() <= tuning::batching::kLeast)
    return false;
  if (!is_long || !trials_[static_cast<std::size_t>(op.kind)].batches()) return false;
  // Hardware, or memory, does what batching alone would cost.
  const std::uint64_t issue = t.issue[slot];
  return issue != ~std::uint64_t{0} && issue >= ticks_in(tuning::batching::kCheapNs);
}

/// The fast way into a batch: one operation more of the kind that came last. False: ask at length.
bool Batching::joins(const rma::Op& op) {
  BatchTarget* const t = at(op.target);
  if (!t || !t->alike.joins) return false;
  const BatchKind kind = batch_kind_of(op.kind);
  if (op.kind == rma::Op::Kind::get_accumulate || op.kind == rma::Op::Kind::compare_and_swap ||
      (op.request && (kind == BatchKind::get || !is_locked(*t))))
    return false;
  auto* const place = static_cast<std::byte*>(op.result.address);
  const auto* const data = static_cast<const std::byte*>(op.origin.address);
  if ((op.brings() && !place) || (kind != BatchKind::get && !data)) return false;
  const AlikeOperations& alike = t->alike;
  const TypedBuffer& here = op.here();
  if (alike.kind != kind || alike.type != here.type || alike.type != op.target_type ||
      alike.count != here.count || alike.count != op.target_count || alike.mpi_op != op.operation)
    return false;
  OpenBatch& open = *alike.open;
  const auto begin = static_cast<std::uint64_t>(static_cast<std::int64_t>(op.disp) * alike.unit);
  if (begin > alike.shown || alike.bytes > alike.shown - begin) return false;
  const std::size_t length = open.buffer->operations() + 1;
  if (length >= options_.most || length % kClockInterval == 0 || !is_open(*t) ||
      on_accelerator(place) || on_accelerator(data))
    return false;
  const std::size_t slot = slot_of(kind);
  for (std::size_t other = 0; other < kSlots; ++other)
    if (other != slot && t->open[other].buffer) return false;
  if (!has_room(open, slot, alike.bytes)) return false;
  if (open.tracked && (kind == BatchKind::get || !open.locations->accepts(alike.bytes) ||
                       open.locations->find(begin, alike.bytes) != batch::LocationSet::kNone))
    return false;
  try {
    if (open.tracked) open.locations->add(begin, alike.bytes);
    append(open, begin, alike.bytes, place, data);
  } catch (const std::bad_alloc&) {
    // Its location may be there without it.
    if (open.tracked) send(*t, op.target, slot);
    return false;
  }
  lower(open, begin, op.disp, 0);
  static_cast<void>(t->bursts[slot].batches(tuning::batching::kLeast));
  note_batched(kind, op.request != nullptr);
  if (op.request) *op.request = requests::served();
  return true;
}

void Batching::note_batched(BatchKind kind, bool requested) {
  Interval& interval = interval_[static_cast<std::size_t>(kind)];
  if (requested && interval.requested == 0) interval.requested = ticks();
  ++interval.operations;
  ++interval.batched;
  ++stats_.operations;
}

/// After an operation was batched: the next one may be like it.
void Batching::expect_more(const SmallOperation& small, const rma::Op& op) {
  BatchTarget& t = *at(op.target);
  OpenBatch& open = t.open[slot_of(small.kind)];
  AlikeOperations& alike = t.alike;
  const TypedBuffer& here = op.here();
  alike.joins = false;
  if (!open.buffer || small.low != 0 || !window_.bounded || here.type != op.target_type ||
      here.count != op.target_count || (small.kind != BatchKind::get && !small.data))
    return;
  if (alike.type != here.type && !TypeContents(here.type).predefined()) return;
  alike = {.open = &open,
           .joins = true,
           .kind = small.kind,
           .type = here.type,
           .count = here.count,
           .mpi_op = op.operation,
           .bytes = small.range.bytes,
           .unit = units_.of(op.target),
           .shown = exposed_.of(op.target)};
}

/// To the operation buffer of an open batch. Of a get, there are no data.
void Batching::append(OpenBatch& open, std::uint64_t begin, std::uint64_t bytes, std::byte* place,
                      const std::byte* data) {
  if (open.kind == BatchKind::get)
    open.buffer->add(begin, static_cast<std::uint32_t>(bytes), place);
  else if (data && bytes == sizeof(std::uint64_t))
    open.buffer->add_word(begin, place, data);
  else
    open.buffer->add(begin, static_cast<std::uint32_t>(bytes), place, data);
  waiting_ += bytes + tuning::batching::kBytesOfOperation;
}

/// The batch has an operation that begins there.
void Batching::lower(OpenBatch& open, std::uint64_t begin, MPI_Aint disp, std::int64_t low) {
  if (begin >= open.lowest) return;
  open.lowest = begin;
  open.lowest_disp = disp;
  open.lowest_low = low;
}

/// Whether an operation with a request may be batched. Of a put or an accumulate, the request is
/// complete at once: the data are copied. A get's is complete with the batch.
bool Batching::may_have_request(const BatchTarget& t, const SmallOperation& op) {
  if (!is_locked(t) || op.kind == BatchKind::fetch) return false;
  if (op.kind != BatchKind::get) return true;
  if (many_threads || op.low != 0 || units_.of(op.target) <= 0) return false;
  if (HOB_LIKELY(requests_skipped_ == 0)) return true;
  --requests_skipped_;
  return false;
}

bool Batching::add_to_batch(const SmallOperation& small, const rma::Op& op) {
  BatchTarget* const t = at(op.target);
  if (!t) return false;
  start_tracking();
  // Outside of an epoch, the library says what is wrong.
  if (!worthwhile(*t, small) || !is_open(*t) || (op.request && !may_have_request(*t, small)))
    return false;
  // Where no flush is allowed, batches stay in memory until the epoch ends.
  if (HOB_UNLIKELY(held_ > tuning::batching::kMostHeld) && !is_locked(*t)) return false;
  OpenBatch& open = t->open[slot_of(small.kind)];
  BatchedGet* requested = nullptr;
  try {
    if (op.request && small.kind == BatchKind::get)
      requested = &BatchedGet::begin(*this, op.target, *op.request);
    bool combined = false;
    make_room(*t, small, combined);
    if (combined) {
      ++stats_.combined;
    } else {
      if (requested) open.requested.push_back(requested);
      add(*t, small);
    }
  } catch (const std::bad_alloc&) {
    if (!requested) return false;
    if (!open.requested.empty() && open.requested.back() == requested) open.requested.pop_back();
    requested->withdraw(*op.request);
    return false;
  }
  if (requested)
    requested->joined(*open.buffer, static_cast<std::uint32_t>(open.buffer->operations() - 1));
  else if (op.request)
    *op.request = requests::served();
  if (small.kind == BatchKind::get && !options_.forced) batched_gets_.batched.set(true);
  note_batched(small.kind, small.requested);
  const std::size_t slot = slot_of(small.kind);
  const std::size_t length = open.buffer->operations();
  if (length >= options_.most ||
      (length % kClockInterval == 0 && ticks() - open.born > ticks_in(tuning::batching::kOldNs) &&
       !options_.forced))
    send(*t, op.target, slot);
  if (HOB_UNLIKELY(waiting_ > tuning::batching::kMostWaiting)) send_everything();
  expect_more(small, op);
  ask_for_completion(*t);
  return true;
}

/// Whether a batch stays short enough with one operation more.
bool Batching::has_room(const OpenBatch& open, std::size_t slot, std::uint64_t bytes) const {
  const bool uniform = open.buffer->uniform() && bytes == open.buffer->length_of(0);
  const std::uint64_t each =
      uniform ? tuning::batching::kUniformTypeBytes : tuning::batching::kTypeBytes;
  const std::uint64_t wire = open.buffer->bytes() + bytes + (open.buffer->operations() + 1) * each;
  return wire <= (slot == kAtomics ? options_.most_atomic_bytes : options_.most_bytes);
}

/// Sends what must go before an operation that is batched. `combined`: it is part of another one
/// now.
void Batching::make_room(BatchTarget& t, const SmallOperation& op, bool& combined) {
  order(t, op, true);
  const std::size_t slot = slot_of(op.kind);
  OpenBatch& open = t.open[slot];
  if (!open.buffer) return;
  const auto close = [&] {
    ++stats_.closed;
    send(t, op.target, slot);
  };
  if (op.kind != open.kind) return close();
  if (!has_room(open, slot, op.range.bytes)) return send(t, op.target, slot);
  const bool atomic = slot == kAtomics;
  if (atomic && (op.op != open.op || op.element.type != open.element.type)) return close();
  if (!open.tracked) return;
  const std::uint32_t there = open.locations->find(op.range.begin, op.range.bytes);
  if (there == batch::LocationSet::kNone) {
    if (!open.locations->accepts(op.range.bytes)) close();
    return;
  }
  if (op.kind == BatchKind::get) return;  // two may read the same
  combined = combine_with(open, there, op);
  if (!combined) close();
}

/// Makes an operation part of one with the same location, if the result is the same.
bool Batching::combine_with(OpenBatch& open, std::uint32_t number, const SmallOperation& op) {
  if (open.locations->begin_of(number) != op.range.begin ||
      open.locations->end_of(number) != op.range.begin + op.range.bytes)
    return false;
  std::byte* const data = open.buffer->data_of(number);
  if (op.kind == BatchKind::put || (op.kind == BatchKind::accumulate && op.op == kReplace)) {
    std::memcpy(data, op.data, op.range.bytes);
    return true;
  }
  if (op.kind != BatchKind::accumulate || !combines_exactly(op.op, class_of(op.element)))
    return false;
  combine(op.data, data, op.range.bytes / op.element.bytes, op.element.type, op.op);
  return true;
}

void Batching::add(BatchTarget& t, const SmallOperation& op) {
  OpenBatch& open = t.open[slot_of(op.kind)];
  if (!open.buffer) {
    auto locations = pool_.locations();
    open.buffer = pool_.buffer();
    open.locations = std::move(locations);
    open.tracked = op.kind != BatchKind::get;
    open.kind = op.kind;
    open.element = op.element;
    open.op = op.op;
    open.mpi_op = op.mpi_op;
    open.lowest = ~std::uint64_t{0};
    open.born = ticks();
    open.waits_before = batched::served_waits();
    batched::opened(open.born, ticks_in(tuning::batching::kOldNs));
    open_.add(1);
    count(batched::waiting.number, 1);
  }
  const auto bytes = static_cast<std::uint32_t>(op.range.bytes);
  // Two gets may read the same location: it is there once. Of the others, make_room() has asked.
  if (open.tracked && (op.kind != BatchKind::get ||
                       open.locations->find(op.range.begin, bytes) == batch::LocationSet::kNone))
    open.locations->add(op.range.begin, bytes);
  append(open, op.range.begin, bytes, op.place, op.data);
  lower(open, op.range.begin, op.disp, op.low);
}

/// From now on, the locations of batched gets are known.
void Batching::track(OpenBatch& open) {
  if (open.tracked) return;
  open.locations->clear();
  const auto& begins = open.buffer->begins();
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::uint32_t bytes = open.buffer->length_of(static_cast<std::uint32_t>(i));
    if (open.locations->find(begins[i], bytes) != batch::LocationSet::kNone) continue;
    open.locations->add(begins[i], bytes);
  }
  open.tracked = true;
}

/// Sends the batches that have to go before an operation, since they touch what it touches, or may.
/// `joins`: it would be in one of them, of which make_room() takes care.
void Batching::order(BatchTarget& t, const SmallOperation& op, bool joins) {
  if (HOB_LIKELY(open_.get() == 0)) return;
  const std::size_t own = slot_of(op.kind);
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    OpenBatch& open = t.open[slot];
    if (!open.buffer) continue;
    if (op.range.bytes != 0) {
      if (slot == own && joins) continue;
      if (slot == kGets && op.kind == BatchKind::get) continue;
      if (slot == kGets) track(open);
      if (open.locations->find(op.range.begin, op.range.bytes) == batch::LocationSet::kNone)
        continue;
    }
    ++stats_.closed;
    send(t, op.target, slot);
  }
}

/// An operation that is not batched.
int Batching::native(const SmallOperation& small, const rma::Op& op) {
  BatchTarget* const t = at(op.target);
  if (!t) return next_.issue(op);
  start_tracking();
  order(*t, small, false);
  const std::size_t slot = slot_of(small.kind);
  const auto kind = static_cast<std::size_t>(small.kind);
  t->clean = false;
  if (small.kind == BatchKind::get || small.kind == BatchKind::fetch) t->brings = true;
  const bool timed =
      !options_.forced && small.batchable &&
      (t->bursts[slot].length() <= tuning::batching::kLeast || trials_[kind].timing());
  const std::uint64_t start = timed ? ticks() : 0;
  const int result = next_.issue(op);
  Interval& interval = interval_[kind];
  if (timed && small.requested && interval.requested == 0) interval.requested = start;
  ++interval.operations;
  if (timed) {
    const std::uint64_t spent = ticks() - start;
    ++interval.timed;
    interval.ticks += spent;
    t->issue[slot] = std::min(t->issue[slot], spent);
    trials_[kind].issued_natively(spent);
    savings_[kind].issued(spent);
  }
  if (result != MPI_SUCCESS) return result;
  if (small.range.bytes != 0 && t->epoch != epoch_) {
    t->epoch = epoch_;
    t->locked = false;
  }
  // Requests are for targets that are locked, says MPI.
  if (small.range.bytes != 0 && small.requested) t->locked = true;
  ++t->outstanding;
  ask_for_completion(*t);
  if (HOB_UNLIKELY(is_sampled(small))) continue_sample(*t, small);
  return result;
}

int Batching::issue(const rma::Op& op) {
  if (HOB_LIKELY(only_counts())) return next_.issue(op);
  const Bounded guard(*this, op.target);
  if (joins(op)) return MPI_SUCCESS;
  const SmallOperation small = described(op);
  if (small.batchable && add_to_batch(small, op)) return MPI_SUCCESS;
  return native(small, op);
}

}  // namespace hob::mpi
