#include "mpi/p2p/matcher.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/end_job.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/workarounds/partitioned_announcements.hpp"
#include "mpi/workarounds/probe_by_source.hpp"
#include "pay/price.hpp"

namespace hob::mpi::p2p {
namespace {

/// The strategy in use has no room for what is to be queued (match::Strategy::lla): the default,
/// which has, takes over its queues.
void use_default_strategy() {
  match::Config config;
  config.observer = heating::observer();
  std::unique_ptr<match::Engine> other = match::make_engine(config);
  for (const Channel* channel : all_channels()) {
    std::vector<match::Posted> receives;
    matcher().engine->posted(channel->context, receives);
    for (const match::Posted& posted : receives)
      static_cast<PostedReceive*>(posted.request)->place =
          other->post(posted.want, posted.request).handle;
    std::vector<match::Unexpected> messages;
    matcher().engine->unexpected(channel->context, messages);
    for (const match::Unexpected& message : messages)
      other->arrive(message.envelope, message.message);
  }
  matcher().engine = std::move(other);
  note(
      fmt::format("match_strategy = {} had no room for all communicators or ranks: the default "
                  "took its place",
                  context().settings.match_strategy));
}

/// What `call` gives of the engine, which has room for it.
template <class Call>
auto with_room(Call&& call) {
  try {
    return call(*matcher().engine);
  } catch (const std::length_error&) {
    use_default_strategy();
    return call(*matcher().engine);
  }
}

/// Of the receives in the PRQ, the share that the library would search for a message.
double searched_share(const Channel& channel, int source) {
  if (!library::kTraits.receives_by_source) return 1;
  return channel.prq_sources.of_message(source, channel.prq_length);
}

/// The receive left the PRQ.
void left_prq(PostedReceive& receive) {
  Channel& channel = *receive.channel;
  Matcher& m = matcher();
  channel.prq_sources.remove(channel.envelope(receive.wanted.source, 0).source);
  if (--channel.prq_length == 0) {
    m.active[channel.active_place] = m.active.back();
    m.active[channel.active_place]->active_place = channel.active_place;
    m.active.pop_back();
  }
  if (!receive.is_blocking && --m.pending == 0) none_under_way();
}

/// Objects are kept: a second flood finds the memory of the first. Null without memory.
std::unique_ptr<UnexpectedMessage> new_message() {
  Matcher& m = matcher();
  if (m.free_messages.empty())
    return std::unique_ptr<UnexpectedMessage>(new (std::nothrow) UnexpectedMessage);
  std::unique_ptr<UnexpectedMessage> message = std::move(m.free_messages.back());
  m.free_messages.pop_back();
  return message;
}

/// What the library keeps of a message that is not received yet: the whole of a short one.
std::uint64_t kept_bytes(const MPI_Status& status) {
  int bytes = 0;
  const int error = real::Get_count(&status, MPI_BYTE, &bytes);
  const bool here = error == MPI_SUCCESS && bytes > 0 && bytes <= tuning::matching::kLongestEager;
  return here ? static_cast<std::uint64_t>(bytes) : 0;
}

void add(std::atomic<std::uint64_t>& sum, std::uint64_t more) {
  sum.store(sum.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

/// Takes one message that has come from the library, where Hob has to ask first who sent it.
/// Messages come in bursts: so it looks for one more of the last one's sender before, but lets the
/// others have their turn.
bool improbe_asking(Channel& channel, UnexpectedMessage& next) {
  Wanted wanted{MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm};
  const bool guesses = channel.guesses != 0;
  if (guesses) {
    wanted.source = channel.likely_source;
    --channel.guesses;
  }
  int flag = 0;
  const int error = improbe(channel, wanted, &flag, &next.handle, &next.status);
  if (HOB_UNLIKELY(error != MPI_SUCCESS)) leave_to_library(channel);
  if (error != MPI_SUCCESS || !flag) {
    channel.guesses = 0;
    return false;
  }
  if (!guesses) {
    channel.likely_source = next.status.MPI_SOURCE;
    channel.guesses = tuning::matching::kGuesses;
  }
  return true;
}

/// The library announces partitioned transfers on the program's communicators: from the first
/// message that may be such an announcement on, nothing more is dequeued here.
bool improbe_wary(Channel& channel, UnexpectedMessage& next) {
  Wanted wanted{MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm};
  int flag = 0;
  int error = real::Iprobe(wanted.source, wanted.tag, channel.comm, &flag, &next.status);
  if (error == MPI_SUCCESS && flag && !looks_like_announcement(next.status)) {
    wanted.source = next.status.MPI_SOURCE;
    wanted.tag = next.status.MPI_TAG;
    error = improbe(channel, wanted, &flag, &next.handle, &next.status);
  } else if (error == MPI_SUCCESS && flag) {
    leave_to_library(channel);
    return false;
  }
  if (HOB_UNLIKELY(error != MPI_SUCCESS)) leave_to_library(channel);
  return error == MPI_SUCCESS && flag;
}

bool improbe_any(Channel& channel, UnexpectedMessage& next) {
  if (HOB_UNLIKELY(takeover().sees_announcements)) return improbe_wary(channel, next);
  if (HOB_UNLIKELY(channel.asks_source)) return improbe_asking(channel, next);
  int flag = 0;
  const int error =
      real::Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm, &flag, &next.handle, &next.status);
  // A peer failed, or the communicator was revoked: each receive hears of it from the library.
  if (HOB_UNLIKELY(error != MPI_SUCCESS)) leave_to_library(channel);
  return error == MPI_SUCCESS && flag;
}

void follow(double& estimate, double timing) {
  estimate = pay::towards(estimate, timing, tuning::matching::kTimings);
}

/// As improbe_any(), and its time is part of what dequeues cost: what it takes more than a look in
/// vain, which the library's own waits take, too.
bool improbe_timed(Channel& channel, UnexpectedMessage& next) {
  const std::uint64_t before = ticks();
  const bool found = improbe_any(channel, next);
  const auto took = static_cast<double>(ticks() - before);
  if (found)
    follow(takeover().costs.dequeue, std::max(took - takeover().vain_poll, 0.0) +
                                         tuning::matching::kOwnSteps * takeover().costs.step);
  else
    follow(takeover().vain_poll, took);
  return found;
}

/// Takes one message that has come from the library, into Matcher::spare. Null if none was found.
UnexpectedMessage* next_message(Channel& channel) {
  Matcher& m = matcher();
  if (HOB_UNLIKELY(!m.spare && !(m.spare = new_message()))) {
    repost_natively(channel);
    return nullptr;
  }
  UnexpectedMessage& next = *m.spare;
  const bool timed = m.dequeued % tuning::matching::kDequeuesPerTiming == 0;
  if (!(timed ? improbe_timed(channel, next) : improbe_any(channel, next))) return nullptr;
  ++m.dequeued;
  ++channel.meters.counters.dequeued;
  own_progress.messages_found.store(own_progress.messages_found.load(std::memory_order_relaxed) + 1,
                                    std::memory_order_relaxed);
  heating::note_communication();
  return &next;
}

/// A message found this receive, which was in the PRQ.
void match_posted(Channel& channel, PostedReceive& receive, const UnexpectedMessage& message) {
  const double share = searched_share(channel, message.status.MPI_SOURCE);
  // Watched receives at the library are older, and searched there anyway.
  const std::uint64_t before_prq = channel.meters.posted.length() - channel.prq_length;
  const std::uint64_t depth = channel.meters.posted.match(receive.ticket);
  left_prq(receive);
  give(receive, message.handle, message.status);
  const double passed =
      depth > before_prq + 1 ? share * static_cast<double>(depth - before_prq - 1) : 0;
  channel.meters.counters.passed += static_cast<std::uint64_t>(passed);
  if (takeover().mode != Takeover::Mode::automatic) return;
  if (!channel.policy.matched(passed))
    repost_natively(channel);
  else if (channel.prq_length == 0)
    channel.policy.ended();
}

/// A message found no receive: it waits in the UMQ.
void queue_unexpected(Channel& channel, UnexpectedMessage& message) {
  channel.meters.posted.miss();
  message.ticket = channel.meters.arrived.append();
  ++channel.umq_length;
  message.kept = kept_bytes(message.status);
  add(matching.queued, 1);
  add(matching.queued_bytes, message.kept);
  static_cast<void>(matcher().spare.release());  // the engine has it now
  if (channel.prq_length != 0) {
    const double passed = searched_share(channel, message.status.MPI_SOURCE) *
                          static_cast<double>(channel.prq_length);
    channel.meters.counters.passed += static_cast<std::uint64_t>(passed);
    if (takeover().mode == Takeover::Mode::automatic && !channel.policy.matched(passed))
      repost_natively(channel);
  }
  if (HOB_UNLIKELY(channel.is_crowded()) && channel.prq_length != 0) repost_natively(channel);
  // No more can be dequeued: what is in the PRQ waits at the library for the messages there, which
  // are younger than all that Hob has.
  while (takeover().full() && !matcher().active.empty()) repost_natively(*matcher().active.back());
}

/// Matches the message in Matcher::spare, or queues it.
void arrive(Channel& channel, UnexpectedMessage& next) {
  try {
    const auto its = channel.envelope(next.status.MPI_SOURCE, next.status.MPI_TAG);
    const auto arrival = with_room([&](auto& engine) { return engine.arrive(its, &next); });
    if (arrival.request)
      match_posted(channel, *static_cast<PostedReceive*>(arrival.request), next);
    else
      queue_unexpected(channel, next);
  } catch (const std::bad_alloc&) {
    out_of_memory();  // the message cannot be given back to the library
  }
}

/// The oldest message in the UMQ that is wanted. What the engine sorts for that takes memory.
auto look_for(Channel& channel, const Wanted& wanted) {
  try {
    return matcher().engine->probe(channel.envelope(wanted.source, wanted.tag));
  } catch (const std::bad_alloc&) {
    out_of_memory();  // no other call may overtake it
    throw;
  }
}

/// Dequeues one message that has come from the library, and matches it. False if there is none.
bool dequeue_one(Channel& channel) {
  UnexpectedMessage* next = next_message(channel);
  if (next) arrive(channel, *next);
  return next != nullptr;
}

}  // namespace

void out_of_memory() {
  std::fputs("hob: no memory is left for a message that was dequeued from the MPI library\n",
             stderr);
  end_job(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

void post_to_prq(PostedReceive& receive) {
  Channel& channel = *receive.channel;
  Matcher& m = matcher();
  heating::note_communication();
  if (channel.prq_length == 0) m.active.reserve(m.active.size() + 1);
  receive.ticket = channel.meters.posted.append();
  const auto want = channel.envelope(receive.wanted.source, receive.wanted.tag);
  try {
    receive.place = with_room([&](auto& engine) { return engine.post(want, &receive); }).handle;
  } catch (...) {
    channel.meters.posted.withdraw(receive.ticket);
    throw;
  }
  receive.state.store(PostedReceive::State::in_prq, std::memory_order_release);
  ++channel.meters.counters.in_prq;
  channel.prq_sources.add(want.source);
  if (channel.prq_length++ == 0) {
    channel.active_place = m.active.size();
    m.active.push_back(&channel);
  }
  channel.meters.wait(channel.at_library() + channel.prq_length);
  if (!receive.is_blocking && m.pending++ == 0) under_way();
}

void withdraw(PostedReceive& receive) {
  Channel& channel = *receive.channel;
  matcher().engine->cancel(receive.place);
  channel.meters.posted.withdraw(receive.ticket);
  left_prq(receive);
  if (channel.prq_length == 0) channel.policy.ended();
}

void give(PostedReceive& receive, MPI_Message message, const MPI_Status& status) {
  if (receive.is_waited_for()) matcher().served = true;
  receive.is_awaited.store(false, std::memory_order_relaxed);
  if (HOB_UNLIKELY(library::message_bytes(status) > receive.room)) {
    const Buffer elsewhere = discarding(status);
    if (!elsewhere.memory) out_of_memory();
    receive.discarded = elsewhere.memory;
    receive.error = native_imrecv(elsewhere, &message, &receive.native);
  } else if (receive.is_blocking) {
    receive.message = message;
    receive.state.store(PostedReceive::State::at_library, std::memory_order_release);
    return;
  } else {
    receive.error = native_imrecv(receive.buffer, &message, &receive.native);
  }
  receive.now_at_library();
}

void dequeue(Channel& channel) {
  Matcher& m = matcher();
  m.served = false;
  for (int i = 0; i < tuning::matching::kDequeuedAtOnce && channel.prq_length != 0 && !m.served;
       ++i)
    if (!dequeue_one(channel)) break;
}

void dequeue_all() {
  Matcher& m = matcher();
  m.served = false;
  for (std::size_t i = m.active.size(); i-- > 0 && !m.served;)
    if (i < m.active.size()) dequeue(*m.active[i]);
}

const UnexpectedMessage* dequeue_up_to(Channel& channel, const Wanted& wanted) {
  const match::Envelope want = channel.envelope(wanted.source, wanted.tag);
  while (!takeover().full()) {
    UnexpectedMessage* next = next_message(channel);
    if (!next) break;
    const auto its = channel.envelope(next->status.MPI_SOURCE, next->status.MPI_TAG);
    if (match::accepts(want, its)) return next;
    arrive(channel, *next);
  }
  return nullptr;
}

std::uint64_t empty_library(Channel& channel) {
  std::uint64_t messages = 0;
  while (!takeover().full() && dequeue_one(channel)) ++messages;
  ++channel.meters.counters.emptied;
  return messages;
}

int improbe(const Channel& channel, Wanted wanted, int* flag, MPI_Message* message,
            MPI_Status* status) {
  if (HOB_UNLIKELY(channel.asks_source))
    return improbe_by_source(wanted.source, wanted.tag, wanted.comm, flag, message, status);
  return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
}

std::unique_ptr<UnexpectedMessage> take_unexpected(Channel& channel, const Wanted& wanted) {
  if (channel.umq_length == 0) return nullptr;
  Matcher& m = matcher();
  const auto found = look_for(channel, wanted);
  if (!found) {
    channel.meters.arrived.miss();
    return nullptr;
  }
  std::unique_ptr<UnexpectedMessage> message(
      static_cast<UnexpectedMessage*>(m.engine->extract(found->handle)));
  channel.meters.arrived.match(message->ticket);
  --channel.umq_length;
  add(matching.queued, std::uint64_t{0} - 1);
  add(matching.queued_bytes, std::uint64_t{0} - message->kept);
  return message;
}

void recycle(std::unique_ptr<UnexpectedMessage> message) {
  Matcher& m = matcher();
  if (m.free_messages.size() >= tuning::matching::kMessagesKept) return;
  try {
    m.free_messages.push_back(std::move(message));
  } catch (const std::bad_alloc&) {
    // Then it is not kept.
  }
}

bool show_unexpected(Channel& channel, const Wanted& wanted, MPI_Status* status) {
  if (channel.umq_length == 0) return false;
  const auto found = look_for(channel, wanted);
  if (found) requests::copy_status(static_cast<UnexpectedMessage*>(found->message)->status, status);
  return found.has_value();
}

bool hand_out_unexpected(Channel& channel, const Wanted& wanted, MPI_Message* message,
                         MPI_Status* status) {
  std::unique_ptr<UnexpectedMessage> found = take_unexpected(channel, wanted);
  if (!found) return false;
  *message = found->handle;
  requests::copy_status(found->status, status);
  recycle(std::move(found));
  return true;
}

namespace {

/// A receive that has left the engine goes to the library.
void give_to_library(PostedReceive& receive, bool stays_metered) {
  left_prq(receive);
  receive.error = native_start(receive.buffer, receive.wanted, &receive.native);
  if (!receive.is_blocking && !receive.is_abandoned) receive.counts_as_outstanding(stays_metered);
  if (!receive.is_metered) receive.channel->meters.posted.withdraw(receive.ticket);
  receive.now_at_library();
}

/// Does so with all of a channel, in order.
void give_all_to_library(Channel& channel, bool stay_metered, std::uint64_t& counter) {
  match::Engine& engine = *matcher().engine;
  while (const auto posted = engine.oldest_posted(channel.context)) {
    engine.cancel(posted->handle);
    ++counter;
    give_to_library(*static_cast<PostedReceive*>(posted->request), stay_metered);
  }
}

}  // namespace

void repost_natively(Channel& channel) {
  if (channel.prq_length == 0) return;
  auto& counters = channel.meters.counters;
  const std::uint64_t before = counters.reposted;
  give_all_to_library(channel, false, counters.reposted);
  counters.native += counters.reposted - before;
  if (takeover().mode == Takeover::Mode::automatic)
    channel.policy.reposted(counters.reposted - before);
}

void leave_to_library(Channel& channel) {
  settle_fast_path();
  repost_natively(channel);
  channel.is_left = channel.native_only = true;
}

void repost_few(Channel& channel) {
  Matcher& m = matcher();
  if (channel.prq_length == 0 || channel.outstanding + m.engine->posted_length() > takeover().few)
    return;
  give_all_to_library(channel, true, channel.meters.counters.reposted_few);
}

}  // namespace hob::mpi::p2p
