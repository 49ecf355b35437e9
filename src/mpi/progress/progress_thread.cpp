#include "mpi/progress/progress_thread.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/lasting.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/memory.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "os/wake_pipe.hpp"

namespace hob::mpi {
namespace progress_thread {
namespace {

/// Parts that have a task, and room for those of tests.
constexpr std::size_t kMostTasks = 8;

/// What wakes the thread where it waits for sockets, too.
os::WakePipe& wake_pipe() { return lasting<os::WakePipe>(); }

}  // namespace

/// One of a process.
class Thread {
 public:
  void add(ProgressTask& task) {
    const std::lock_guard guard(lock_);
    if (task.state_.load(std::memory_order_relaxed) != State::none) return;
    auto* const place = std::ranges::find(tasks_, nullptr);
    if (place == tasks_.end() || !make()) return;
    task.due_ns_ = 0;
    task.sockets_ = nullptr;
    task.depth_.store(ProgressTask::kAwake, std::memory_order_relaxed);
    task.state_.store(State::registered, std::memory_order_release);
    *place = &task;
    wake();
  }

  void remove(ProgressTask& task) {
    const std::lock_guard guard(lock_);
    if (std::ranges::find(tasks_, &task) == tasks_.end()) return;
    task.state_.store(State::ending, std::memory_order_relaxed);
    wake();
  }

  void await_removed(const ProgressTask& task) {
    task.state_.wait(State::ending, std::memory_order_acquire);
    const std::lock_guard guard(lock_);
    join();
  }

  /// The thread looks at its tasks.
  void wake() {
    word_.fetch_add(1, std::memory_order_seq_cst);
    if (at_sockets_.load(std::memory_order_seq_cst))
      wake_pipe().wake();
    else
      futex(FUTEX_WAKE_PRIVATE, 1, nullptr);
  }

  std::uint64_t cost() const { return thread_nanoseconds() - counted_ns_; }
  void count_cost(std::uint64_t ns) { counted_ns_ += ns; }

 private:
  using State = ProgressTask::State;
  using Tasks = std::array<ProgressTask*, kMostTasks>;

  long futex(int operation, std::uint32_t value, const timespec* time) {
    return ::syscall(SYS_futex, &word_, operation, value, time, nullptr, 0);
  }
  bool make();
  void join() {
    if (!leaving_) return;
    ::pthread_join(thread_, nullptr);
    exists_ = leaving_ = false;
  }
  static void* run(void*);
  bool current(Tasks& tasks);
  static void poll(ProgressTask& task, int changed);
  int sleep(const Tasks& tasks, std::uint32_t seen);

  std::mutex lock_;  ///< of tasks_, and of whether there is a thread; not held while tasks poll
  Tasks tasks_{};
  pthread_t thread_{};
  bool exists_ = false;                  ///< it was made and is not joined
  bool leaving_ = false;                 ///< it has found no task, and takes the lock no more
  std::atomic<std::uint32_t> word_{0};   ///< changes with each wake()
  std::atomic<bool> at_sockets_{false};  ///< it sleeps at descriptors, and not at the word
  std::uint64_t counted_ns_ = 0;
};

namespace {

/// Global, since handlers of fork() have no argument.
constinit Thread own;

}  // namespace

std::uint64_t take_cost() {
  const std::uint64_t cost = own.cost();
  own.count_cost(cost);
  return cost;
}

std::uint64_t cost_so_far() { return own.cost(); }

bool Thread::make() {
  // The child of a fork has no such thread, and nothing of its tasks goes on.
  static const bool once = ::pthread_atfork([] { own.lock_.lock(); }, [] { own.lock_.unlock(); },
                                            [] {
                                              for (ProgressTask*& task : own.tasks_)
                                                if (task)
                                                  std::exchange(task, nullptr)->state_ =
                                                      State::none;
                                              own.exists_ = own.leaving_ = own.at_sockets_ = false;
                                              own.lock_.unlock();
                                            }) == 0;
  static_cast<void>(once);
  join();
  if (exists_) return true;
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are the program's
  exists_ = ::pthread_create(&thread_, nullptr, run, nullptr) == 0;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return exists_;
}

void* Thread::run(void*) {
  const DepthGuard guard;
  ::pthread_setname_np(::pthread_self(), "hob-progress");
  ::prctl(PR_SET_TIMERSLACK, tuning::kProgressSlackNs, 0, 0, 0);
  own.counted_ns_ = 0;
  Tasks tasks{};
  for (int changed = -1;;) {
    const std::uint32_t seen = own.word_.load(std::memory_order_seq_cst);
    if (!own.current(tasks)) return nullptr;
    const std::uint64_t now = monotonic_nanoseconds();
    for (ProgressTask* const task : tasks) {
      if (task == nullptr) break;
      const bool roused = task->depth_.load(std::memory_order_acquire) == ProgressTask::kAwake;
      const int its = task->sockets_ == nullptr ? -1 : roused ? std::max(changed, 1) : changed;
      if (!roused && its <= 0 && now < task->due_ns_) continue;
      try {
        poll(*task, changed < 0 ? -1 : its);
      } catch (const OutOfMemory&) {
        out_of_memory("a thread of Hob's own");
      }
      if (tasks[1] != nullptr) take_cost();  // is not the next one's
    }
    changed = own.sleep(tasks, seen);
  }
}

/// Those that are registered, in front of null ones; without those that end. False: there is none
/// any more, and the thread ends.
bool Thread::current(Tasks& tasks) {
  const std::lock_guard guard(lock_);
  tasks = {};
  auto* next = tasks.begin();
  for (ProgressTask*& task : tasks_) {
    if (task == nullptr) continue;
    if (!task->ending()) {
      *next++ = task;
      continue;
    }
    std::atomic<State>& state = std::exchange(task, nullptr)->state_;
    state.store(State::none, std::memory_order_release);
    state.notify_all();
  }
  leaving_ = tasks[0] == nullptr;
  return !leaving_;
}

void Thread::poll(ProgressTask& task, int changed) {
  task.depth_.store(ProgressTask::kAwake, std::memory_order_relaxed);
  task.roused_.store(0, std::memory_order_seq_cst);
  const ProgressTask::Rest rest = task.poll_(changed);
  task.sockets_ = rest.sockets;
  std::uint64_t ns = rest.ns;
  task.depth_.store(rest.depth, std::memory_order_seq_cst);
  // A rouse() during the poll wakes nothing, and the poll may have missed its cause.
  if ((task.roused_.load(std::memory_order_seq_cst) & ((2U << rest.depth) - 1)) != 0)
    ns = ns == ProgressTask::kUntilRoused ? 0 : std::min(ns, tuning::kRousedWithinNs);
  task.due_ns_ = ns == ProgressTask::kUntilRoused ? ns : monotonic_nanoseconds() + ns;
}

/// Until a task is due or roused, or something has changed since `seen`. Returns how many sockets
/// have changed, or -1.
int Thread::sleep(const Tasks& tasks, std::uint32_t seen) {
  std::uint64_t due = ProgressTask::kUntilRoused;
  os::Sockets* sockets = nullptr;
  for (const ProgressTask* const task : tasks) {
    if (task == nullptr) break;
    due = std::min(due, task->due_ns_);
    if (task->sockets_ != nullptr) sockets = task->sockets_;
  }
  const std::uint64_t now = monotonic_nanoseconds();
  if (due <= now) return sockets != nullptr ? 0 : -1;
  int changed = -1;
  if (sockets != nullptr) {
    const int wakeup = wake_pipe().descriptor();
    at_sockets_.store(true, std::memory_order_seq_cst);
    const bool roused = word_.load(std::memory_order_seq_cst) != seen;
    // Never for ever, since the program may close the pipe.
    changed = sockets->wait(wakeup, roused ? 0 : std::min(due - now, tuning::kOverlapPatientNs));
    at_sockets_.store(false, std::memory_order_relaxed);
    if (changed > 0 && sockets->readable(wakeup)) {
      wake_pipe().drain();
      --changed;  // tasks know whether they were roused
    }
  }
  if (changed >= 0) return changed;
  const timespec time{static_cast<time_t>((due - now) / 1'000'000'000),
                      static_cast<long>((due - now) % 1'000'000'000)};
  futex(FUTEX_WAIT_PRIVATE, seen, due == ProgressTask::kUntilRoused ? nullptr : &time);
  return changed;
}

}  // namespace progress_thread

void ProgressTask::add() { progress_thread::own.add(*this); }

void ProgressTask::rouse(Depth least) {
  roused_.fetch_or(1U << least, std::memory_order_seq_cst);
  if (depth_.load(std::memory_order_seq_cst) < least) return;
  depth_.store(kAwake, std::memory_order_seq_cst);
  progress_thread::own.wake();
}

void ProgressTask::end() {
  leave();
  progress_thread::own.await_removed(*this);
}

void ProgressTask::leave() { progress_thread::own.remove(*this); }

}  // namespace hob::mpi
