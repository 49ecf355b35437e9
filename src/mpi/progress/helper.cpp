#include "mpi/progress/helper.hpp"

#include <atomic>

#include "mpi/core/memory_fence.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/progress_thread.hpp"
#include "os/thread_state.hpp"
#include "overlap/presence.hpp"

namespace hob::mpi::helper {
namespace {

ProgressTask::Rest poll(int);

/// One of a process.
struct Helper {
  ProgressTask task{poll};
  /// Something has been under way that only Hob can advance. Until then, a thread that blocks pays
  /// for no fence: whoever sets this pays for all threads.
  std::atomic<bool> was_called{false};
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

void BlockedCalls::thread_ended() { own_calls = nullptr; }

/// Whether a thread is blocked. Exact once `was_called` is set and fenced.
bool any_blocked() {
  bool any = false;
  AllCalls::each([&](const BlockedCalls& calls) {
    any = any || calls.number.load(std::memory_order_seq_cst) != 0;
  });
  return any;
}

bool needed() { return parts_under_way.load(std::memory_order_seq_cst) != 0 && any_blocked(); }

ProgressTask::Rest poll(int) {
  if (!needed()) return {};
  advance();
  return {.ns = tuning::kHelperRest, .depth = ProgressTask::kShort};
}

}  // namespace

void prepare() {
  if (!overlap::prepare_asymmetric()) own.was_called.store(true, std::memory_order_relaxed);
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
  if (HOB_UNLIKELY(own.was_called.load(std::memory_order_relaxed))) call_if_under_way();
}

void leave() noexcept {
  own_calls->store(own_calls->load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

void call() {
  if (!own.was_called.exchange(true, std::memory_order_seq_cst)) overlap::fence_all_threads();
  if (!any_blocked()) return;
  own.task.start();
  own.task.rouse(ProgressTask::kLong);
}

void end() { own.task.end(); }

}  // namespace hob::mpi::helper
