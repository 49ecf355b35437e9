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
os::WakePipe& wake_pipe() {
  static auto& only = *new os::WakePipe;  // the process may end with the thread
  return only;
}

}  // namespace

/// One of a process.
class Thread {
 public:
  constexpr Thread() = default;

  void add(ProgressTask& task);
  /// Whether it has to be waited for.
  bool remove(ProgressTask& task);
  void await_removed(const ProgressTask& task);

  /// The thread looks at its tasks.
  void wake();

  std::uint64_t cost() const { return thread_nanoseconds() - counted_ns_; }
  void count_cost(std::uint64_t ns) { counted_ns_ += ns; }

  static void before_fork();
  static void after_fork();
  static void in_child();

 private:
  using State = ProgressTask::State;
  enum Sleep : std::uint32_t { kAwake, kAtWord, kAtSockets };
  using Tasks = std::array<ProgressTask*, kMostTasks>;

  bool make();
  void join();
  static void* run(void*);
  void poll_while_any();
  /// Those that are registered, in front of null ones; without those that end. False: there is none
  /// any more, and the thread ends.
  bool current(Tasks& tasks);
  static void poll(ProgressTask& task, int changed);
  /// Until a task is due or roused. Returns how many sockets have changed, or -1.
  int sleep(const Tasks& tasks);
  void sleep_at_word(std::uint64_t ns);

  std::mutex lock_;  ///< of tasks_, and of whether there is a thread; not held while tasks poll
  Tasks tasks_{};
  pthread_t thread_{};
  bool exists_ = false;                    ///< it was made and is not joined
  bool leaving_ = false;                   ///< it has found no task, and takes the lock no more
  std::atomic<std::uint32_t> removed_{0};  ///< how often it has removed tasks
  std::atomic<std::uint32_t> changes_{0};  ///< of tasks_ and their states, but by the thread
  std::uint32_t seen_changes_ = 0;         ///< of the thread
  std::atomic<std::uint32_t> sleep_{kAwake};
  std::uint64_t counted_ns_ = 0;
};

namespace {
constinit Thread own;
}

std::uint64_t take_cost() {
  const std::uint64_t cost = own.cost();
  own.count_cost(cost);
  return cost;
}

std::uint64_t cost_so_far() { return own.cost(); }

void Thread::add(ProgressTask& task) {
  const std::lock_guard guard(lock_);
  if (task.state_.load(std::memory_order_relaxed) != State::none) return;
  auto* const place = std::ranges::find(tasks_, nullptr);
  if (place == tasks_.end() || !make()) return;
  task.due_ns_ = 0;
  task.sockets_ = nullptr;
  task.depth_.store(ProgressTask::kAwake, std::memory_order_relaxed);
  task.state_.store(State::registered, std::memory_order_release);
  *place = &task;
  changes_.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

bool Thread::remove(ProgressTask& task) {
  const std::lock_guard guard(lock_);
  if (std::ranges::find(tasks_, &task) == tasks_.end()) return false;
  task.state_.store(State::ending, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_seq_cst);
  wake();
  return true;
}

void Thread::await_removed(const ProgressTask& task) {
  for (;;) {
    const std::uint32_t seen = removed_.load(std::memory_order_acquire);
    if (task.state_.load(std::memory_order_acquire) == State::none) break;
    removed_.wait(seen, std::memory_order_acquire);
  }
  const std::lock_guard guard(lock_);
  join();
}

bool Thread::make() {
  static const bool once = ::pthread_atfork(before_fork, after_fork, in_child) == 0;
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

void Thread::join() {
  if (!leaving_) return;
  ::pthread_join(thread_, nullptr);
  exists_ = leaving_ = false;
}

void Thread::wake() {
  const std::uint32_t slept = sleep_.exchange(kAwake, std::memory_order_seq_cst);
  if (slept == kAtSockets)
    wake_pipe().wake();
  else if (slept == kAtWord)
    ::syscall(SYS_futex, &sleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void* Thread::run(void*) {
  const DepthGuard guard;
  ::pthread_setname_np(::pthread_self(), "hob-progress");
  ::prctl(PR_SET_TIMERSLACK, tuning::kProgressSlackNs, 0, 0, 0);
  try {
    own.poll_while_any();
  } catch (const OutOfMemory&) {
    out_of_memory("a thread of Hob's own");
  }
  return nullptr;
}

void Thread::poll_while_any() {
  counted_ns_ = 0;
  int changed = -1;
  for (Tasks tasks{}; current(tasks); changed = sleep(tasks)) {
    const std::uint64_t now = monotonic_nanoseconds();
    const bool alone = tasks[1] == nullptr;
    for (ProgressTask* const task : tasks) {
      if (task == nullptr) break;
      const bool roused = task->depth_.load(std::memory_order_acquire) == ProgressTask::kAwake;
      const int its = task->sockets_ == nullptr ? -1 : roused ? std::max(changed, 1) : changed;
      if (!roused && its <= 0 && now < task->due_ns_) continue;
      poll(*task, changed < 0 ? -1 : its);
      if (!alone) take_cost();  // is not the next one's
    }
  }
}

bool Thread::current(Tasks& tasks) {
  const std::lock_guard guard(lock_);
  seen_changes_ = changes_.load(std::memory_order_relaxed);
  tasks = {};
  auto* next = tasks.begin();
  bool ended = false;
  for (ProgressTask*& task : tasks_) {
    if (task == nullptr) continue;
    if (task->ending()) {
      std::exchange(task, nullptr)->state_.store(State::none, std::memory_order_release);
      ended = true;
    } else {
      *next++ = task;
    }
  }
  leaving_ = tasks[0] == nullptr;
  if (ended) {
    removed_.fetch_add(1, std::memory_order_release);
    removed_.notify_all();
  }
  return !leaving_;
}

void Thread::poll(ProgressTask& task, int changed) {
  task.depth_.store(ProgressTask::kAwake, std::memory_order_relaxed);
  task.roused_.store(false, std::memory_order_seq_cst);
  const ProgressTask::Rest rest = task.poll_(changed);
  task.sockets_ = rest.sockets;
  std::uint64_t ns = rest.ns;
  task.depth_.store(rest.depth, std::memory_order_seq_cst);
  // Who came during the poll has roused nobody, and was perhaps not seen.
  if (task.roused_.load(std::memory_order_seq_cst))
    ns = ns == ProgressTask::kUntilRoused ? 0 : std::min(ns, tuning::kRousedWithinNs);
  task.due_ns_ = ns == ProgressTask::kUntilRoused ? ns : monotonic_nanoseconds() + ns;
}

int Thread::sleep(const Tasks& tasks) {
  std::uint64_t due = ProgressTask::kUntilRoused;
  os::Sockets* sockets = nullptr;
  for (const ProgressTask* const task : tasks) {
    if (task == nullptr) break;
    due = std::min(due, task->due_ns_);
    if (task->sockets_ != nullptr) sockets = task->sockets_;
  }
  const bool for_ever = due == ProgressTask::kUntilRoused;
  const std::uint64_t now = for_ever ? 0 : monotonic_nanoseconds();
  if (due <= now) return sockets != nullptr ? 0 : -1;
  const auto lie_down = [&](Sleep how) {
    sleep_.store(how, std::memory_order_seq_cst);
    return changes_.load(std::memory_order_seq_cst) == seen_changes_ &&
           std::ranges::none_of(tasks, [](const ProgressTask* task) {
             return task != nullptr &&
                    task->depth_.load(std::memory_order_seq_cst) == ProgressTask::kAwake;
           });
  };
  int changed = -1;
  if (sockets != nullptr) {
    // Never for ever, since the program may close the pipe.
    const std::uint64_t most = for_ever ? tuning::kOverlapPatientNs : due - now;
    const int wakeup = wake_pipe().descriptor();
    const bool none_comes = lie_down(kAtSockets);
    changed = sockets->wait(wakeup, none_comes ? most : 0);
    if (changed > 0 && sockets->readable(wakeup)) {
      wake_pipe().drain();
      --changed;  // tasks know whether they were roused
    }
  }
  if (changed < 0 && lie_down(kAtWord)) sleep_at_word(for_ever ? 0 : due - now);
  sleep_.store(kAwake, std::memory_order_relaxed);
  return changed;
}

/// Until it is woken, or for so long (0: until then).
void Thread::sleep_at_word(std::uint64_t ns) {
  const timespec time{static_cast<time_t>(ns / 1'000'000'000),
                      static_cast<long>(ns % 1'000'000'000)};
  ::syscall(SYS_futex, &sleep_, FUTEX_WAIT_PRIVATE, kAtWord, ns != 0 ? &time : nullptr, nullptr, 0);
}

void Thread::before_fork() { own.lock_.lock(); }
void Thread::after_fork() { own.lock_.unlock(); }

/// The child has no such thread, and nothing of its tasks goes on.
void Thread::in_child() {
  for (ProgressTask*& task : own.tasks_)
    if (task != nullptr) std::exchange(task, nullptr)->state_ = State::none;
  own.exists_ = own.leaving_ = false;
  own.sleep_ = kAwake;
  own.lock_.unlock();
}

}  // namespace progress_thread

void ProgressTask::add() { progress_thread::own.add(*this); }

void ProgressTask::rouse(Depth least) {
  roused_.store(true, std::memory_order_seq_cst);
  if (depth_.load(std::memory_order_seq_cst) < least) return;
  depth_.store(kAwake, std::memory_order_seq_cst);
  progress_thread::own.wake();
}

void ProgressTask::end() {
  progress_thread::own.remove(*this);
  progress_thread::own.await_removed(*this);
}

void ProgressTask::leave() { progress_thread::own.remove(*this); }

}  // namespace hob::mpi
