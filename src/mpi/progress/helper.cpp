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
constinit ProgressTask task{poll};

/// How many calls of one thread are blocked inside the library, one in another. The thread writes
/// it, and others read it: a line of its own.
struct alignas(64) BlockedCalls {
  std::atomic<int> number{0};
  static void thread_ended();
};
using AllCalls = os::PerThread<BlockedCalls>;

void BlockedCalls::thread_ended() { own_calls = nullptr; }

/// Whether a thread is blocked. Exact once `was_under_way` is set and fenced.
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
  if (!overlap::prepare_asymmetric())
    own_progress.was_under_way.store(true, std::memory_order_relaxed);
}

std::atomic<int>* calls_of_this_thread() noexcept {
  own_calls = &AllCalls::here().number;
  return own_calls;
}

std::atomic<int>* enter() noexcept { return enter_here(); }

void call_if_under_way() noexcept {
  memory_fence();
  if (parts_under_way.load(std::memory_order_seq_cst) != 0) call();
}

void call() {
  if (!own_progress.was_under_way.exchange(true, std::memory_order_seq_cst))
    overlap::fence_all_threads();
  if (!any_blocked()) return;
  task.start();
  task.rouse(ProgressTask::kLong);
}

void end() { task.end(); }

}  // namespace hob::mpi::helper
