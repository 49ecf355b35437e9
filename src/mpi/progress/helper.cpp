#include "mpi/progress/helper.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <ctime>

#include "mpi/core/memory_fence.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/memory.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"
#include "os/thread_state.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi::helper {
namespace {

/// The thread, and what others ask of it. One of a process.
struct Helper {
  std::atomic<bool> ending{false};
  std::atomic<int> asleep{0};  ///< 1 while the helper sleeps until it is called
  std::atomic<bool> running{false};
  pthread_t thread{};
};
constinit Helper own;

/// How many calls of one thread are blocked inside the library, one in another. The thread writes
/// it, and others read it: a line of its own.
struct alignas(64) BlockedCalls {
  std::atomic<int> number{0};
  static void thread_ended();
};
using AllCalls = os::PerThread<BlockedCalls>;

/// Of this thread; null before its first such call.
thread_local std::atomic<int>* own_calls __attribute__((tls_model("initial-exec"))) = nullptr;

/// Something has been under way that only Hob can advance. Until then, a thread that blocks pays
/// for no fence: whoever sets this pays for all threads.
std::atomic<bool> was_called{false};

void BlockedCalls::thread_ended() { own_calls = nullptr; }

/// Whether a thread is blocked. Exact once was_called is set and fenced.
bool any_blocked() {
  bool any = false;
  AllCalls::each([&](const BlockedCalls& calls) {
    any = any || calls.number.load(std::memory_order_seq_cst) != 0;
  });
  return any;
}

bool needed() { return parts_under_way.load(std::memory_order_seq_cst) != 0 && any_blocked(); }

void* work(void*) {
  const DepthGuard guard;
  while (!own.ending.load(std::memory_order_relaxed)) {
    if (needed()) {
      advance();
      const timespec rest{0, tuning::kHelperRest};
      nanosleep(&rest, nullptr);
      continue;
    }
    own.asleep.store(1, std::memory_order_seq_cst);
    if (!needed() && !own.ending.load(std::memory_order_seq_cst))
      own.asleep.wait(1, std::memory_order_seq_cst);
    own.asleep.store(0, std::memory_order_relaxed);
  }
  return nullptr;
}

void make() {
  if (own.running.exchange(true)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  if (pthread_create(&own.thread, nullptr, thread_main<work>, nullptr) != 0) own.running = false;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void rouse() {
  if (own.asleep.load(std::memory_order_seq_cst) == 0) return;
  own.asleep.store(0, std::memory_order_seq_cst);
  own.asleep.notify_all();
}

}  // namespace

void prepare() {
  if (!overlap::prepare_asymmetric()) was_called.store(true, std::memory_order_relaxed);
}

namespace {

[[gnu::noinline, gnu::cold]] void enter_first() {
  own_calls = &AllCalls::here().number;
  enter();
}

[[gnu::noinline]] void call_if_under_way() {
  memory_fence();
  if (parts_under_way.load(std::memory_order_seq_cst) != 0) call();
}

}  // namespace

void enter() noexcept {
  std::atomic<int>* const calls = own_calls;
  if (HOB_UNLIKELY(!calls)) return enter_first();
  calls->store(calls->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (HOB_UNLIKELY(was_called.load(std::memory_order_relaxed))) call_if_under_way();
}

void leave() noexcept {
  own_calls->store(own_calls->load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

void call() {
  if (!was_called.exchange(true, std::memory_order_seq_cst)) overlap::fence_all_threads();
  if (!any_blocked()) return;
  if (!own.running.load(std::memory_order_acquire)) make();
  rouse();
}

void end() {
  if (!own.running.load(std::memory_order_acquire)) return;
  own.ending.store(true, std::memory_order_seq_cst);
  rouse();
  pthread_join(own.thread, nullptr);
  own.running = false;
  own.ending = false;
}

}  // namespace hob::mpi::helper
