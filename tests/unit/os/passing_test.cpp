#include "os/passing.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "os/descriptors.hpp"

namespace hob::os {
namespace {

constexpr int kPatienceMs = 10'000, kShortPatienceMs = 50;

class Passing : public testing::Test {
 protected:
  void SetUp() override {
    fd_ = ::memfd_create("hob_test", MFD_CLOEXEC);
    ASSERT_GE(fd_, 0);
    ASSERT_EQ(::ftruncate(fd_, 4096), 0);
    ASSERT_TRUE(giver_.address().listening);
  }
  void TearDown() override { ::close(fd_); }

  bool takes_it() const {
    DescriptorTaker taker(giver_.address());
    const int taken = taker.take(kPatienceMs);
    const bool same = taken >= 0 && identity_of(taken) == identity_of(fd_);
    if (taken >= 0) ::close(taken);
    return same;
  }

  int fd_ = -1;
  DescriptorGiver giver_;
};

TEST_F(Passing, AllThatAskGetTheFile) {
  constexpr int kTakers = 8;
  std::atomic<int> good = 0;
  std::vector<std::thread> takers;
  for (int i = 0; i < kTakers; ++i) takers.emplace_back([&] { good += takes_it() ? 1 : 0; });
  EXPECT_EQ(giver_.give(fd_, kTakers, kPatienceMs), kTakers);
  for (std::thread& taker : takers) taker.join();
  EXPECT_EQ(good, kTakers);
}

TEST_F(Passing, NobodyIsWaitedForForEver) {
  EXPECT_EQ(giver_.give(fd_, 1, kShortPatienceMs), 0);
  DescriptorTaker taker(giver_.address());
  ASSERT_TRUE(taker.connected());
  EXPECT_EQ(taker.take(kShortPatienceMs), -1);
}

TEST_F(Passing, StrangersGetNothing) {
  PassingAddress guessed = giver_.address();
  ++guessed.token[0];
  DescriptorTaker stranger(guessed);
  ASSERT_TRUE(stranger.connected());
  bool good = false;
  std::thread member([&] { good = takes_it(); });
  EXPECT_EQ(giver_.give(fd_, 1, kPatienceMs), 1);
  member.join();
  EXPECT_TRUE(good);
  EXPECT_EQ(stranger.take(kPatienceMs), -1);  // the connection was closed
}

TEST_F(Passing, TwoGiversHaveTwoNames) {
  const DescriptorGiver other;
  EXPECT_NE(std::memcmp(&other.address().name, &giver_.address().name, sizeof other.address().name),
            0);
}

TEST_F(Passing, WithoutASocketNobodyConnects) {
  PassingAddress nowhere = giver_.address();
  nowhere.listening = false;
  EXPECT_FALSE(DescriptorTaker(nowhere).connected());
  nowhere.listening = true;
  nowhere.name.fill('x');
  EXPECT_FALSE(DescriptorTaker(nowhere).connected());
}

/// As in a container that numbers its processes anew.
TEST_F(Passing, AProcessOfAnotherProcessNamespaceGetsTheFile) {
  enum { right, wrong, no_namespace };
  const pid_t outside = ::fork();
  if (outside == 0) {
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(no_namespace);
    const pid_t first = ::fork();
    if (first == 0) ::_exit(takes_it() ? right : wrong);
    int status = 0;
    ::waitpid(first, &status, 0);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : wrong);
  }
  const int given = giver_.give(fd_, 1, 2'000);
  int status = 0;
  ::waitpid(outside, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == no_namespace)
    GTEST_SKIP() << "this process may not make process namespaces";
  EXPECT_EQ(WEXITSTATUS(status), right);
  EXPECT_EQ(given, 1);
}

}  // namespace
}  // namespace hob::os
