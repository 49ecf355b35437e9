// What a receive of the program does with Hob's queues.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "mpi/core/context.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/p2p/posted_receive.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::p2p {
namespace {

/// Whether the library may free a persistent request, which then must be seen.
bool may_be_freed() {
  return library::kTraits.frees_failed_requests &&
         context().errors_may_return.load(std::memory_order_relaxed);
}

}  // namespace

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
  } else if (now == State::at_library &&
             (counts_outstanding || (is_persistent && native == persistent_native))) {
    real::Cancel(&native);
  }
}

/// A persistent receive is the library's own, as an MPI_Irecv, unless a message is to be
/// dequeued for it or it is to be metered.
bool PostedReceive::leaves_start() {
  // The handle of a communicator that is gone may be another one's by now.
  if (!stands_behind && !many_threads && !channel->gone && !may_be_freed() &&
      fast_path.start(buffer.count, wanted.source, wanted.comm))
    return true;
  const std::lock_guard guard(gate);
  settle_fast_path();
  metering = match::Sampler::Metering::no;
  if (channel->umq_length != 0 || channel->begins_takeover()) return false;
  metering = channel->sampler.next();
  if (metering != match::Sampler::Metering::no || may_be_freed()) return false;
  if (std::exchange(stands_behind, false)) requests::withdraw(persistent_native);
  channel->started_natively(buffer.count);
  if (!channel->gone) grant_fast_path(*channel);
  return true;
}

int PostedReceive::start() {
  const std::lock_guard guard(gate);
  if (!stand_behind_handle()) return real::Start(&persistent_native);
  const int result = start_receiving();
  if (result == MPI_SUCCESS) requests::now_active(*this);
  return result;
}

/// False: there is no memory, and nothing of this channel is in the PRQ any more.
bool PostedReceive::stand_behind_handle() {
  if (stands_behind) return true;
  try {
    requests::stand_behind(persistent_native, *this);
    return stands_behind = true;
  } catch (const std::bad_alloc&) {
    if (channel->umq_length != 0) out_of_memory();  // its message may be there
    repost_natively(*channel);
    return false;
  }
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
  return start_at_library();
}

int PostedReceive::start_at_library() {
  using Metering = match::Sampler::Metering;
  const int result = real::Start(&persistent_native);
  if (result != MPI_SUCCESS) return result;
  native = persistent_native;
  channel->started_natively(buffer.count);
  if (metering == Metering::fully && channel->meters.append_posted(ticket)) {
    channel->posted_at_library();
    counts_outstanding = is_metered = true;
  } else if (metering == Metering::sentinel) {
    channel->sampler.sentinel_posted();
    channel->meters.wait(channel->at_library());
    is_sentinel = true;
  }
  if (!channel->gone) grant_fast_path(*channel);
  // `rest` stays null: a wait does not take a persistent request away.
  state.store(State::at_library, std::memory_order_release);
  requests::signal(*this);
  return MPI_SUCCESS;
}

}  // namespace hob::mpi::p2p
