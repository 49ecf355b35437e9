// Which calls of which thread may go straight to the library (direct_calls.hpp), and what they
// count afterwards.
#include <new>

#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "os/thread_state.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi::p2p {
namespace {

/// Of one thread. The channel is that of its last grant, and null once that is gone; guarded by the
/// gate.
struct OfThread {
  match::DirectCalls calls;
  Channel* channel = nullptr;
  static void thread_ended() { own_direct = nullptr; }
};
using AllThreads = os::PerThread<OfThread>;

void settle(OfThread& thread) {
  if (!thread.channel) return;
  const match::DirectCalls::Receives begun = thread.calls.settle();
  thread.channel->meters.counters.native += begun.nonblocking + begun.blocking;
  thread.channel->sampler.left_out(begun.nonblocking);
  thread.channel->timer.started_short(begun.nonblocking + begun.blocking);
}

}  // namespace

void grant_direct_calls(Channel& channel, match::DirectCalls::Receives receives) {
  if (!overlap::prepare_asymmetric()) return;
  // A thread that is still inside would keep messages from being dequeued, and so would others
  // after it.
  if (channel.awaits_threads && channel.takes_over()) return;
  try {
    OfThread& own = AllThreads::here();
    own_direct = &own.calls;
    settle(own);
    own.channel = &channel;
    own.calls.grant(handle_bits(channel.comm), receives);
  } catch (const std::bad_alloc&) {
    return;  // then all of this thread's calls go the long way
  }
  channel.granted_to_threads = true;
  channel.awaits_threads = false;
}

bool end_direct_calls(Channel& channel) {
  if (channel.granted_to_threads) {
    AllThreads::each([&](OfThread& thread) {
      if (thread.channel == &channel) thread.calls.end_grant();
    });
    overlap::fence_all_threads();
    channel.granted_to_threads = false;
    channel.awaits_threads = true;
  }
  if (!channel.awaits_threads) return true;
  channel.awaits_threads = false;
  const std::uint64_t comm = handle_bits(channel.comm);
  AllThreads::each([&](const OfThread& thread) {
    if (thread.calls.inside(comm)) channel.awaits_threads = true;
  });
  return !channel.awaits_threads;
}

void settle_direct_calls() { AllThreads::each(settle); }

void forget_direct_calls(Channel& channel) {
  AllThreads::each([&](OfThread& thread) {
    if (thread.channel != &channel) return;
    thread.calls.end_grant();
    settle(thread);
    thread.channel = nullptr;
  });
}

}  // namespace hob::mpi::p2p
