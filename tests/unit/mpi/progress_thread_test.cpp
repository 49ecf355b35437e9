// The thread that polls all tasks: it misses no rouse(), and exists while there is a task.
#include "mpi/progress/progress_thread.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

namespace hob::mpi {
namespace {

using Rest = ProgressTask::Rest;

int threads() {
  int number = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(each.path() / "comm"), name);
    number += name == "hob-progress" ? 1 : 0;
  }
  return number;
}

/// What a task has to do, and has done.
struct Work {
  std::atomic<int> left{0}, done{0};
  Rest poll() {
    if (left.load() == 0) return {};
    left.fetch_sub(1);
    done.fetch_add(1);
    done.notify_all();
    return {.ns = 0};
  }
};
std::array<Work, 2> works;

template <int which>
Rest poll(int) {
  return works[which].poll();
}

/// Gives the task one thing to do, and waits for it.
void give(Work& work, ProgressTask& task) {
  const int before = work.done.load();
  work.left.fetch_add(1);
  task.rouse(ProgressTask::kLong);
  work.done.wait(before);
  EXPECT_EQ(work.done.load(), before + 1);
}

TEST(ProgressThread, EachTaskIsPolledWhenItIsRoused) {
  ProgressTask first(poll<0>), second(poll<1>);
  first.start();
  second.start();
  for (int i = 0; i < 1000; ++i) {
    give(works[0], first);
    if (i % 3 == 0) give(works[1], second);
  }
  first.end();
  give(works[1], second);
  second.end();
}

TEST(ProgressThread, ATaskThatHasEndedCanBeStartedAgain) {
  ProgressTask task(poll<0>);
  task.end();
  for (int i = 0; i < 20; ++i) {
    task.start();
    task.start();  // it is registered already
    EXPECT_TRUE(task.registered());
    if (i % 2 == 0) give(works[0], task);
    task.end();
    EXPECT_FALSE(task.registered());
  }
}

TEST(ProgressThread, ThereIsOneThreadWhileThereIsATask) {
  ProgressTask first(poll<0>), second(poll<1>);
  EXPECT_EQ(threads(), 0);
  first.start();
  second.start();
  give(works[0], first);
  give(works[1], second);
  EXPECT_EQ(threads(), 1);
  first.end();
  EXPECT_EQ(threads(), 1);
  second.end();
  EXPECT_EQ(threads(), 0);
}

TEST(ProgressThread, AChildOfForkHasNeitherThreadNorTasks) {
  ProgressTask task(poll<0>);
  task.start();
  give(works[0], task);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool none = !task.registered() && threads() == 0;
    task.end();
    bool again = true;
#if !defined(__SANITIZE_THREAD__)  // which lets no child of a program with threads make another
    task.start();                  // has its own
    again = task.registered();
    task.end();
#endif
    ::_exit(none && again ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  give(works[0], task);
  task.end();
}

/// A task that is polled when it is roused, and counts.
std::atomic<int> polls{0};
ProgressTask* self = nullptr;

void await(int number) {
  for (int seen = polls.load(); seen < number; seen = polls.load()) polls.wait(seen);
}

void count() {
  polls.fetch_add(1);
  polls.notify_all();
}

constexpr std::uint64_t kLongNs = 600'000'000'000;

TEST(ProgressThread, WhoRousesATaskDuringItsPollIsHeard) {
  polls = 0;
  ProgressTask task([](int) -> Rest {
    if (polls.load() < 3) self->rouse(ProgressTask::kLonger);
    count();
    return polls.load() % 2 == 0 ? Rest{} : Rest{.ns = kLongNs, .depth = ProgressTask::kLonger};
  });
  self = &task;
  task.start();
  await(4);
  task.end();
  EXPECT_EQ(polls.load(), 4);
}

TEST(ProgressThread, ARestEndsByWhoRousesAsDeepAsThat) {
  polls = 0;
  ProgressTask task([](int) -> Rest {
    self->rouse(ProgressTask::kLong);  // during the poll neither
    count();
    return {.ns = kLongNs, .depth = ProgressTask::kLonger};
  });
  ProgressTask other(poll<0>);
  self = &task;
  task.start();
  other.start();
  await(1);
  task.rouse(ProgressTask::kLong);
  give(works[0], other);  // a pass over all tasks
  EXPECT_EQ(polls.load(), 1);
  task.rouse(ProgressTask::kLonger);
  await(2);
  give(works[0], other);
  EXPECT_EQ(polls.load(), 2);
  task.end();
  other.end();
}

os::Sockets* listened_to = nullptr;
std::array<int, 2> ends{};
std::atomic<int> last_changed{0};

TEST(ProgressThread, ARestEndsBySocketsToo) {
  polls = 0;
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
  os::Sockets sockets({.first_pause_ns = 1, .longest_pause_ns = 1});
  listened_to = &sockets;
  ProgressTask task([](int changed) -> Rest {
    last_changed = changed;
    char byte = 0;
    while (::read(ends[0], &byte, 1) == 1) continue;
    count();
    return {.ns = kLongNs, .sockets = listened_to};
  });
  ProgressTask other(poll<0>);
  task.start();
  other.start();
  await(1);
  EXPECT_EQ(last_changed.load(), -1);
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  await(2);
  EXPECT_GE(last_changed.load(), 1);
  give(works[0], other);  // the thread hears while it listens
  EXPECT_EQ(polls.load(), 2);
  task.rouse(ProgressTask::kLong);
  await(3);
  EXPECT_GE(last_changed.load(), 1);
  task.end();
  other.end();
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace hob::mpi
