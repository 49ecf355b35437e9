// Whether processes of the node still live.
#include "os/process_monitor.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

}  // namespace
}  // namespace hob::os
