// A descriptor whose number the program has given to another file.
#include "os/own_descriptor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace hob::os {
namespace {

/// What daemons do: the number is another file's now. Returns it.
int taken_over(int number, const char* path = "/dev/null") {
  const int other = ::open(path, O_RDWR | O_CLOEXEC);
  EXPECT_GE(other, 0);
  EXPECT_EQ(::dup2(other, number), number);
  ::close(other);
  return number;
}

bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }

TEST(OwnDescriptor, IsItsNumberWhileItIsThatFile) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[1]);
  {
    const OwnDescriptor own(ends[0]);
    EXPECT_EQ(own.get(), ends[0]);
  }
  EXPECT_FALSE(is_open(ends[0])) << "it closes what it has";
  EXPECT_EQ(OwnDescriptor().get(), -1);
  EXPECT_EQ(OwnDescriptor(-1).get(), -1);
}

TEST(OwnDescriptor, LeavesAloneWhatHasItsNumberNow) {
  OwnPipe pipe = OwnPipe::make();
  ASSERT_TRUE(pipe.whole());
  const int number = taken_over(pipe.from.get());
  EXPECT_EQ(pipe.from.get(), -1);
  EXPECT_FALSE(pipe.whole());
  pipe.from.close();
  EXPECT_TRUE(is_open(number));
  ::close(number);
}

TEST(OwnDescriptor, IsGoneWhenTheProgramHasClosedIt) {
  OwnPipe pipe = OwnPipe::make();
  ::close(pipe.to.get());
  EXPECT_EQ(pipe.to.get(), -1);
}

TEST(OwnDescriptor, MovesWithItsFile) {
  OwnPipe pipe = OwnPipe::make();
  const int number = pipe.from.get();
  OwnDescriptor moved(std::move(pipe.from));
  EXPECT_EQ(moved.get(), number);
  EXPECT_EQ(pipe.from.get(), -1);
  moved = OwnDescriptor();
  EXPECT_FALSE(is_open(number));
}

}  // namespace
}  // namespace hob::os
