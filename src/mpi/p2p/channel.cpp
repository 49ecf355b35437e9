#include "mpi/p2p/channel.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <mutex>
#include <numeric>
#include <unordered_map>

#include "mpi/core/context.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/ucx.hpp"

namespace hob::mpi::p2p {
namespace {

/// So many receives of a communicator are watched before some are left out, and then so many go
/// unwatched for each one that was watched, on average.
constexpr std::uint64_t kAllWatched = 2000;
constexpr std::uint64_t kUnwatchedPerWatched = 63;
constexpr std::uint64_t kLongestUnwatched = 4096;

/// After so many phases or stretches without held receives, it is no longer likely that many come.
constexpr std::uint32_t kCalm = 16;

/// Queues that are never empty are watched in stretches of so many receives.
constexpr std::uint32_t kStretch = 128;

/// Beyond this length the meters estimate.
constexpr std::uint32_t kMeterLimit = 1u << 17;

std::unordered_map<std::uint64_t, Channel*>& channels() {
  static auto* the = new std::unordered_map<std::uint64_t, Channel*>;
  return *the;
}

struct Last {
  std::uint64_t key = 0;
  Channel* channel = nullptr;
} last;

/// The highest tag that messages may have. Open MPI tells it of MPI_COMM_WORLD alone.
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

bool over_libfabric() {
#if defined(OPEN_MPI)
  return false;
#else
  return !ucx::serves();
#endif
}

/// Open MPI's leaders in MPI_Intercomm_create talk with the program's tag on the communicator in
/// which they meet: such messages Hob must not draw. Where it has both leaders in its own
/// communicator, they talk there; here there may be processes of another world.
bool strangers_in([[maybe_unused]] MPI_Comm comm, [[maybe_unused]] bool inter) {
#if defined(OPEN_MPI)
  const Context& the = context();
  if (the.comm == MPI_COMM_NULL || !(inter || state().worlds_may_meet)) return false;
  MPI_Group group = senders_of(comm), own = MPI_GROUP_NULL;
  real::Comm_group(the.comm, &own);
  int size = 0;
  real::Group_size(group, &size);
  std::vector<int> all(static_cast<std::size_t>(size)), known(all);
  std::iota(all.begin(), all.end(), 0);
  real::Group_translate_ranks(group, size, all.data(), own, known.data());
  real::Group_free(&group);
  real::Group_free(&own);
  return std::find(known.begin(), known.end(), MPI_UNDEFINED) != known.end();
#else
  return false;
#endif
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

MPI_Group senders_of(MPI_Comm comm) {
  int inter = 0;
  MPI_Group group = MPI_GROUP_NULL;
  real::Comm_test_inter(comm, &inter);
  if (inter)
    real::Comm_remote_group(comm, &group);
  else
    real::Comm_group(comm, &group);
  return group;
}

Channel::Channel(MPI_Comm handle, std::uint32_t number)
    : comm(handle), context(number), posted(kMeterLimit), arrived(kMeterLimit) {
  int inter = 0;
  real::Comm_test_inter(handle, &inter);
  among_others = inter != 0;
  if (inter)
    real::Comm_remote_size(handle, &ranks);
  else
    real::Comm_size(handle, &ranks);
  among_others |= ranks > 1;
  highest_tag = highest_tag_of(handle);
  asks_source = over_libfabric();
  has_strangers = strangers_in(handle, inter != 0);
  read_hints();
}

std::uint64_t Channel::threshold() const {
  const std::uint64_t usual = state().threshold;
  return deep_lately ? usual / 8 : usual;
}

bool Channel::holds() const {
  // Receives at the library must all be older than held ones.
  if (held != 0) return true;
  if (native_only || state().full()) return false;
  const std::uint64_t unseen = sentinels > 1 ? std::uint64_t{kPerSentinel} * sentinels : 0;
  return state().mode == State::Mode::always || outstanding + unseen >= threshold();
}

void Channel::watched() { count_watched(++outstanding); }

void Channel::watched_blocking() { count_watched(outstanding + 1); }

void Channel::count_watched(std::uint64_t length) {
  ++watched_in_phase;
  if (length > longest_in_phase) longest_in_phase = length;
  if (++watched_in_stretch < kStretch) return;
  // The fewest receives that waited at any moment tell whether the queue grows.
  const bool grows = least_in_stretch > least_before + kStretch / 8;
  least_before = least_in_stretch;
  least_in_stretch = outstanding;
  watched_in_stretch = 0;
  if (!grows) leave_out(kStretch);
}

/// So many were seen, and will do for some time, if queues are short. How long is left to chance:
/// programs have rhythms.
void Channel::leave_out(std::uint64_t seen) {
  unwatched = 0;
  if (deep_lately && ++calm_phases >= kCalm) deep_lately = false;
  if (watched_in_all + watched_in_phase <= kAllWatched || longest_in_phase > threshold() / 2)
    return;
  const auto usual = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(kUnwatchedPerWatched * seen, kLongestUnwatched));
  unwatched = usual / 2 + static_cast<std::uint32_t>(random_.below(usual));
}

void Channel::read_hints() {
  // A wait of MPICH 4.0 does not see what a callback completed among messages to itself.
  native_only = state().mode == State::Mode::never || !among_others || has_strangers ||
                forbids_wildcards(comm) || (state().mode == State::Mode::automatic && asks_source);
}

void Channel::completed(std::uint64_t ticket, bool freed) {
  const auto guard = state().gate.unless_mine();
  if (--outstanding < least_in_stretch) least_in_stretch = outstanding;
  if (outstanding == 0) {
    settle_express();
    leave_out(watched_in_phase);
    watched_in_all += watched_in_phase;
    watched_in_phase = longest_in_phase = 0;
    watched_in_stretch = 0;
    least_in_stretch = least_before = 0;
  }
  if (freed)
    posted.withdraw(ticket);
  else
    posted.match(ticket);
  drop_reference(*this);
}

void Channel::Sentinel::completed(std::uint64_t, bool) {
  const auto guard = state().gate.unless_mine();
  --channel_.sentinels;
  drop_reference(channel_);
}

namespace {
struct Granted {
  Channel* channel = nullptr;
  std::uint32_t nonblocking = 0, blocking = 0;
  bool lone = false;  ///< the blocking ones have the queue to themselves
} granted;
}  // namespace

void grant_express(Channel& channel) {
  if (many_threads || channel.unexpected != 0 || channel.holds()) return;
  const std::uint32_t untimed = channel.native_only ? kLongestUnwatched : channel.untimed;
  const std::uint32_t unwatched = std::min(channel.left_alone(), untimed);
  const bool lone = channel.outstanding == 0;
  granted = {&channel, unwatched, lone ? untimed : unwatched, lone};
  express = {channel.comm, granted.nonblocking, granted.blocking};
}

void settle_express() {
  if (!granted.channel) return;
  Channel& channel = *granted.channel;
  const std::uint32_t nonblocking = granted.nonblocking - express.nonblocking;
  const std::uint32_t blocking = granted.blocking - express.blocking;
  channel.stats.native += nonblocking + blocking;
  if (granted.lone) channel.stats.lone += blocking;
  channel.unwatched -= std::min(channel.unwatched, nonblocking + (granted.lone ? 0 : blocking));
  channel.untimed -= std::min(channel.untimed, nonblocking + blocking);
  granted = {};
  express = {};
}

Channel* channel_of(MPI_Comm comm) {
  const std::uint64_t key = handle_bits(comm);
  if (HOB_LIKELY(last.channel != nullptr && last.key == key)) return last.channel;
  if (comm == MPI_COMM_NULL) return nullptr;
  Channel*& channel = channels()[key];
  if (!channel) channel = new Channel(comm, state().next_context++);
  last = {key, channel};
  return channel;
}

Channel* known_channel(MPI_Comm comm) {
  const auto found = channels().find(handle_bits(comm));
  return found == channels().end() ? nullptr : found->second;
}

void forget(Channel& channel) {
  settle_express();
  channels().erase(handle_bits(channel.comm));
  last = {};
  channel.gone = true;
  channel.native_only = true;  // a persistent receive may still start: nothing can be drawn for it
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
