// A thread that polls: it misses no rouse(), and ends.
#include "mpi/progress/polling_thread.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>

namespace hob::mpi {
namespace {

/// What a thread has to do, and has done.
struct Work {
  std::atomic<int> left{0}, done{0};
  long poll() {
    if (left.load() == 0) return PollingThread::kUntilRoused;
    left.fetch_sub(1);
    done.fetch_add(1);
    done.notify_all();
    return 0;
  }
};
std::array<Work, 2> works;

template <int which>
long poll() {
  return works[which].poll();
}

/// Gives the thread one thing to do, and waits for it.
void give(Work& work, PollingThread& thread) {
  const int before = work.done.load();
  work.left.fetch_add(1);
  thread.rouse();
  work.done.wait(before);
  EXPECT_EQ(work.done.load(), before + 1);
}

TEST(PollingThreads, EachDoesItsOwnWhenItIsRoused) {
  PollingThread first, second;
  first.make<poll<0>>();
  second.make<poll<1>>();
  for (int i = 0; i < 1000; ++i) {
    give(works[0], first);
    if (i % 3 == 0) give(works[1], second);
  }
  first.end();
  give(works[1], second);
  second.end();
}

TEST(PollingThreads, OneThatHasEndedCanBeMadeAgain) {
  PollingThread thread;
  thread.end();
  for (int i = 0; i < 20; ++i) {
    thread.make<poll<0>>();
    thread.make<poll<1>>();  // it runs already
    EXPECT_TRUE(thread.runs());
    if (i % 2 == 0) give(works[0], thread);
    thread.end();
    EXPECT_FALSE(thread.runs());
  }
}

}  // namespace
}  // namespace hob::mpi
