// What a receive of the program does with Hob's queues.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "mpi/p2p/matcher.hpp"
#include "mpi/p2p/posted_receive.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::p2p {

bool PostedReceive::awaited() {
  if (takeover().few != 0 && state.load(std::memory_order_acquire) == State::in_prq) {
    const std::lock_guard guard(gate);
    repost_few(*channel);
  }
  is_awaited.store(true, std::memory_order_relaxed);
  return true;
}

void PostedReceive::cancel() {
  const std::lock_guard guard(gate);
  const State now = state.load(std::memory_order_acquire);
  if (now == State::in_prq) {
    withdraw(*this);
    status = requests::empty_status();
    real::Status_set_cancelled(&status, 1);
    state.store(State::complete, std::memory_order_release);
    requests::signal(*this);
  } else if (now == State::at_library && counts_outstanding) {
    real::Cancel(&native);
  }
}

/// MPI_Start of a persistent receive.
int PostedReceive::start() {
  const std::lock_guard guard(gate);
  const int result = start_receiving();
  if (result == MPI_SUCCESS) requests::now_active(*this);
  return result;
}

int PostedReceive::start_receiving() {
  settle_fast_path();
  error = MPI_SUCCESS;
  is_unreported = false;
  native = MPI_REQUEST_NULL;
  std::free(discarded);
  discarded = nullptr;
  if (std::unique_ptr<UnexpectedMessage> found = take_unexpected(*channel, wanted)) {
    ++channel->meters.counters.immediate;
    give(*this, found->handle, found->status);
    recycle(std::move(found));
    return MPI_SUCCESS;
  }
  if (channel->begins_takeover()) {
    try {
      post_to_prq(*this);
      return MPI_SUCCESS;
    } catch (const std::bad_alloc&) {
      repost_natively(*channel);  // older ones must not stay behind
    }
  }
  const int result = real::Start(&persistent_native);
  if (result != MPI_SUCCESS) return result;
  native = persistent_native;
  ++channel->meters.counters.native;
  if (channel->sampler.next() == match::Sampler::Metering::fully &&
      channel->meters.append_posted(ticket)) {
    channel->posted_at_library();
    counts_outstanding = is_metered = true;
  } else {
    counts_as_outstanding(false);
  }
  // `rest` stays null: a wait does not take a persistent request away.
  state.store(State::at_library, std::memory_order_release);
  requests::signal(*this);
  return MPI_SUCCESS;
}

}  // namespace hob::mpi::p2p
