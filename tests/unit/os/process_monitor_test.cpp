// Whether processes of the node still live.
#include "os/process_monitor.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

namespace hob::os {
namespace {

pid_t paused_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  return child;
}

void end(pid_t child) {
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

using Places = std::vector<std::size_t>;

TEST(ProcessMonitor, TellsOnceOfProcessesThatEnd) {
  const pid_t child = paused_child();
  ProcessMonitor watch({::getpid(), child}, true);
  EXPECT_EQ(watch.some_ended(), Places{});
  end(child);
  EXPECT_EQ(watch.some_ended(), Places{1});
  EXPECT_EQ(watch.some_ended(), Places{});
  EXPECT_FALSE(watch.all_ended());
}

// A rank may end before its ghost first looks.
TEST(ProcessMonitor, TellsOfProcessesThatEndedBefore) {
  const pid_t child = paused_child();
  end(child);
  ProcessMonitor watch({::getpid(), child}, true);
  EXPECT_EQ(watch.some_ended(), Places{1});
  EXPECT_EQ(watch.some_ended(), Places{});
}

// As in a container that numbers its processes itself.
TEST(ProcessMonitor, LeavesAloneWhatItHasNeverSeen) {
  const pid_t child = paused_child();
  end(child);
  ProcessMonitor watch({::getpid(), child}, false);
  EXPECT_EQ(watch.some_ended(), Places{});
}

// The program has closed all descriptors, and has others under their numbers.
TEST(ProcessMonitor, KnowsWhoLivesWhateverHasTheNumbersOfItsDescriptors) {
  const pid_t child = paused_child();
  ProcessMonitor watch({::getpid(), child}, true);
  const int first = watch.alive()[0].fd, second = watch.alive()[1].fd;
  ::close(first);
  ::close(second);
  EXPECT_EQ(watch.some_ended(), Places{}) << "they are closed, and the processes live";
  ::close(watch.alive()[0].fd);
  const int events = ::eventfd(1, 0);  // readable, as the descriptor of a process that has ended
  const bool told_apart = !is_file(first, identity_of(events));
  ASSERT_EQ(::dup2(events, first), first);
  EXPECT_EQ(watch.some_ended(), Places{});
  end(child);
  EXPECT_EQ(watch.some_ended(), Places{1});
  if (!told_apart) GTEST_SKIP() << "before Linux 6.9, all these descriptors have one inode";
  std::uint64_t count = 0;
  EXPECT_EQ(::read(first, &count, sizeof count), static_cast<ssize_t>(sizeof count));
  ::close(first);
  ::close(events);
}

}  // namespace
}  // namespace hob::os
