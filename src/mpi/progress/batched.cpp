#include "mpi/progress/batched.hpp"

#include "base/clock.hpp"
#include "mpi/pmpi/call_guard.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi::batched {
void opened(std::uint64_t now, std::uint64_t ticks_until_old) {
  if (any()) return;
  waiting.patience.store(ticks_until_old, std::memory_order_relaxed);
  waiting.due.store(now + ticks_until_old, std::memory_order_relaxed);
  if (waiting.begins) waiting.begins();
}

bool send_by_thread() {
  // With many threads, one of them may be setting the window's error handler.
  auto* const send_old = waiting.send_without_handlers.load(std::memory_order_relaxed);
  if (!any() || many_threads || !send_old) return false;
  const int before = waiting.number.load(std::memory_order_relaxed);
  send_old();
  return waiting.number.load(std::memory_order_relaxed) != before;
}

void before_call(bool blocks) {
  auto* const send_some = waiting.send.load(std::memory_order_relaxed);
  if (pass_through() || !send_some) return;
  if (!blocks) {
    const std::uint64_t now = ticks();
    if (now < waiting.due.load(std::memory_order_relaxed)) return;
    waiting.due.store(now + waiting.patience.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  }
  const CallGuard guard;
  send_some(blocks);
}

void before_wait(bool served) {
  if (served) waiting.served_waits.fetch_add(1, std::memory_order_relaxed);
  before_call(!served);
}

}  // namespace hob::mpi::batched
