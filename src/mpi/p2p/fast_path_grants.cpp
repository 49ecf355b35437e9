// Which receives may take the fast path (fast_path.hpp), and what they count afterwards.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "mpi/core/tuning.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/progress/state.hpp"

namespace hob::mpi::p2p {
namespace {

// FastPath::start() without a count is for what overlap knows to be small.
static_assert(overlap_thread::KnownSize::kMost <= FastPath::kLong);

/// As the fast path counts.
std::int32_t counted(std::uint32_t most) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min(most, kMost));
}
/// Of so many that were granted.
std::uint32_t taken(std::int32_t granted, std::int32_t left) {
  return static_cast<std::uint32_t>(granted - std::max(left, 0));
}

}  // namespace

void grant_fast_path(Channel& channel) {
  if (channel.umq_length != 0 || !channel.blocking_goes_native()) return;
  if (many_threads && channel.uncounted) {
    matching.left_comm.store(channel.comm, std::memory_order_relaxed);
    return;
  }
  const std::uint32_t untimed =
      channel.native_only ? tuning::kFastPathAtOnce : channel.timer.untimed();
  const std::uint32_t nonblocking =
      channel.takes_over() ? 0 : std::min(channel.sampler.unsampled(), untimed);
  if (many_threads) {
    grant_direct_calls(channel, {nonblocking, untimed});
    return;
  }
  const bool lone = channel.outstanding == 0;
  Granted& granted = matching.granted;
  const std::uint32_t blocking =
      lone ? untimed : std::min(channel.sampler.blocking_unsampled(), untimed);
  granted = {&channel, counted(nonblocking), counted(blocking), lone};
  fast_path = {channel.comm, granted.nonblocking, granted.blocking, tuning::kExchangesAtOnce};
}

void settle_fast_path() {
  Granted& granted = matching.granted;
  if (!granted.channel) return;
  Channel& channel = *granted.channel;
  const std::uint32_t nonblocking = taken(granted.nonblocking, fast_path.nonblocking);
  const std::uint32_t blocking = taken(granted.blocking, fast_path.blocking);
  channel.meters.counters.native += nonblocking + blocking;
  channel.sampler.left_out(nonblocking);
  if (granted.lone) {
    channel.meters.counters.lone += blocking;
  } else {
    channel.sampler.blocking_left_out(blocking);
    channel.policy.searched(blocking, channel.outstanding);
  }
  channel.timer.started_short(nonblocking + blocking);
  granted = {};
  fast_path = {};
}

}  // namespace hob::mpi::p2p
