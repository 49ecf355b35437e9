#include "mpi/p2p/channel.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <new>
#include <numeric>
#include <unordered_map>

#include "base/lasting.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/extensions.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/p2p/takeover.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/libfabric.hpp"
#include "mpi/progress/ucx.hpp"

namespace hob::mpi::p2p {
namespace {

/// By the handle's bits.
auto& channels() { return lasting<std::unordered_map<std::uint64_t, Channel*>>(); }

/// The highest tag that messages may have. Open MPI gives it for MPI_COMM_WORLD alone.
int highest_tag_of(MPI_Comm comm) {
  void* highest = nullptr;
  int known = 0;
  real::Comm_get_attr(comm, MPI_TAG_UB, &highest, &known);
  if (!known && context().world) real::Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &known);
  return known ? *static_cast<int*>(highest) : INT_MAX;
}

bool says_true(MPI_Info info, const char* key) {
  char value[16] = {};
  int flag = 0;
  real::Info_get(info, key, static_cast<int>(sizeof value) - 1, value, &flag);
  return flag && std::strcmp(value, "true") == 0;
}

/// MPICH has not called UCX: it communicates over libfabric, or has not looked yet.
bool ucx_unseen() { return !library::kTraits.has_progress_callbacks && !ucx::serves(); }

/// Whether `auto` leaves all receives to a library that does not communicate over UCX: receives in
/// Hob's PRQ need its callback, and messages in Hob's UMQ a provider that keeps them.
bool left_to_others() {
  static const bool dequeues = libfabric_uses_tcp() && library::async_start() && !many_threads;
  return takeover().mode == Takeover::Mode::automatic && !dequeues;
}

/// So many messages may be in Hob's UMQ: the provider keeps them, too, and needs room for those
/// that it has not been asked for.
std::uint64_t most_over_libfabric() {
  const std::uint64_t kept = unexpected_messages_kept();
  return std::min<std::uint64_t>(tuning::matching::kMostOverLibfabric, kept - kept / 4);
}

/// Open MPI's leaders in MPI_Intercomm_create talk with the program's tag on the communicator in
/// which they meet: such messages Hob must not dequeue. Where it has both leaders in its own
/// communicator, they talk there; here there may be processes of another world.
bool has_foreign_processes(MPI_Comm comm, bool inter) {
  if (!library::kTraits.leaders_use_program_comm) return false;
  const MPI_Comm own_comm = hob::mpi::context().comm;
  if (own_comm == MPI_COMM_NULL || !(inter || takeover().foreign_processes_possible)) return false;
  MPI_Group group = senders_of(comm), own = MPI_GROUP_NULL;
  real::Comm_group(own_comm, &own);
  int size = 0;
  real::Group_size(group, &size);
  std::vector<int> all(static_cast<std::size_t>(size)), known(all);
  std::iota(all.begin(), all.end(), 0);
  real::Group_translate_ranks(group, size, all.data(), own, known.data());
  real::Group_free(&group);
  real::Group_free(&own);
  return std::find(known.begin(), known.end(), MPI_UNDEFINED) != known.end();
}

/// The user is not to conclude from missing counts that the program receives nothing.
void note_not_taken_over() {
  note(
      "Receives were left to the MPI library, and not counted: it communicates neither over UCX "
      "nor over libfabric's tcp here, or has no callbacks, or the program has several threads "
      "(match=always takes them over).");
}

/// The program promised not to use a wildcard, so the library may refuse Hob's.
bool forbids_wildcards(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  if (real::Comm_get_info(comm, &info) != MPI_SUCCESS || info == MPI_INFO_NULL) return false;
  const bool forbidden =
      says_true(info, "mpi_assert_no_any_source") || says_true(info, "mpi_assert_no_any_tag");
  real::Info_free(&info);
  return forbidden;
}

}  // namespace

Channel::Channel(MPI_Comm handle, std::uint32_t number)
    : comm(handle),
      context(number),
      sampler(sampler_config()),
      policy(policy_config(takeover().user_threshold, ucx_unseen()), takeover().costs) {
  int inter = 0;
  real::Comm_test_inter(handle, &inter);
  among_others = inter != 0;
  if (inter)
    real::Comm_remote_size(handle, &ranks);
  else
    real::Comm_size(handle, &ranks);
  among_others |= ranks > 1;
  highest_tag = highest_tag_of(handle);
  asks_source = ucx_unseen();
  foreign_processes = has_foreign_processes(handle, inter != 0);
  of_threads = is_left = belongs_to_threads(handle);
  read_hints();
  uncounted = asks_source && left_to_others();
  if (uncounted && among_others) note_not_taken_over();
}

bool Channel::takes_over() const {
  if (prq_length != 0) return true;
  if (native_only || takeover().full() || is_crowded()) return false;
  return takeover().mode == Takeover::Mode::always || policy.has_evidence(at_library());
}

bool Channel::is_crowded() const {
  if (!asks_source || takeover().mode != Takeover::Mode::automatic) return false;
  static const std::uint64_t most = most_over_libfabric();
  return matching.queued.load(std::memory_order_relaxed) >= most;
}

bool Channel::begins_takeover() {
  if (!takes_over()) return false;
  if (prq_length != 0) return true;
  if (takeover().mode != Takeover::Mode::always && !policy.begins(at_library())) return false;
  return end_direct_calls(*this);
}

void Channel::read_hints() {
  // A wait of MPICH 4.0 does not see what a callback completed among messages to itself.
  native_only = is_left || takeover().mode == Takeover::Mode::never || !among_others ||
                foreign_processes || forbids_wildcards(comm) || (asks_source && left_to_others());
}

void Channel::posted_at_library() {
  ++outstanding;
  meters.wait(at_library());
  if (const auto stretch = sampler.posted(outstanding); stretch.least != 0)
    policy.searched(stretch.receives, stretch.least);
}

void Channel::completed(std::uint64_t ticket, bool freed) {
  const auto guard = gate.unless_mine();
  if (--outstanding == 0) settle_fast_path();
  if (const std::uint64_t longest = sampler.completed(outstanding); longest != 0)
    policy.phase_ended(longest);
  if (freed)
    meters.posted.withdraw(ticket);
  else
    meters.posted.match(ticket);
  drop_reference(*this);
}

void Channel::Sentinel::completed(std::uint64_t, bool) {
  const auto guard = gate.unless_mine();
  channel_.sentinel_completed();
}

void Channel::sentinel_completed() {
  sampler.sentinel_completed();
  drop_reference(*this);
}

Channel* channel_of(MPI_Comm comm) {
  const std::uint64_t key = handle_bits(comm);
  if (HOB_LIKELY(matching.last_channel != nullptr && matching.last_key == key))
    return matching.last_channel;
  if (comm == MPI_COMM_NULL) return nullptr;
  try {
    Channel*& channel = channels()[key];
    if (!channel) channel = new Channel(comm, matching.next_context++);
    matching.last_key = key;
    matching.last_channel = channel;
    return channel;
  } catch (const std::bad_alloc&) {
    const auto found = channels().find(key);
    if (found != channels().end()) channels().erase(found);
    return nullptr;
  }
}

Channel* known_channel(MPI_Comm comm) {
  const auto found = channels().find(handle_bits(comm));
  return found == channels().end() ? nullptr : found->second;
}

void forget(Channel& channel) {
  settle_fast_path();
  forget_direct_calls(channel);
  if (left(channel.comm)) matching.left_comm.store({}, std::memory_order_relaxed);
  channels().erase(handle_bits(channel.comm));
  matching.last_channel = nullptr;
  channel.gone = true;
  channel.native_only = true;  // a persistent receive may still start: nothing is dequeued for it
  ++channel.references;
  drop_reference(channel);
}

void drop_reference(Channel& channel) {
  if (--channel.references != 0 || !channel.gone) return;
  remember(channel);
  delete &channel;
}

std::vector<Channel*> all_channels() {
  std::vector<Channel*> all;
  for (const auto& [key, channel] : channels()) all.push_back(channel);
  std::sort(all.begin(), all.end(),
            [](const Channel* a, const Channel* b) { return a->context < b->context; });
  return all;
}

}  // namespace hob::mpi::p2p
