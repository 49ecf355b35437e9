#include "mpi/p2p/p2p.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi::p2p {
namespace {

/// Receives that the library gets before Hob holds any. Those stay there and go on being searched,
/// so this is about where a search costs ten times what drawing a message costs (docs/developers/takeover.md).
constexpr std::uint64_t kThreshold = 512;

/// A timed receive that takes longer to post than this, plus a quarter of a nanosecond for each
/// byte of its buffer (its message may be there, and be copied), searched some hundred unexpected
/// messages. After so many of these, drawing them all costs no more than the searches did; unless
/// it found few.
constexpr double kSlowSearchNs = 1000;
constexpr double kSlowCopyNs = 0.25;

/// From this size on, copying could take longer than such a search: the library is asked for the
/// message beforehand, and that is timed. It may look at the network meanwhile; and a long message
/// takes so long that only a longer search matters.
constexpr double kAskedBytes = kSlowSearchNs / kSlowCopyNs;
constexpr double kSlowAnswerNs = 2 * kSlowSearchNs;
constexpr double kSlowAnswerNsPerByte = 0.03;
constexpr std::uint32_t kPatience = 4;
constexpr std::uint64_t kWorthDrawing = 64;

/// Messages drawn at one look, so that a flood cannot keep a thread from its own work.
constexpr int kDrawnAtOnce = 256;

/// Where a blocking receive waits with nothing else posted: its message comes sooner within Open
/// MPI and MPICH 4, and by probing in MPICH 5, whose waits do more between looks, unless it is
/// libfabric that is looked at, twice for each message.
bool waits_sooner_in_library() {
#if defined(OPEN_MPI)
  return true;
#else
  int major = 0;
  return std::sscanf(context().mpi_version.c_str(), "MPICH Version: %d", &major) == 1 && major < 5;
#endif
}

// ---- The library's calls with counts of any size.

int native_receive(const Target& t, const Wanted& w, MPI_Status* status) {
#if HOB_HAS_LARGE_COUNT
  if (t.count > INT_MAX)
    return real::Recv_c(t.buffer, t.count, t.type, w.source, w.tag, w.comm, status);
#endif
  return real::Recv(t.buffer, static_cast<int>(t.count), t.type, w.source, w.tag, w.comm, status);
}

int native_start(const Target& t, const Wanted& w, MPI_Request* request) {
#if HOB_HAS_LARGE_COUNT
  if (t.count > INT_MAX)
    return real::Irecv_c(t.buffer, t.count, t.type, w.source, w.tag, w.comm, request);
#endif
  return real::Irecv(t.buffer, static_cast<int>(t.count), t.type, w.source, w.tag, w.comm, request);
}

int native_persistent(const Target& t, const Wanted& w, MPI_Request* request) {
#if HOB_HAS_LARGE_COUNT
  if (t.count > INT_MAX)
    return real::Recv_init_c(t.buffer, t.count, t.type, w.source, w.tag, w.comm, request);
#endif
  return real::Recv_init(t.buffer, static_cast<int>(t.count), t.type, w.source, w.tag, w.comm,
                         request);
}

int take_message(const Target& t, MPI_Message* message, MPI_Status* status) {
#if HOB_HAS_LARGE_COUNT
  if (t.count > INT_MAX) return real::Mrecv_c(t.buffer, t.count, t.type, message, status);
#endif
  return real::Mrecv(t.buffer, static_cast<int>(t.count), t.type, message, status);
}

int start_taking(const Target& t, MPI_Message* message, MPI_Request* request) {
#if HOB_HAS_LARGE_COUNT
  if (t.count > INT_MAX) return real::Imrecv_c(t.buffer, t.count, t.type, message, request);
#endif
  return real::Imrecv(t.buffer, static_cast<int>(t.count), t.type, message, request);
}

/// What is known of a datatype of MPI's own.
struct Predefined {
  MPI_Datatype type;
  int bytes;
};

/// The datatype, if it is one of MPI's own, which cannot be freed while a receive is held. A small
/// table remembers those; others are asked for each time.
const Predefined* predefined(MPI_Datatype type) {
  static std::array<Predefined, 64> known = [] {
    std::array<Predefined, 64> none{};
    none.fill({MPI_DATATYPE_NULL, 0});
    return none;
  }();
  const std::uint64_t bits = handle_bits(type);
  Predefined& slot = known[(bits ^ bits >> 8 ^ bits >> 16) % known.size()];
  if (slot.type == type) return &slot;
  int integers = 0, addresses = 0, types = 0, combiner = 0, bytes = 0;
  real::Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  if (combiner != MPI_COMBINER_NAMED) return nullptr;
  real::Type_size(type, &bytes);
  slot = {type, bytes};
  return &slot;
}

MPI_Count message_bytes(const MPI_Status& status) {
#if defined(MPICH_NAME)
  return static_cast<MPI_Count>(static_cast<std::uint32_t>(status.count_lo)) |
         static_cast<MPI_Count>(static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1)
             << 32;
#elif defined(OPEN_MPI)
  return static_cast<MPI_Count>(status._ucount);
#else
  int bytes = 0;
  real::Get_count(&status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? 0 : bytes;
#endif
}

/// Bytes of the longest message that fits.
MPI_Count room_of(const Target& target) {
  int size = 0;
  if (const Predefined* type = predefined(target.type))
    size = type->bytes;
  else
    real::Type_size(target.type, &size);
  return size == MPI_UNDEFINED ? std::numeric_limits<MPI_Count>::max() : target.count * size;
}

/// A message that is longer than its receive. The libraries report what goes wrong in receiving a
/// probed message to another communicator's error handler, so Hob looks beforehand.
bool too_long(const Target& target, const MPI_Status& status) {
  const MPI_Count bytes = message_bytes(status);
  return bytes != 0 && bytes > room_of(target);
}

/// The program hears of a truncated message.
int truncated(const Channel& channel) {
  real::Comm_call_errhandler(channel.gone ? MPI_COMM_WORLD : channel.comm, MPI_ERR_TRUNCATE);
  return MPI_ERR_TRUNCATE;
}

/// Where a message that is too long goes. Throws std::bad_alloc.
Target discarding(const MPI_Status& status) {
  const MPI_Count bytes = message_bytes(status);
  return {::operator new(static_cast<std::size_t>(bytes)), bytes, MPI_BYTE};
}

match::Envelope envelope(const Channel& channel, int source, int tag) {
  return {channel.context, source == MPI_ANY_SOURCE ? match::any_source : source,
          tag == MPI_ANY_TAG ? match::any_tag : tag};
}

/// Whether Hob may look at this receive or probe at all; everything else, mistakes included, is the
/// library's.
bool ours(const Channel& channel, const Wanted& w) {
  return (w.source == MPI_ANY_SOURCE || (w.source >= 0 && w.source < channel.ranks)) &&
         (w.tag == MPI_ANY_TAG || (w.tag >= 0 && w.tag <= channel.highest_tag));
}
bool ours(const Channel& channel, const Wanted& w, const Target& target) {
  return ours(channel, w) && target.count >= 0 && target.type != MPI_DATATYPE_NULL;
}

/// Whether the library would refuse this receive at once, which Hob is about to hold, and with what
/// error: it looks at the same buffer and type, of a receive from nobody.
bool refused(const Target& target, Wanted wanted, int& error) {
  error = MPI_SUCCESS;
  if (target.buffer && predefined(target.type)) return false;
  // In MPICH 5 a program's own error handler turns errors into success, but no status is set.
  MPI_Status status;
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  wanted.source = MPI_PROC_NULL;
  error = native_receive(target, wanted, &status);
  return error != MPI_SUCCESS || status.MPI_SOURCE != MPI_PROC_NULL;
}

// ---- Held receives. The gate is held in all of these.

Receive* new_receive() {
  Receive* receive = state().free_receives;
  if (!receive) return new Receive;
  state().free_receives = receive->next_free;
  return receive;
}

void destroy(Receive& receive) {
  if (receive.owns_type) real::Type_free(&receive.target.type);
  Channel& channel = *receive.channel;
  if (HOB_UNLIKELY(receive.discarded != nullptr)) {
    ::operator delete(receive.discarded);
    receive.discarded = nullptr;
  }
  receive.owns_type = receive.is_persistent = receive.is_abandoned = false;
  receive.is_awaited.store(false, std::memory_order_relaxed);
  receive.native = MPI_REQUEST_NULL;
  receive.rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
  receive.state.store(Receive::State::inactive, std::memory_order_relaxed);
  receive.next_free = state().free_receives;
  state().free_receives = &receive;
  drop_reference(channel);
}

void set(Receive& receive, Channel& channel, const Target& target, const Wanted& wanted) {
  receive.channel = &channel;
  receive.target = target;
  receive.wanted = wanted;
  receive.room = room_of(target);
  receive.error = MPI_SUCCESS;
  ++channel.references;
}

void keep_type(Receive& receive) {
  if (predefined(receive.target.type)) return;
  real::Type_dup(receive.target.type, &receive.target.type);
  receive.owns_type = true;
}

/// The strategy in use has no room for what is to be queued (match::Strategy::lla): the default,
/// which has, takes over its queues.
void use_default_strategy() {
  State& the = state();
  match::Config config;
  config.observer = heating::observer();
  std::unique_ptr<match::Engine> other = match::make_engine(config);
  for (const Channel* channel : all_channels()) {
    std::vector<match::Posted> receives;
    the.engine->posted(channel->context, receives);
    for (const match::Posted& posted : receives)
      static_cast<Receive*>(posted.request)->place =
          other->post(posted.want, posted.request).handle;
    std::vector<match::Unexpected> messages;
    the.engine->unexpected(channel->context, messages);
    for (const match::Unexpected& message : messages)
      other->arrive(message.envelope, message.message);
  }
  the.engine = std::move(other);
  note(
      fmt::format("match_strategy = {} had no room for all communicators or ranks: the default "
                  "took its place",
                  context().settings.match_strategy));
}

/// What `call` gives of the engine, which has room for it.
template <class Call>
auto with_room(Call&& call) {
  try {
    return call(*state().engine);
  } catch (const std::length_error&) {
    use_default_strategy();
    return call(*state().engine);
  }
}

/// Puts a receive into Hob's queue; its channel has no message for it there.
void hold(Receive& receive) {
  Channel& channel = *receive.channel;
  State& the = state();
  heating::note_communication();
  const auto want = envelope(channel, receive.wanted.source, receive.wanted.tag);
  receive.place = with_room([&](auto& engine) { return engine.post(want, &receive); }).handle;
  receive.ticket = channel.posted.append();
  receive.state.store(Receive::State::held, std::memory_order_release);
  ++channel.stats.held;
  if (channel.held >= channel.longest_held) channel.longest_held = channel.held + 1;
  if (channel.held++ == 0) {
    channel.active_place = the.active.size();
    the.active.push_back(&channel);
  }
  if (!receive.is_blocking && the.pending++ == 0) under_way();
}

/// It left the queue.
void no_longer_held(Receive& receive) {
  Channel& channel = *receive.channel;
  State& the = state();
  if (--channel.held == 0) {
    the.active[channel.active_place] = the.active.back();
    the.active[channel.active_place]->active_place = channel.active_place;
    the.active.pop_back();
    channel.deep_lately = channel.longest_held >= the.threshold / 4;
    channel.calm_phases = 0;
    channel.longest_held = 0;
  }
  if (!receive.is_blocking && --the.pending == 0) none_under_way();
}

/// The library has the receive now; the program's wait will find it complete.
void now_native(Receive& receive) {
  if (receive.is_abandoned) {
    receive.discarded = nullptr;  // it may still be written to
    if (receive.native != MPI_REQUEST_NULL) real::Request_free(&receive.native);
    destroy(receive);
    return;
  }
  // First, since who finds it matched may complete it. To retire it, one has to have the gate.
  if (HOB_LIKELY(receive.error == MPI_SUCCESS && !receive.discarded))
    receive.rest.store(receive.native, std::memory_order_release);
  receive.state.store(Receive::State::matched, std::memory_order_release);
}

/// A receive that is not in the queue gets its message.
void give(Receive& receive, MPI_Message message, const MPI_Status& status) {
  if (receive.is_blocking || receive.is_awaited.load(std::memory_order_relaxed))
    state().served = true;
  receive.is_awaited.store(false, std::memory_order_relaxed);
  if (message_bytes(status) > receive.room) {
    const Target elsewhere = discarding(status);
    receive.discarded = elsewhere.buffer;
    receive.error = start_taking(elsewhere, &message, &receive.native);
  } else if (receive.is_blocking) {
    receive.message = message;
    receive.state.store(Receive::State::matched, std::memory_order_release);
    return;
  } else {
    receive.error = start_taking(receive.target, &message, &receive.native);
  }
  now_native(receive);
}

void recycle(std::unique_ptr<Message> message) {
  State& the = state();
  if (the.free_messages.size() < 4096) the.free_messages.push_back(std::move(message));
}

std::unique_ptr<Message> new_message() {
  State& the = state();
  if (the.free_messages.empty()) return std::make_unique<Message>();
  std::unique_ptr<Message> message = std::move(the.free_messages.back());
  the.free_messages.pop_back();
  return message;
}

void release(Channel& channel);

/// MPI_Improbe.
int take_from_library(const Channel& channel, Wanted wanted, int* flag, MPI_Message* message,
                      MPI_Status* status) {
  if (HOB_UNLIKELY(channel.asks_source) && wanted.source == MPI_ANY_SOURCE) {
    // MPICH 5 over libfabric crashes when a message that was probed for with MPI_ANY_SOURCE is
    // received into a datatype with gaps.
    MPI_Status first;
    const int error = real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, &first);
    if (error != MPI_SUCCESS || !*flag) return error;
    wanted.source = first.MPI_SOURCE;
    wanted.tag = first.MPI_TAG;
  }
  return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
}

/// Under the gate.
void count_queued(std::int64_t more) {
  queued.store(queued.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(more),
               std::memory_order_relaxed);
}

/// Takes one message that has come from the library, where Hob has to ask first who sent it.
/// Messages come in bursts: so it looks for one more of the last one's sender before, but lets the
/// others have their turn.
bool take_asking(Channel& channel, Message& next) {
  Wanted wanted{MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm};
  const bool guesses = channel.guesses != 0;
  if (guesses) {
    wanted.source = channel.likely_source;
    --channel.guesses;
  }
  int flag = 0;
  if (take_from_library(channel, wanted, &flag, &next.handle, &next.status) != MPI_SUCCESS ||
      !flag) {
    channel.guesses = 0;
    return false;
  }
  if (!guesses) {
    channel.likely_source = next.status.MPI_SOURCE;
    channel.guesses = Channel::kGuesses;
  }
  return true;
}

/// Takes one message that has come from the library, into State::spare. Null if none was found.
Message* next_message(Channel& channel) {
  State& the = state();
  if (HOB_UNLIKELY(!the.spare)) the.spare = new_message();
  Message& next = *the.spare;
  if (HOB_UNLIKELY(channel.asks_source)) {
    if (!take_asking(channel, next)) return nullptr;
  } else {
    int flag = 0;
    if (real::Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, channel.comm, &flag, &next.handle,
                      &next.status) != MPI_SUCCESS ||
        !flag)
      return nullptr;
  }
  ++channel.stats.drawn;
  messages_found.store(messages_found.load(std::memory_order_relaxed) + 1,
                       std::memory_order_relaxed);
  heating::note_communication();
  return &next;
}

/// Matches the message in State::spare, or queues it.
void arrive(Channel& channel, Message& next) {
  State& the = state();
  const auto its = envelope(channel, next.status.MPI_SOURCE, next.status.MPI_TAG);
  const auto arrival = with_room([&](auto& engine) { return engine.arrive(its, &next); });
  if (arrival.request) {
    auto& receive = *static_cast<Receive*>(arrival.request);
    channel.posted.match(receive.ticket);
    no_longer_held(receive);
    give(receive, next.handle, next.status);
    return;
  }
  channel.posted.miss();
  next.ticket = channel.arrived.append();
  ++channel.unexpected;
  count_queued(1);
  static_cast<void>(the.spare.release());  // the engine has it now
  // No more can be drawn: what is held waits at the library for the messages there, which are
  // younger than all that Hob has.
  while (the.full() && !the.active.empty()) release(*the.active.back());
}

/// Draws one message that has come from the library, and matches it. False if there is none.
bool draw_one(Channel& channel) {
  Message* next = next_message(channel);
  if (next) arrive(channel, *next);
  return next != nullptr;
}

/// For a receive that nothing is held before: draws what has come from the library up to the
/// message that it takes, which is in State::spare then. Null if that was not found.
const Message* draw_up_to(Channel& channel, const Wanted& wanted) {
  const match::Envelope want = envelope(channel, wanted.source, wanted.tag);
  while (!state().full()) {
    Message* next = next_message(channel);
    if (!next) break;
    if (match::accepts(want, envelope(channel, next->status.MPI_SOURCE, next->status.MPI_TAG)))
      return next;
    arrive(channel, *next);
  }
  return nullptr;
}

/// Draws what has come from the library, while there are receives for it, and until one that a
/// thread waits for has its message: to look once more than needed costs a look at the network.
/// Whether it has.
bool draw(Channel& channel) {
  State& the = state();
  the.served = false;
  for (int i = 0; i < kDrawnAtOnce && channel.held != 0 && !the.served; ++i)
    if (!draw_one(channel)) break;
  return the.served;
}

/// The same for all that hold receives.
void draw_all() {
  State& the = state();
  for (std::size_t i = the.active.size(); i-- > 0;)
    if (i < the.active.size() && draw(*the.active[i])) return;
}

/// Posts a receive with the library. Its time, or that of a probe before it, tells how many
/// unexpected messages the library searches. Where that is slow again and again, the library's
/// unexpected messages are drawn; Hob's queue of them is as fast at any length.
int start_with_library(Channel& channel, const Target& target, const Wanted& wanted,
                       MPI_Request* request) {
  const bool timed = channel.to_be_timed();
  channel.starts(target.count);
  const Predefined* type = timed ? predefined(target.type) : nullptr;
  if (!type) return native_start(target, wanted, request);
  const double bytes = static_cast<double>(target.count) * type->bytes;
  const bool asks = bytes > kAskedBytes;
  const double allowed =
      asks ? kSlowAnswerNs + kSlowAnswerNsPerByte * bytes : kSlowSearchNs + kSlowCopyNs * bytes;
  const std::uint64_t before = ticks();
  int error = MPI_SUCCESS, flag = 0;
  if (asks)
    real::Iprobe(wanted.source, wanted.tag, wanted.comm, &flag, MPI_STATUS_IGNORE);
  else
    error = native_start(target, wanted, request);
  const double took = static_cast<double>(ticks() - before);
  if (asks) error = native_start(target, wanted, request);
  if (error != MPI_SUCCESS || took < allowed * ticks_per_nanosecond()) {
    if (channel.slow_starts != 0) --channel.slow_starts;
    channel.was_fast(asks);
    return error;
  }
  channel.was_slow();
  if (++channel.slow_starts < channel.patience) return error;
  channel.slow_starts = 0;
  std::uint64_t drawn = 0;
  while (!state().full() && draw_one(channel)) ++drawn;
  ++channel.stats.emptied;
  channel.patience = drawn >= kWorthDrawing ? kPatience : 4 * std::min(channel.patience, 1u << 20);
  return error;
}

/// Takes a message out of Hob's queue, if one is there.
std::unique_ptr<Message> take_unexpected(Channel& channel, const Wanted& wanted) {
  if (channel.unexpected == 0) return nullptr;
  State& the = state();
  const auto found = the.engine->probe(envelope(channel, wanted.source, wanted.tag));
  if (!found) {
    channel.arrived.miss();
    return nullptr;
  }
  std::unique_ptr<Message> message(static_cast<Message*>(the.engine->extract(found->handle)));
  channel.arrived.match(message->ticket);
  --channel.unexpected;
  count_queued(-1);
  return message;
}

/// What Hob has for a probe: its message stays.
bool show_unexpected(Channel& channel, const Wanted& wanted, MPI_Status* status) {
  if (channel.unexpected == 0) return false;
  const auto found = state().engine->probe(envelope(channel, wanted.source, wanted.tag));
  if (found) requests::copy_status(static_cast<Message*>(found->message)->status, status);
  return found.has_value();
}

/// What Hob has for a matched probe: its message is the program's now.
bool hand_out_unexpected(Channel& channel, const Wanted& wanted, MPI_Message* message,
                         MPI_Status* status) {
  std::unique_ptr<Message> found = take_unexpected(channel, wanted);
  if (!found) return false;
  *message = found->handle;
  requests::copy_status(found->status, status);
  recycle(std::move(found));
  return true;
}

/// A held receive, no longer in the engine, goes to the library.
void give_to_library(Receive& receive) {
  Channel& channel = *receive.channel;
  no_longer_held(receive);
  receive.error = native_start(receive.target, receive.wanted, &receive.native);
  if (!receive.is_blocking && !receive.is_abandoned) {
    receive.counts_outstanding = true;
    ++channel.outstanding;
  }
}

void release(Channel& channel) {
  if (channel.held == 0) return;
  std::vector<match::Posted> held;
  state().engine->posted(channel.context, held);
  for (const match::Posted& posted : held) {
    auto& receive = *static_cast<Receive*>(posted.request);
    state().engine->cancel(posted.handle);
    channel.posted.withdraw(receive.ticket);
    ++channel.stats.handed_over;
    ++channel.stats.native;
    give_to_library(receive);
    now_native(receive);
  }
}

/// The program waits for a held receive, and few are held in all: the library has them searched
/// sooner than Hob has drawn a message (docs/developers/takeover.md). The instruments go on following them.
void lend(Channel& channel) {
  State& the = state();
  if (channel.held == 0 || channel.outstanding + the.engine->posted_length() > the.few) return;
  std::vector<match::Posted> held;
  held.reserve(channel.held);
  the.engine->posted(channel.context, held);
  for (const match::Posted& posted : held) {
    auto& receive = *static_cast<Receive*>(posted.request);
    the.engine->cancel(posted.handle);
    ++channel.stats.lent;
    give_to_library(receive);
    if (receive.counts_outstanding)
      receive.is_lent = true;
    else
      channel.posted.withdraw(receive.ticket);
    now_native(receive);
  }
}

/// Part of every wait in MPI.
void look() {
  State& the = state();
  if (!the.gate.try_lock()) return;
  draw_all();
  the.gate.unlock();
}

void hand_over_all() {
  State& the = state();
  const std::lock_guard guard(the.gate);
  while (!the.active.empty()) release(*the.active.back());
}

/// The rest of a blocking receive that is held: draws until its message is there.
int wait_for(Receive& receive, std::unique_lock<Gate>& guard, MPI_Status* status) {
  Pause pause;
  for (;;) {
    if (receive.state.load(std::memory_order_acquire) == Receive::State::matched) break;
    draw_all();
    if (receive.state.load(std::memory_order_acquire) == Receive::State::matched) break;
    guard.unlock();
    if (parts_under_way.load(std::memory_order_relaxed) != 0) advance();
    pause();
    guard.lock();
  }
  guard.unlock();
  int error = receive.error;
  if (error == MPI_SUCCESS && receive.native == MPI_REQUEST_NULL) {
    if (!blocking_needs_care())
      error = take_message(receive.target, &receive.message, status);
    else
      error = start_taking(receive.target, &receive.message, &receive.native);
  }
  if (error == MPI_SUCCESS && receive.native != MPI_REQUEST_NULL)
    error = requests::wait(&receive.native, status);
  if (receive.discarded) {
    ::operator delete(receive.discarded);
    error = truncated(*receive.channel);
  }
  guard.lock();
  drop_reference(*receive.channel);
  return error;
}

}  // namespace

// ---- Receive as the request layer sees it.

bool Receive::ready() {
  const State now = state.load(std::memory_order_acquire);
  if (now == State::complete) return true;
  if (now != State::matched) return false;
  if (error == MPI_SUCCESS) {
    int flag = 0;
    status.MPI_ERROR = MPI_SUCCESS;
    const bool was_persistent = native == persistent_native;
    error = real::Test(&native, &flag, &status);
    if (!flag && error == MPI_SUCCESS) return false;
    rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
    // Open MPI frees even a persistent request that has failed, so the program's handle ends, too.
    if (was_persistent && native == MPI_REQUEST_NULL) is_persistent = false;
    if (discarded) error = truncated(*channel);
  }
  state.store(State::complete, std::memory_order_release);
  return true;
}

int Receive::result(MPI_Status* to) {
  requests::copy_status(status, to);
  return error;
}

bool Receive::awaited() {
  if (p2p::state().few != 0 && state.load(std::memory_order_acquire) == State::held) {
    const std::lock_guard guard(p2p::state().gate);
    lend(*channel);
  }
  is_awaited.store(true, std::memory_order_relaxed);
  return true;
}

/// If it went to the library, `heard`: or the program does not want to know what becomes of it.
void Receive::no_longer_outstanding(bool heard) {
  if (!counts_outstanding) return;
  --channel->outstanding;
  counts_outstanding = false;
  if (!is_lent) return;
  is_lent = false;
  if (heard)
    channel->posted.match(ticket);
  else
    channel->posted.withdraw(ticket);
}

void Receive::retire() {
  // With one thread, what the gate keeps out are calls from within the library, and none is made.
  std::unique_lock guard(p2p::state().gate, std::defer_lock);
  if (HOB_UNLIKELY(many_threads || owns_type)) guard.lock();
  no_longer_outstanding(true);
  if (is_persistent) {
    rest.store(MPI_REQUEST_NULL, std::memory_order_relaxed);
    state.store(State::inactive, std::memory_order_release);
  } else {
    destroy(*this);
  }
}

void Receive::abandon() {
  const std::lock_guard guard(p2p::state().gate);
  no_longer_outstanding(false);
  const State now = state.load(std::memory_order_acquire);
  if (now == State::held) {
    is_abandoned = true;
    return;
  }
  // What is being discarded goes on being written to; the program has given up on it.
  if (now == State::matched) discarded = nullptr;
  // A persistent request's own handle is freed by the caller.
  if (now == State::matched && native != MPI_REQUEST_NULL && native != persistent_native)
    real::Request_free(&native);
  destroy(*this);
}

void Receive::cancel() {
  const std::lock_guard guard(p2p::state().gate);
  const State now = state.load(std::memory_order_acquire);
  if (now == State::held) {
    p2p::state().engine->cancel(place);
    channel->posted.withdraw(ticket);
    no_longer_held(*this);
    status = requests::empty_status();
    real::Status_set_cancelled(&status, 1);
    state.store(State::complete, std::memory_order_release);
  } else if (now == State::matched && counts_outstanding) {
    real::Cancel(&native);
  }
}

int Receive::start() {
  p2p::State& the = p2p::state();
  const std::lock_guard guard(the.gate);
  settle_express();
  error = MPI_SUCCESS;
  native = MPI_REQUEST_NULL;
  ::operator delete(discarded);
  discarded = nullptr;
  if (std::unique_ptr<Message> found = take_unexpected(*channel, wanted)) {
    ++channel->stats.immediate;
    give(*this, found->handle, found->status);
    recycle(std::move(found));
    return MPI_SUCCESS;
  }
  if (channel->holds()) {
    hold(*this);
    return MPI_SUCCESS;
  }
  const int result = real::Start(&persistent_native);
  if (result != MPI_SUCCESS) return result;
  native = persistent_native;
  ++channel->stats.native;
  ++channel->outstanding;
  counts_outstanding = true;
  state.store(State::matched, std::memory_order_release);
  return MPI_SUCCESS;
}

// ---- The program's calls.

int receive(const Target& target, const Wanted& wanted, MPI_Status* status) {
  State& the = state();
  std::unique_lock guard(the.gate);
  settle_express();
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !ours(*channel, wanted, target)) {
    guard.unlock();
    return native_receive(target, wanted, status);
  }
  std::unique_ptr<Message> waiting = take_unexpected(*channel, wanted);
  const Message* message = waiting.get();
  const bool holds = channel->holds();
  int error = MPI_SUCCESS;
  if (holds && !message && refused(target, wanted, error)) return error;
  if (message) {
    ++channel->stats.immediate;
  } else if (holds && channel->held == 0 && channel->outstanding == 0 && !many_threads &&
             !blocking_needs_care()) {
    // Nothing is older, and nothing else is posted before it is complete. So its message is the
    // first that Hob draws and that it accepts.
    ++channel->stats.lone;
    Pause pause;
    const bool wait_there = the.lone_waits_in_library || channel->asks_source;
    while (!(message = draw_up_to(*channel, wanted)) && !the.full() && !wait_there) {
      if (parts_under_way.load(std::memory_order_relaxed) != 0) {
        guard.unlock();
        advance();
        guard.lock();
      }
      pause();
    }
    if (!message) {
      ++channel->stats.native;
      guard.unlock();
      return native_receive(target, wanted, status);
    }
    ++channel->stats.held;
  }
  if (message) {
    MPI_Message handle = message->handle;
    if (too_long(target, message->status)) {
      Receive receive;
      set(receive, *channel, target, wanted);
      receive.is_blocking = true;
      give(receive, handle, message->status);
      if (waiting) recycle(std::move(waiting));
      return wait_for(receive, guard, status);
    }
    if (waiting) recycle(std::move(waiting));
    guard.unlock();
    if (!blocking_needs_care()) return take_message(target, &handle, status);
    MPI_Request request = MPI_REQUEST_NULL;
    error = start_taking(target, &handle, &request);
    return error == MPI_SUCCESS ? requests::wait(&request, status) : error;
  }
  if (holds) {
    Receive receive;
    set(receive, *channel, target, wanted);
    receive.is_blocking = true;
    hold(receive);
    return wait_for(receive, guard, status);
  }
  ++channel->stats.native;
  if (many_threads || blocking_needs_care() || channel->to_be_timed()) {
    // Another thread may begin to hold receives here and draw this one's message, unless the
    // library has this one first.
    MPI_Request request = MPI_REQUEST_NULL;
    if (!many_threads && channel->outstanding == 0) ++channel->stats.lone;
    error = start_with_library(*channel, target, wanted, &request);
    guard.unlock();
    return error == MPI_SUCCESS ? requests::wait(&request, status) : error;
  }
  channel->starts(target.count);
  if (channel->outstanding == 0) {
    ++channel->stats.lone;
    grant_express(*channel);
    guard.unlock();
    return native_receive(target, wanted, status);
  }
  if (channel->unwatched != 0) {
    --channel->unwatched;
    grant_express(*channel);
    guard.unlock();
    return native_receive(target, wanted, status);
  }
  const auto ticket = channel->posted.append();
  channel->watched_blocking();
  ++channel->references;
  guard.unlock();
  error = native_receive(target, wanted, status);
  guard.lock();
  channel->posted.match(ticket);
  drop_reference(*channel);
  return error;
}

int start_receive(const Target& target, const Wanted& wanted, MPI_Request* request) {
  State& the = state();
  const std::lock_guard guard(the.gate);
  settle_express();
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !request || !ours(*channel, wanted, target))
    return native_start(target, wanted, request);
  if (std::unique_ptr<Message> message = take_unexpected(*channel, wanted)) {
    ++channel->stats.immediate;
    int error = MPI_SUCCESS;
    if (too_long(target, message->status)) {
      Receive& receive = *new_receive();
      set(receive, *channel, target, wanted);
      give(receive, message->handle, message->status);
      *request = requests::add(receive);
    } else {
      error = start_taking(target, &message->handle, request);
    }
    recycle(std::move(message));
    return error;
  }
  if (channel->holds()) {
    if (int error = MPI_SUCCESS; refused(target, wanted, error)) return error;
    Receive& receive = *new_receive();
    set(receive, *channel, target, wanted);
    keep_type(receive);
    hold(receive);
    *request = requests::add(receive);
    return MPI_SUCCESS;
  }
  ++channel->stats.native;
  const int error = start_with_library(*channel, target, wanted, request);
  if (error != MPI_SUCCESS) return error;
  const Channel::Watch watch = channel->next_watch();
  if (watch == Channel::Watch::fully) {
    channel->watched();
    ++channel->references;
    requests::watch(*request, *channel, channel->posted.append());
    return MPI_SUCCESS;
  }
  if (watch == Channel::Watch::sentinel) {
    ++channel->references;
    requests::watch(*request, channel->post_sentinel(), 0);
  }
  grant_express(*channel);
  return MPI_SUCCESS;
}

int make_persistent(const Target& target, const Wanted& wanted, MPI_Request* request) {
  const int error = native_persistent(target, wanted, request);
  if (error != MPI_SUCCESS) return error;
  const std::lock_guard guard(state().gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || channel->native_only || !ours(*channel, wanted, target)) return MPI_SUCCESS;
  Receive& receive = *new_receive();
  set(receive, *channel, target, wanted);
  keep_type(receive);
  receive.is_persistent = true;
  receive.persistent_native = *request;
  requests::stand_behind(*request, receive);
  return MPI_SUCCESS;
}

int test_probe(const Wanted& wanted, int* flag, MPI_Status* status) {
  State& the = state();
  // Receives held for other communicators advance too: their senders may be what is waited for.
  if (parts_under_way.load(std::memory_order_relaxed) != 0) advance();
  const std::lock_guard guard(the.gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !ours(*channel, wanted))
    return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
  if (channel->held != 0) draw(*channel);
  if ((*flag = show_unexpected(*channel, wanted, status))) return MPI_SUCCESS;
  if (channel->held == 0) return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
  *flag = 0;
  return MPI_SUCCESS;
}

int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status) {
  if (parts_under_way.load(std::memory_order_relaxed) != 0) advance();
  const std::lock_guard guard(state().gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !ours(*channel, wanted))
    return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
  if (channel->held != 0) draw(*channel);
  if ((*flag = hand_out_unexpected(*channel, wanted, message, status))) return MPI_SUCCESS;
  if (channel->held == 0) return take_from_library(*channel, wanted, flag, message, status);
  *flag = 0;
  return MPI_SUCCESS;
}

bool simply_native(MPI_Comm comm) {
  if (many_threads || blocking_needs_care()) return false;
  const std::lock_guard guard(state().gate);
  const Channel* channel = channel_of(comm);
  return !channel || (channel->unexpected == 0 && !channel->holds() && !channel->to_be_timed());
}

namespace {

/// A probe that is the library's own: nothing of Hob's is concerned, or it returns at once
/// (MPI_PROC_NULL, wrong arguments: MPICH 5 turns errors into success where the program handles
/// them itself).
bool simply_native(const Wanted& wanted) {
  if (p2p::simply_native(wanted.comm)) return true;
  const std::lock_guard guard(state().gate);
  const Channel* channel = channel_of(wanted.comm);
  return !channel || !ours(*channel, wanted);
}

}  // namespace

int probe(const Wanted& wanted, MPI_Status* status) {
  if (simply_native(wanted)) return real::Probe(wanted.source, wanted.tag, wanted.comm, status);
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = test_probe(wanted, &flag, status);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status) {
  if (simply_native(wanted))
    return real::Mprobe(wanted.source, wanted.tag, wanted.comm, message, status);
  Pause pause;
  for (;;) {
    int flag = 0;
    const int error = test_matched_probe(wanted, &flag, message, status);
    if (flag || error != MPI_SUCCESS) return error;
    advance();
    pause();
  }
}

namespace aside {
namespace {

/// The message that Hob has for this receive or probe, taken out of its queue if `take`.
bool find(const Wanted& wanted, bool take, MPI_Message* message, MPI_Status* status) {
  Gate& gate = state().gate;
  if (gate.mine()) return false;  // called back from within what changes the queues
  const std::lock_guard guard(gate);
  Channel* channel = known_channel(wanted.comm);
  if (!channel || !ours(*channel, wanted)) return false;
  return take ? hand_out_unexpected(*channel, wanted, message, status)
              : show_unexpected(*channel, wanted, status);
}

}  // namespace

int receive(const Target& target, const Wanted& wanted, MPI_Status* status) {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (find(wanted, true, &message, MPI_STATUS_IGNORE))
    return take_message(target, &message, status);
  return native_receive(target, wanted, status);
}

int start_receive(const Target& target, const Wanted& wanted, MPI_Request* request) {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (find(wanted, true, &message, MPI_STATUS_IGNORE))
    return start_taking(target, &message, request);
  return native_start(target, wanted, request);
}

int probe(const Wanted& wanted, MPI_Status* status) {
  if (find(wanted, false, nullptr, status)) return MPI_SUCCESS;
  return real::Probe(wanted.source, wanted.tag, wanted.comm, status);
}

int test_probe(const Wanted& wanted, int* flag, MPI_Status* status) {
  if ((*flag = find(wanted, false, nullptr, status))) return MPI_SUCCESS;
  return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
}

int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status) {
  if (find(wanted, true, message, status)) return MPI_SUCCESS;
  return real::Mprobe(wanted.source, wanted.tag, wanted.comm, message, status);
}

int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status) {
  if ((*flag = find(wanted, true, message, status))) return MPI_SUCCESS;
  return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
}

}  // namespace aside

void hand_over(MPI_Comm comm) {
  const std::lock_guard guard(state().gate);
  if (Channel* channel = known_channel(comm)) release(*channel);
}

bool about_to_go(MPI_Comm comm) {
  // The program's own callbacks may free communicators, too, wherever the library calls them.
  const auto guard = state().gate.unless_mine();
  Channel* channel = known_channel(comm);
  if (!channel) return false;
  release(*channel);
  // The program's callbacks may still receive what Hob has.
  if (channel->unexpected != 0) return true;
  forget(*channel);
  return false;
}

void gone(MPI_Comm comm) {
  const auto guard = state().gate.unless_mine();
  if (Channel* channel = known_channel(comm)) forget(*channel);
}

void hints_changed(MPI_Comm comm) {
  const std::lock_guard guard(state().gate);
  settle_express();
  Channel* channel = known_channel(comm);
  if (!channel) return;
  release(*channel);
  channel->read_hints();
}

void worlds_may_meet() {
  const std::lock_guard guard(state().gate);
  state().worlds_may_meet = true;
}

bool may_draw() { return state().mode != State::Mode::never; }

void prepare() {
  // To libfabric, every message that Hob draws is unexpected. Its tcp provider keeps 64 of a peer
  // by default; what is probed for beyond these it may forget.
  if (context().settings.match == "always" && !context().settings.off)
    setenv("FI_TCP_MAX_SAVED", "1000000", 0);
}

void start() {
  State& the = state();
  const auto& settings = context().settings;
  the.mode = settings.match == "always"  ? State::Mode::always
             : settings.match == "never" ? State::Mode::never
                                         : State::Mode::automatic;
  match::Config config;
  if (const auto parsed = match::parse_strategy(settings.match_strategy))
    config = *parsed;
  else
    note(fmt::format("match_strategy = {} is unknown: the default is used",
                     settings.match_strategy));
  config.observer = heating::observer();
  the.engine = match::make_engine(config);
  the.threshold = settings.match_threshold;
  if (the.threshold == 0) the.threshold = kThreshold;
  the.lone_waits_in_library = waits_sooner_in_library();
  const bool lends = the.mode == State::Mode::always && the.lone_waits_in_library && !many_threads;
  the.few = lends ? settings.match_few : 0;
  ticks_per_nanosecond();  // now, since the first call takes a millisecond
  add_poller({look, hand_over_all});
  report_queues();
}

void finish() {
  hand_over_all();
  const std::lock_guard guard(state().gate);
  std::uint64_t longest = 0;
  for (const Channel* channel : all_channels())
    longest = std::max(longest, channel->arrived.stats().max_length);
  if (longest > 100000)
    note(fmt::format("up to {} unexpected messages were held at a time on one communicator",
                     longest));
}

}  // namespace hob::mpi::p2p
