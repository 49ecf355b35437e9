#include "os/bell.hpp"

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

TEST(Bell, WakesUntilItIsSilenced) {
  Bell bell;
  bell.ring();  // nobody listens
  const int heard = bell.listen();
  ASSERT_GE(heard, 0);
  EXPECT_FALSE(is_readable(heard));
  bell.ring();
  bell.ring();
  EXPECT_TRUE(is_readable(heard));
  EXPECT_EQ(bell.listen(), heard);
  bell.silence();
  EXPECT_FALSE(is_readable(heard));
}

// The program has closed all descriptors, and counts events under their numbers.
TEST(Bell, TouchesNothingOfTheProgramsThatHasItsNumbers) {
  Bell bell;
  const int from = bell.listen(), to = from + 1;
  ::close(from);
  ::close(to);
  ASSERT_EQ(::eventfd(3, EFD_NONBLOCK), from);
  ASSERT_EQ(::eventfd(0, EFD_NONBLOCK), to);
  bell.ring();
  bell.silence();
  std::uint64_t events = 0;
  EXPECT_EQ(::read(from, &events, sizeof events), static_cast<ssize_t>(sizeof events));
  EXPECT_EQ(events, 3u);
  EXPECT_EQ(::read(to, &events, sizeof events), -1) << "nobody has added to it";
  const int anew = bell.listen();
  EXPECT_NE(anew, from);
  EXPECT_NE(anew, to);
  bell.ring();
  EXPECT_TRUE(is_readable(anew));
  ::close(from);
  ::close(to);
}

}  // namespace
}  // namespace hob::os
