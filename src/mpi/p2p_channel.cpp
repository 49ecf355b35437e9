#include "mpi/p2p_channel.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

#include "mpi/progress_ucx.hpp"
#include "mpi/real.hpp"

namespace hob::mpi::p2p {
namespace {

/// So many receives of a communicator are watched before phases are left out, and then so many go
/// unwatched for each one that was watched.
constexpr std::uint64_t kAllWatched = 2000;
constexpr std::uint64_t kUnwatchedPerWatched = 15;
constexpr std::uint64_t kLongestUnwatched = 4096;

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

std::uint64_t key_of(MPI_Comm comm) {
  std::uint64_t key = 0;
  std::memcpy(&key, &comm, sizeof comm);
  return key;
}

bool says_true(MPI_Info info, const char* key) {
  char value[16] = {};
  int flag = 0;
  real::Info_get(info, key, static_cast<int>(sizeof value) - 1, value, &flag);
  return flag && std::strcmp(value, "true") == 0;
}

/// MPICH 5.0.2 over libfabric crashes now and then when a probed message is received.
bool drawing_is_unsafe() {
#if defined(OPEN_MPI)
  return false;
#else
  return !ucx::serves();
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

State& state() {
  static auto* the = new State;
  return *the;
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
  void* highest = nullptr;
  int known = 0;
  real::Comm_get_attr(handle, MPI_TAG_UB, &highest, &known);
  if (known) highest_tag = *static_cast<int*>(highest);
  read_hints();
}

std::uint64_t Channel::threshold() const {
  const std::uint64_t usual = state().threshold;
  return deep_lately ? usual / 8 : usual;
}

void Channel::read_hints() {
  // A wait of MPICH 4.0 does not see what a callback completed among messages to itself.
  native_only = state().mode == State::Mode::never || !among_others || forbids_wildcards(comm) ||
                (state().mode == State::Mode::automatic && drawing_is_unsafe());
}

void Channel::completed(std::uint64_t ticket, bool freed) {
  std::unique_lock guard(state().gate, std::defer_lock);
  if (!state().gate.mine()) guard.lock();
  if (--outstanding == 0) {
    watched_in_all += watched_in_phase;
    unwatched = 0;
    if (watched_in_all > kAllWatched && longest_in_phase <= threshold() / 2)
      unwatched = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(kUnwatchedPerWatched * watched_in_phase, kLongestUnwatched));
    watched_in_phase = longest_in_phase = 0;
  }
  if (freed)
    posted.withdraw(ticket);
  else
    posted.match(ticket);
  drop_reference(*this);
}

Channel* channel_of(MPI_Comm comm) {
  const std::uint64_t key = key_of(comm);
  if (HOB_LIKELY(last.channel != nullptr && last.key == key)) return last.channel;
  if (comm == MPI_COMM_NULL) return nullptr;
  Channel*& channel = channels()[key];
  if (!channel) channel = new Channel(comm, state().next_context++);
  last = {key, channel};
  return channel;
}

Channel* known_channel(MPI_Comm comm) {
  const auto found = channels().find(key_of(comm));
  return found == channels().end() ? nullptr : found->second;
}

void forget(Channel& channel) {
  channels().erase(key_of(channel.comm));
  last = {};
  channel.gone = true;
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
