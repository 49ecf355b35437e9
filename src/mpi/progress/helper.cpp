#include "mpi/progress/helper.hpp"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <ctime>

#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/memory.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/pollers.hpp"

namespace hob::mpi::helper {
namespace {

std::atomic<int> blocked{0};
std::atomic<bool> ending{false};
std::atomic<int> asleep{0};  // 1 while the helper sleeps until it is called
std::atomic<bool> running{false};
pthread_t thread;

bool needed() {
  return blocked.load(std::memory_order_seq_cst) != 0 &&
         parts_under_way.load(std::memory_order_seq_cst) != 0;
}

void* work(void*) {
  const DepthGuard guard;
  while (!ending.load(std::memory_order_relaxed)) {
    if (needed()) {
      advance();
      const timespec rest{0, tuning::kHelperRest};
      nanosleep(&rest, nullptr);
      continue;
    }
    asleep.store(1, std::memory_order_seq_cst);
    if (!needed() && !ending.load(std::memory_order_seq_cst))
      asleep.wait(1, std::memory_order_seq_cst);
    asleep.store(0, std::memory_order_relaxed);
  }
  return nullptr;
}

void make() {
  if (running.exchange(true)) return;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  if (pthread_create(&thread, nullptr, thread_main<work>, nullptr) != 0) running = false;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void rouse() {
  if (asleep.load(std::memory_order_seq_cst) == 0) return;
  asleep.store(0, std::memory_order_seq_cst);
  asleep.notify_all();
}

}  // namespace

void enter() {
  blocked.fetch_add(1, std::memory_order_seq_cst);
  if (parts_under_way.load(std::memory_order_seq_cst) != 0) call();
}

void leave() { blocked.fetch_sub(1, std::memory_order_relaxed); }

void call() {
  if (blocked.load(std::memory_order_seq_cst) == 0) return;
  if (!running.load(std::memory_order_acquire)) make();
  rouse();
}

void end() {
  if (!running.load(std::memory_order_acquire)) return;
  ending.store(true, std::memory_order_seq_cst);
  rouse();
  pthread_join(thread, nullptr);
  running = false;
  ending = false;
}

}  // namespace hob::mpi::helper
