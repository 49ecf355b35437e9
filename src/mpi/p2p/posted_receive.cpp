#include "mpi/p2p/posted_receive.hpp"

#include <cstdlib>
#include <mutex>
#include <new>

#include "mpi/p2p/library.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::p2p {
PostedReceive* new_receive() {
  PostedReceive* receive = matching.free_receives;
  if (!receive) return new (std::nothrow) PostedReceive;
  matching.free_receives = receive->next_free;
  return receive;
}

void destroy(PostedReceive& receive) {
  requests::end_signal(receive);
  if (receive.owns_type) real::Type_free(&receive.buffer.type);
  Channel& channel = *receive.channel;
  if (HOB_UNLIKELY(receive.discarded != nullptr)) {
    std::free(receive.discarded);
    receive.discarded = nullptr;
  }
  receive.owns_type = receive.is_persistent = receive.is_abandoned = receive.is_blocking = false;
  receive.is_awaited.store(false, std::memory_order_relaxed);
  receive.stands_behind = false;
  receive.native = receive.persistent_native = MPI_REQUEST_NULL;
  receive.rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
  receive.state.store(PostedReceive::State::inactive, std::memory_order_relaxed);
  receive.next_free = matching.free_receives;
  matching.free_receives = &receive;
  drop_reference(channel);
}

int report_error(const Channel& channel, int error) {
  real::Comm_call_errhandler(channel.gone ? MPI_COMM_WORLD : channel.comm, error);
  return error;
}

void PostedReceive::bind(Channel& to, const Buffer& into, const Wanted& from) {
  channel = &to;
  buffer = into;
  wanted = from;
  room = room_of(into);
  error = MPI_SUCCESS;
  is_unreported = false;
  ++to.references;
}

void PostedReceive::keep_type() {
  if (predefined_size(buffer.type) >= 0) return;
  real::Type_dup(buffer.type, &buffer.type);
  owns_type = true;
}

void PostedReceive::now_at_library() {
  is_unreported = error != MPI_SUCCESS && channel->errors_return;
  if (is_abandoned) {
    discarded = nullptr;  // it may still be written to
    if (native != MPI_REQUEST_NULL) real::Request_free(&native);
    destroy(*this);
    return;
  }
  // First, since who finds it at the library may complete it. To retire it, one has to have the
  // gate.
  if (HOB_LIKELY(error == MPI_SUCCESS && !discarded)) rest.store(native, std::memory_order_release);
  state.store(State::at_library, std::memory_order_release);
  if (HOB_LIKELY(!is_blocking)) requests::signal(*this);
}

void PostedReceive::counts_as_outstanding(bool metered) {
  ++channel->outstanding;
  channel->meters.wait(channel->at_library());
  channel->sampler.known(channel->outstanding);
  counts_outstanding = true;
  is_metered = metered;
}

bool PostedReceive::ready() {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::complete) return true;
  if (now != State::at_library) return false;
  if (error == MPI_SUCCESS) {
    int flag = 0;
    status.MPI_ERROR = MPI_SUCCESS;
    const bool was_persistent = native == persistent_native;
    error = real::Test(&native, &flag, &status);
    if (!flag && error == MPI_SUCCESS) return false;
    rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
    // Open MPI frees even a persistent request that has failed, so the program's handle ends, too.
    if (was_persistent && native == MPI_REQUEST_NULL) is_persistent = false;
    if (discarded) error = report_error(*channel, MPI_ERR_TRUNCATE);
  } else if (is_unreported) {
    is_unreported = false;
    report_error(*channel, error);
  }
  state.store(State::complete, std::memory_order_release);
  return true;
}

int PostedReceive::result(MPI_Status* to) {
  requests::copy_status(status, to);
  return error;
}

/// If it went to the library, `heard`: or the program does not want to know what becomes of it.
void PostedReceive::no_longer_outstanding(bool heard) {
  if (std::exchange(is_sentinel, false)) channel->sampler.sentinel_completed();
  if (!counts_outstanding) return;
  counts_outstanding = false;
  --channel->outstanding;
  if (const std::uint64_t longest = channel->sampler.completed(channel->outstanding); longest != 0)
    channel->policy.phase_ended(longest);
  if (!is_metered) return;
  is_metered = false;
  if (heard)
    channel->meters.posted.match(ticket);
  else
    channel->meters.posted.withdraw(ticket);
}

void PostedReceive::retire() {
  // With one thread, what the gate keeps out are calls from within the library, and none is made.
  std::unique_lock guard(gate, std::defer_lock);
  if (HOB_UNLIKELY(many_threads || owns_type)) guard.lock();
  no_longer_outstanding(true);
  if (is_persistent) {
    rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
    state.store(State::inactive, std::memory_order_release);
    requests::end_signal(*this);
    requests::now_inactive(*this);
  } else {
    if (persistent_native != MPI_REQUEST_NULL) requests::no_longer_start_through(persistent_native);
    destroy(*this);
  }
}

void PostedReceive::abandon() {
  const std::lock_guard guard(gate);
  no_longer_outstanding(false);
  const State now = state.load(std::memory_order_acquire);
  if (now == State::in_prq) {
    is_abandoned = true;
    return;
  }
  // What is being discarded goes on being written to; the program has given up on it.
  if (now == State::at_library) discarded = nullptr;
  // A persistent request's own handle is freed by the caller.
  if (now == State::at_library && native != MPI_REQUEST_NULL && native != persistent_native)
    real::Request_free(&native);
  destroy(*this);
}

}  // namespace hob::mpi::p2p
