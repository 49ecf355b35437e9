#include "ghost/wakeup.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hob::ghost {
namespace {

TEST(Wakeup, RingsInTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int fd = open_wakeup(::getpid(), ends[1], pipe_inode(ends[1]));
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::write(fd, "", 1), 1);
  char byte = 1;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  for (const int each : {fd, ends[0], ends[1]}) ::close(each);
}

TEST(Wakeup, OfAGhostThatLeavesMeanwhileKillsNobody) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int fd = open_wakeup(::getpid(), ends[1], pipe_inode(ends[1]));
  ASSERT_GE(fd, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(::write(fd, "", 1), 1);  // with SIGPIPE, the test would end here
  ::close(fd);
  EXPECT_LT(open_wakeup(::getpid(), ends[1], pipe_inode(ends[1])), 0);
}

TEST(Wakeup, ANumberThatMeansAnotherFileIsLeftAlone) {
  int ends[2], others[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(others, O_NONBLOCK | O_CLOEXEC), 0);
  EXPECT_LT(open_wakeup(::getpid(), others[1], pipe_inode(ends[1])), 0);
  const int file = ::open("/dev/zero", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(pipe_inode(file), 0u);
  EXPECT_LT(open_wakeup(::getpid(), file, pipe_inode(ends[1])), 0);
  for (const int each : {file, ends[0], ends[1], others[0], others[1]}) ::close(each);
}

}  // namespace
}  // namespace hob::ghost
