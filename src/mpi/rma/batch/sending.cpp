// How batches go out.
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
#include "mpi/progress/batched.hpp"
#include "mpi/rma/batch/batching.hpp"
#include "mpi/rma/batch/indexed.hpp"

namespace hob::mpi {
namespace {

/// What goes out from operation `number` on.
TypedBuffer outgoing(const OpenBatch& open, batch::OperationBuffer& buffer, std::uint32_t number,
                     MPI_Count count, MPI_Datatype type) {
  return {open.kind == BatchKind::get ? nullptr : buffer.data_of(number), count, type};
}

}  // namespace

/// Whether so few operations go out one by one: a datatype would cost more.
bool Batching::singly(const OpenBatch& open, const batch::OperationBuffer& buffer,
                      int target) const {
  if (buffer.operations() >= (options_.forced ? 2 : tuning::batching::kFewest)) return false;
  const auto unit = static_cast<std::uint64_t>(units_.of(target));
  if (unit == 0 || open.lowest_low != 0) return false;
  return std::all_of(buffer.begins().begin(), buffer.begins().end(),
                     [unit](std::uint64_t begin) { return begin % unit == 0; });
}

int Batching::issue_singly(const OpenBatch& open, SentBatch& sent, int target) {
  batch::OperationBuffer& buffer = *sent.buffer;
  const auto unit = static_cast<std::uint64_t>(units_.of(target));
  const Unit of = open.kind == BatchKind::get || open.kind == BatchKind::put
                      ? widest_unit(buffer)
                      : Unit{type_of(open.element), open.element.bytes};
  int first_error = MPI_SUCCESS;
  for (std::uint32_t i = 0; i < buffer.operations(); ++i) {
    std::byte* const place = buffer.place_of(i);
    if (open.kind == BatchKind::get && !place) continue;  // discarded
    BatchedGet** const get = requested_as(sent, i);
    const auto count = static_cast<MPI_Count>(buffer.length_of(i) / of.bytes);
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = next_.issue({.kind = op_kind_of(open.kind),
                                   .target = target,
                                   .disp = static_cast<MPI_Aint>(buffer.begins()[i] / unit),
                                   .target_count = count,
                                   .target_type = of.type,
                                   .result = {place, count, of.type},
                                   .request = get ? &request : nullptr,
                                   .origin = outgoing(open, buffer, i, count, of.type),
                                   .operation = open.mpi_op});
    if (get && error == MPI_SUCCESS) std::exchange(*get, nullptr)->issued_alone(request);
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
  batch::OperationBuffer& buffer = *sent.buffer;
  const bool atomic = slot_of(open.kind) == kAtomics;
  const Unit unit = atomic ? Unit{type_of(open.element), open.element.bytes} : widest_unit(buffer);
  const IndexedType there(buffer, open.lowest - static_cast<std::uint64_t>(open.lowest_low),
                          unit.type, unit.bytes);
  if (!there.good()) return MPI_ERR_INTERN;
  ++stats_.batches;
  const auto count = static_cast<MPI_Count>(buffer.bytes() / unit.bytes);
  const bool brings = open.kind == BatchKind::get || open.kind == BatchKind::fetch;
  // A get may be issued once more, alone (issue_alone()), and the program use its buffer again.
  sent.delivers = brings && (!buffer.consecutive() || !sent.requested.empty());
  std::byte* const results = !brings         ? nullptr
                             : sent.delivers ? buffer.results()
                                             : buffer.first_place();
  return next_.issue({.kind = op_kind_of(open.kind),
                      .target = target,
                      .disp = open.lowest_disp,
                      .target_count = 1,
                      .target_type = there.get(),
                      .result = {results, count, unit.type},
                      .origin = outgoing(open, buffer, 0, count, unit.type),
                      .operation = open.mpi_op});
}

int Batching::issue_batch(const OpenBatch& open, SentBatch& sent, int target) {
  if (singly(open, *sent.buffer, target)) return issue_singly(open, sent, target);
  return issue_indexed(open, sent, target);
}

void Batching::send(BatchTarget& t, int target, std::size_t slot) {
  OpenBatch& open = t.open[slot];
  if (!open.buffer) return;
  t.sent.emplace_back();
  SentBatch& sent = t.sent.back();
  sent.buffer = std::move(open.buffer);
  sent.requested.swap(open.requested);
  if (slot != kGets)
    t.bursts[slot].sent(sent.buffer->operations(), open.waits_before != batched::served_waits(),
                        tuning::batching::kLeast);
  // The program has waited for what it asked for, or its batch was long.
  if (!sent.requested.empty() &&
      !t.bursts[slot].complete_by_wait(sent.buffer->operations(), tuning::batching::kLeast) &&
      open.kind == BatchKind::get)
    batched_gets_.batched.set(false);
  t.alike.joins = false;
  waiting_ -=
      sent.buffer->bytes() + sent.buffer->operations() * tuning::batching::kBytesOfOperation;
  sent.number = ++sent_;
  sent.brings = open.kind == BatchKind::get || open.kind == BatchKind::fetch;
  pool_.give_back(std::move(open.locations));
  open_.add(std::size_t(-1));
  count(batched::waiting.number, -1);
  t.outstanding += tuning::batching::kPriceOfBatch;
  const auto hold = [&] {
    sent.held = sizeof sent + sent.buffer->memory_bytes();
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
    const int error = issue_batch(open, sent, target);
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

/// What has waited for long goes out.
void Batching::send_old(BatchTarget& t, int target, std::uint64_t now) {
  const std::uint64_t old = ticks_in(tuning::batching::kOldNs);
  for (std::size_t slot = 0; slot < kSlots; ++slot)
    if (t.open[slot].buffer && now - t.open[slot].born > old) send(t, target, slot);
}

void Batching::send_waiting(bool all) {
  const std::lock_guard guard(lock_);
  if (all) return send_everything();
  if (open_.get() == 0) return;
  const std::uint64_t now = ticks();
  for (auto& [target, t] : targets_) send_old(t, target, now);
}

void Batching::send_without_handlers() {
  if (open_.get() == 0) return;
  const std::lock_guard guard(lock_);
  const ErrorsReturned errors(MPI_COMM_NULL, window_.handle);
  const std::uint64_t now = ticks();
  for (auto& [target, t] : targets_) {
    const bool had_error = t.error != MPI_SUCCESS;
    send_old(t, target, now);
    if (!had_error && t.error != MPI_SUCCESS) t.unreported = true;
  }
}

/// An error of send_quietly() reaches the program. What the call that completes returns.
int Batching::report_error(int error) const {
  real::Win_call_errhandler(window_.handle, error);
  return after_handler(window_.handle, error);
}

/// What the batch of such a get brings is not used for it.
void Batching::discard(BatchTarget& t, BatchedGet& get) {
  get.buffer().discard(get.number());
  const auto forget = [&get](std::vector<BatchedGet*>& requested) {
    std::replace(requested.begin(), requested.end(), &get, static_cast<BatchedGet*>(nullptr));
  };
  forget(t.open[kGets].requested);
  for (SentBatch& sent : t.sent) forget(sent.requested);
}

int Batching::complete_batch_of(BatchedGet& get) {
  const int target = get.target();
  const int error = complete_one(rma::Sync::flush(target));
  if (error == MPI_SUCCESS) return error;
  const std::lock_guard guard(lock_);
  if (get.waits()) discard(targets_.at(target), get);
  return error;
}

void Batching::issue_alone(BatchedGet& get) {
  const std::lock_guard guard(lock_);
  BatchTarget& t = targets_.at(get.target());
  const batch::OperationBuffer& buffer = get.buffer();
  const auto disp = static_cast<MPI_Aint>(buffer.begins()[get.number()] /
                                          static_cast<std::uint64_t>(units_.of(get.target())));
  const auto bytes = static_cast<MPI_Count>(buffer.length_of(get.number()));
  std::byte* const place = buffer.place_of(get.number());
  discard(t, get);
  requests_skipped_ = next_skipped_.next();
  t.clean = false;
  t.brings = true;
  ++t.outstanding;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = next_.issue(
      rma::Op::get(place, bytes, MPI_BYTE, get.target(), disp, bytes, MPI_BYTE, &request));
  if (error == MPI_SUCCESS)
    get.issued_alone(request);
  else
    get.arrived(error);
}

}  // namespace hob::mpi
