// The receives of the program: blocking, nonblocking, persistent.
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::p2p {
namespace {

/// A call of the program, under way.
struct Call {
  const Buffer& buffer;
  const Wanted& wanted;
  std::unique_lock<Gate> guard;
  Channel* channel;
};

/// Longest time, in ticks, of a probe that searched no long queue, for a receive of so many bytes.
double fast_probe(double bytes) {
  return tuning::matching::kSlowProbeSteps * takeover().costs.step +
         tuning::matching::kSlowProbeNsPerByte * bytes * ticks_per_nanosecond();
}

/// The same of posting the receive. A long one counts as fast only where its message was not copied
/// meanwhile, since copying takes as long as searching a long queue.
double fast_start(double bytes) {
  const bool hides_search = bytes > tuning::matching::kLongToProbe;
  const double copying = hides_search ? 0 : tuning::matching::kCopyNsPerByte * bytes;
  return tuning::matching::kSlowSearchSteps * takeover().costs.step +
         copying * ticks_per_nanosecond();
}

/// Posts a nonblocking receive with the library. Its time, or that of a probe before it, shows how
/// many unexpected messages the library searches (match::SearchTimer).
int start_with_library(const Call& call, MPI_Request* request) {
  Channel& channel = *call.channel;
  const bool timed = channel.times_receives();
  channel.timer.started(static_cast<std::uint64_t>(call.buffer.count));
  const int size = timed ? predefined_size(call.buffer.type) : -1;
  if (size < 0) return native_start(call.buffer, call.wanted, request);
  const double bytes = static_cast<double>(call.buffer.count) * size;
  const bool is_long = bytes > tuning::matching::kLongToCopy;
  const bool probes = is_long && channel.timer.probes();
  const double allowed = probes ? fast_probe(bytes) : fast_start(bytes);
  const std::uint64_t before = ticks();
  int error = MPI_SUCCESS, flag = 0;
  if (probes)
    real::Iprobe(call.wanted.source, call.wanted.tag, call.wanted.comm, &flag, MPI_STATUS_IGNORE);
  else
    error = native_start(call.buffer, call.wanted, request);
  const double took = static_cast<double>(ticks() - before);
  if (probes) error = native_start(call.buffer, call.wanted, request);
  if (error != MPI_SUCCESS || took < allowed)
    channel.timer.was_fast(is_long);
  else if (is_long && !probes)
    channel.timer.was_unclear();
  else if (channel.timer.was_slow() && end_direct_calls(channel))
    channel.timer.emptied(empty_library(channel));
  return error;
}

/// While a blocking receive waits, a function of the program's that the library calls may end the
/// call by an exception. By longjmp, too, for which nothing can be done but not to have it on the
/// stack.
struct UntilReceived {
  PostedReceive& receive;
  std::unique_lock<Gate>& guard;
  bool received = false;

  ~UntilReceived() {
    if (HOB_LIKELY(received)) return;
    if (!guard.owns_lock()) guard.lock();
    // One that has its message may be written to.
    if (receive.state.load(std::memory_order_relaxed) != PostedReceive::State::in_prq) return;
    withdraw(receive);
    destroy(receive);
  }
};

/// The rest of a blocking receive in the PRQ: dequeues until its message is there. Ends it.
int wait_for(PostedReceive& receive, std::unique_lock<Gate>& guard, MPI_Status* status) {
  UntilReceived waiting{receive, guard};
  const auto is_there = [&] {
    return receive.state.load(std::memory_order_acquire) == PostedReceive::State::at_library;
  };
  Pause pause;
  while (!is_there()) {
    dequeue_all();
    if (is_there()) break;
    guard.unlock();
    if (parts_under_way.load(std::memory_order_relaxed) != 0) advance();
    pause();
    guard.lock();
  }
  guard.unlock();
  int error = receive.error;
  if (error == MPI_SUCCESS && receive.native == MPI_REQUEST_NULL) {
    if (!blocking_needs_care())
      error = native_mrecv(receive.buffer, &receive.message, status);
    else
      error = native_imrecv(receive.buffer, &receive.message, &receive.native);
  }
  if (error == MPI_SUCCESS && receive.native != MPI_REQUEST_NULL)
    error = requests::wait(&receive.native, status);
  if (receive.discarded) {
    std::free(std::exchange(receive.discarded, nullptr));
    error = report_error(*receive.channel, MPI_ERR_TRUNCATE);
  }
  guard.lock();
  waiting.received = true;
  destroy(receive);
  return error;
}

// ---- Blocking receives: one function for each way that one can go.

enum class Way {
  not_served,     ///< nothing that Hob may look at
  from_umq,       ///< its message is in Hob's UMQ
  refused,        ///< the library finds fault with it
  lone,           ///< nothing else is posted before it is complete (match = always)
  through_prq,    ///< it waits in Hob's PRQ
  nonblocking,    ///< by the library, in a form in which Hob's things advance meanwhile
  native_lone,    ///< by the library, with nothing else posted
  native,         ///< by the library, which may block in it
  native_watched  ///< the same, and the instruments follow it
};

/// Which way this receive goes. `message`: from the UMQ. `error`: of Way::refused.
Way decide(Call& call, std::unique_ptr<UnexpectedMessage>& message, int& error) {
  Channel* channel = call.channel;
  if (!channel || !channel->serves(call.wanted, call.buffer)) return Way::not_served;
  if ((message = take_unexpected(*channel, call.wanted))) return Way::from_umq;
  if (!channel->blocking_goes_native()) {
    if (refused(call.buffer, call.wanted, error)) return Way::refused;
    const bool alone = channel->prq_length == 0 && channel->outstanding == 0;
    return alone && !many_threads && !blocking_needs_care() ? Way::lone : Way::through_prq;
  }
  // Another thread may begin a takeover here and dequeue this one's message, unless the library has
  // this one first.
  if (many_threads || blocking_needs_care() || channel->times_receives()) return Way::nonblocking;
  if (channel->outstanding == 0) return Way::native_lone;
  return channel->sampler.next_blocking() ? Way::native_watched : Way::native;
}

int receive_not_served(Call& call, MPI_Status* status) {
  call.guard.unlock();
  return native_receive(call.buffer, call.wanted, status);
}

int receive_through_prq(Call& call, MPI_Status* status) {
  PostedReceive* const receive = new_receive();
  if (!receive) {
    repost_natively(*call.channel);
    return receive_not_served(call, status);
  }
  receive->is_blocking = true;
  receive->bind(*call.channel, call.buffer, call.wanted);
  try {
    post_to_prq(*receive);
  } catch (const std::bad_alloc&) {
    repost_natively(*call.channel);
    destroy(*receive);
    return receive_not_served(call, status);
  }
  return wait_for(*receive, call.guard, status);
}

/// The message is there, and no other receive's.
int receive_message(Call& call, const UnexpectedMessage& message, MPI_Status* status) {
  MPI_Message handle = message.handle;
  if (too_long(call.buffer, message.status)) {
    PostedReceive* const receive = new_receive();
    if (!receive) out_of_memory();
    receive->is_blocking = true;
    receive->bind(*call.channel, call.buffer, call.wanted);
    give(*receive, handle, message.status);
    return wait_for(*receive, call.guard, status);
  }
  call.guard.unlock();
  if (!blocking_needs_care()) return native_mrecv(call.buffer, &handle, status);
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = native_imrecv(call.buffer, &handle, &request);
  return error == MPI_SUCCESS ? requests::wait(&request, status) : error;
}

int receive_from_umq(Call& call, std::unique_ptr<UnexpectedMessage> message, MPI_Status* status) {
  ++call.channel->meters.counters.immediate;
  const UnexpectedMessage copy = *message;
  recycle(std::move(message));
  return receive_message(call, copy, status);
}

/// Nothing is older, and nothing else is posted before it is complete. So its message is the first
/// that Hob dequeues and that it accepts.
int receive_lone(Call& call, MPI_Status* status) {
  Channel& channel = *call.channel;
  ++channel.meters.counters.lone;
  const bool wait_there = takeover().lone_waits_in_library || channel.asks_source;
  const UnexpectedMessage* message = nullptr;
  Pause pause;
  while (!(message = dequeue_up_to(channel, call.wanted)) && !takeover().full() && !wait_there &&
         !channel.native_only) {
    if (parts_under_way.load(std::memory_order_relaxed) != 0) {
      call.guard.unlock();
      advance();
      call.guard.lock();
    }
    pause();
  }
  if (message) {
    ++channel.meters.counters.in_prq;
    return receive_message(call, *message, status);
  }
  ++channel.meters.counters.native;
  return receive_not_served(call, status);
}

int receive_nonblocking(Call& call, MPI_Status* status) {
  Channel& channel = *call.channel;
  ++channel.meters.counters.native;
  if (!many_threads && channel.outstanding == 0) ++channel.meters.counters.lone;
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = start_with_library(call, &request);
  if (many_threads) grant_fast_path(channel);
  call.guard.unlock();
  return error == MPI_SUCCESS ? requests::wait(&request, status) : error;
}

int receive_natively(Call& call, bool lone, MPI_Status* status) {
  Channel& channel = *call.channel;
  channel.started_natively(call.buffer.count);
  if (lone)
    ++channel.meters.counters.lone;
  else
    channel.policy.searched(1, channel.outstanding);
  grant_fast_path(channel);
  call.guard.unlock();
  return native_receive(call.buffer, call.wanted, status);
}

int receive_watched(Call& call, MPI_Status* status) {
  Channel& channel = *call.channel;
  match::DepthMeter::Ticket ticket = 0;
  if (!channel.meters.append_posted(ticket)) return receive_natively(call, false, status);
  channel.started_natively(call.buffer.count);
  channel.meters.wait(channel.at_library() + 1);
  channel.policy.searched(1, channel.outstanding);
  ++channel.references;
  call.guard.unlock();
  const int error = native_receive(call.buffer, call.wanted, status);
  call.guard.lock();
  channel.meters.posted.match(ticket);
  drop_reference(channel);
  return error;
}

// ---- Nonblocking receives.

/// The message is there. Only one that is too long needs anything of Hob's.
int start_from_umq(Call& call, std::unique_ptr<UnexpectedMessage> message, MPI_Request* request) {
  ++call.channel->meters.counters.immediate;
  int error = MPI_SUCCESS;
  if (too_long(call.buffer, message->status)) {
    PostedReceive* receive = new_receive();
    if (!receive) out_of_memory();
    receive->bind(*call.channel, call.buffer, call.wanted);
    give(*receive, message->handle, message->status);
    try {
      *request = requests::add(*receive);
    } catch (const std::bad_alloc&) {
      out_of_memory();
    }
  } else {
    error = native_imrecv(call.buffer, &message->handle, request);
  }
  recycle(std::move(message));
  return error;
}

/// False: there is no memory, and nothing of this channel is in the PRQ any more.
bool start_in_prq(Call& call, MPI_Request* request) {
  PostedReceive* receive = new_receive();
  if (!receive) {
    repost_natively(*call.channel);
    return false;
  }
  receive->bind(*call.channel, call.buffer, call.wanted);
  receive->keep_type();
  bool posted = false;
  try {
    post_to_prq(*receive);
    posted = true;
    *request = requests::add(*receive);
    return true;
  } catch (const std::bad_alloc&) {
    if (posted) withdraw(*receive);
    destroy(*receive);
    repost_natively(*call.channel);
    return false;
  }
}

int start_natively(Call& call, MPI_Request* request) {
  Channel& channel = *call.channel;
  ++channel.meters.counters.native;
  const int error = start_with_library(call, request);
  if (error != MPI_SUCCESS) return error;
  if (many_threads && channel.uncounted) {
    grant_fast_path(channel);
    return MPI_SUCCESS;
  }
  using Metering = match::Sampler::Metering;
  const Metering metering = channel.sampler.next();
  match::DepthMeter::Ticket ticket = 0;
  try {
    if (metering == Metering::fully && channel.meters.append_posted(ticket)) {
      channel.posted_at_library();
      ++channel.references;
      requests::watch(*request, channel, ticket);
      return MPI_SUCCESS;
    }
    if (metering == Metering::sentinel) {
      ++channel.references;
      requests::watch(*request, channel.post_sentinel(), 0);
      channel.meters.wait(channel.at_library());
    }
  } catch (const std::bad_alloc&) {
    // No caller learns of its end.
    if (metering == Metering::fully)
      channel.completed(ticket, true);
    else
      channel.sentinel_completed();
  }
  grant_fast_path(channel);
  return MPI_SUCCESS;
}

}  // namespace

int receive(const Buffer& buffer, const Wanted& wanted, MPI_Status* status) {
  report_if_due();
  if (HOB_UNLIKELY(many_threads) && left(wanted.comm) && !blocking_needs_care()) {
    const Blocking blocking;
    return native_receive(buffer, wanted, status);
  }
  Call call{buffer, wanted, std::unique_lock(gate), nullptr};
  settle_fast_path();
  call.channel = channel_of(wanted.comm);
  std::unique_ptr<UnexpectedMessage> message;
  int error = MPI_SUCCESS;
  switch (decide(call, message, error)) {
    case Way::from_umq:
      return receive_from_umq(call, std::move(message), status);
    case Way::refused:
      return error;
    case Way::lone:
      return receive_lone(call, status);
    case Way::through_prq:
      return receive_through_prq(call, status);
    case Way::nonblocking:
      return receive_nonblocking(call, status);
    case Way::native_lone:
      return receive_natively(call, true, status);
    case Way::native:
      return receive_natively(call, false, status);
    case Way::native_watched:
      return receive_watched(call, status);
    case Way::not_served:
      break;
  }
  return receive_not_served(call, status);
}

int start_receive(const Buffer& buffer, const Wanted& wanted, MPI_Request* request) {
  report_if_due();
  Call call{buffer, wanted, std::unique_lock(gate), nullptr};
  settle_fast_path();
  call.channel = channel_of(wanted.comm);
  if (!call.channel || !request || !call.channel->serves(wanted, buffer))
    return native_start(buffer, wanted, request);
  if (std::unique_ptr<UnexpectedMessage> message = take_unexpected(*call.channel, wanted))
    return start_from_umq(call, std::move(message), request);
  if (call.channel->begins_takeover()) {
    if (int error = MPI_SUCCESS; refused(buffer, wanted, error)) return error;
    if (start_in_prq(call, request)) return MPI_SUCCESS;
  }
  return start_natively(call, request);
}

/// Communicators of a session get theirs when they are made.
static void note_error_handler(MPI_Comm comm) {
  if (!library::kTraits.frees_failed_requests) return;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (real::Comm_get_errhandler(comm, &handler) != MPI_SUCCESS) return;
  context().note_error_handler(handler);
  real::Errhandler_free(&handler);
}

int make_persistent(const Buffer& buffer, const Wanted& wanted, MPI_Request* request) {
  const int error = native_persistent(buffer, wanted, request);
  if (error != MPI_SUCCESS) return error;
  const std::lock_guard guard(gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || channel->native_only || !channel->serves(wanted, buffer)) return MPI_SUCCESS;
  PostedReceive* receive = new_receive();
  if (!receive) return MPI_SUCCESS;  // it stays the library's alone
  receive->bind(*channel, buffer, wanted);
  receive->keep_type();
  receive->is_persistent = true;
  receive->persistent_native = *request;
  try {
    requests::start_through(*request, *receive);
    note_error_handler(wanted.comm);
  } catch (const std::bad_alloc&) {
    destroy(*receive);
  }
  return MPI_SUCCESS;
}

}  // namespace hob::mpi::p2p
