#include "mpi/progress/batched.hpp"

#include "base/clock.hpp"
#include "mpi/pmpi/call_guard.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi::batched {
namespace {

/// In ticks: no batch is old before `due`; after it, the next one is `patience` later.
struct Age {
  std::atomic<std::uint64_t> due{0}, patience{0};
};
constinit Age age;

}  // namespace

void opened(std::uint64_t now, std::uint64_t ticks_until_old) {
  if (any()) return;
  age.patience.store(ticks_until_old, std::memory_order_relaxed);
  age.due.store(now + ticks_until_old, std::memory_order_relaxed);
  if (begins) begins();
}

bool send_by_thread() {
  // With many threads, one of them may be setting the window's error handler.
  auto* const send_old = send_without_handlers.load(std::memory_order_relaxed);
  if (!any() || many_threads || !send_old) return false;
  const int before = waiting.load(std::memory_order_relaxed);
  send_old();
  return waiting.load(std::memory_order_relaxed) != before;
}

void before_call(bool blocks) {
  auto* const send_some = send.load(std::memory_order_relaxed);
  if (pass_through() || !send_some) return;
  if (!blocks) {
    const std::uint64_t now = ticks();
    if (now < age.due.load(std::memory_order_relaxed)) return;
    age.due.store(now + age.patience.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  const CallGuard guard;
  send_some(blocks);
}

}  // namespace hob::mpi::batched
