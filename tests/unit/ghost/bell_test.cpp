#include "ghost/bell.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hob::ghost {
namespace {

TEST(Bell, RingsInTheOtherEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int bell = reach_bell(::getpid(), ends[1]);
  ASSERT_GE(bell, 0);
  EXPECT_EQ(::write(bell, "", 1), 1);
  char byte = 1;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  for (const int fd : {bell, ends[0], ends[1]}) ::close(fd);
}

TEST(Bell, OfAGhostThatLeavesMeanwhileKillsNobody) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const int bell = reach_bell(::getpid(), ends[1]);
  ASSERT_GE(bell, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_EQ(::write(bell, "", 1), 1);  // with SIGPIPE, the test would end here
  ::close(bell);
  EXPECT_LT(reach_bell(::getpid(), ends[1]), 0);
}

}  // namespace
}  // namespace hob::ghost
