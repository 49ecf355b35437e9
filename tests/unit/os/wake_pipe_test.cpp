#include "os/wake_pipe.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace hob::os {
namespace {

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1 && one.revents == POLLIN;
}

TEST(WakePipe, WakesUntilItIsSilenced) {
  WakePipe pipe;
  pipe.wake();  // nobody listens
  const int heard = pipe.descriptor();
  ASSERT_GE(heard, 0);
  EXPECT_FALSE(is_readable(heard));
  pipe.wake();
  pipe.wake();
  EXPECT_TRUE(is_readable(heard));
  EXPECT_EQ(pipe.descriptor(), heard);
  pipe.drain();
  EXPECT_FALSE(is_readable(heard));
}

// The program has closed all descriptors, and counts events under their numbers.
TEST(WakePipe, TouchesNothingOfTheProgramsThatHasItsNumbers) {
  WakePipe pipe;
  const int from = pipe.descriptor(), to = from + 1;
  ::close(from);
  ::close(to);
  ASSERT_EQ(::eventfd(3, EFD_NONBLOCK), from);
  ASSERT_EQ(::eventfd(0, EFD_NONBLOCK), to);
  pipe.wake();
  pipe.drain();
  std::uint64_t events = 0;
  EXPECT_EQ(::read(from, &events, sizeof events), static_cast<ssize_t>(sizeof events));
  EXPECT_EQ(events, 3u);
  EXPECT_EQ(::read(to, &events, sizeof events), -1) << "nobody has added to it";
  const int anew = pipe.descriptor();
  EXPECT_NE(anew, from);
  EXPECT_NE(anew, to);
  pipe.wake();
  EXPECT_TRUE(is_readable(anew));
  ::close(from);
  ::close(to);
}

}  // namespace
}  // namespace hob::os
