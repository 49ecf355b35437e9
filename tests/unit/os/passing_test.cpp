#include "os/passing.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
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

/// A connection of which nothing more comes.
int silent_stranger(const PassingAddress& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un there{};
  there.sun_family = AF_UNIX;
  std::memcpy(there.sun_path + 1, address.name.data(), address.name.size());
  const auto size =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address.name.size());
  EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&there), size), 0);
  return fd;
}

/// With a limit for each of them, the alarm would end the test.
TEST_F(Passing, SilentStrangersDelayNobody) {
  constexpr int kStrangers = 200;
  std::vector<int> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(silent_stranger(giver_.address()));
  const DescriptorTaker early(giver_.address());
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(silent_stranger(giver_.address()));
  DescriptorTaker late(giver_.address());
  ASSERT_TRUE(early.connected() && late.connected());
  ::alarm(60);
  EXPECT_EQ(giver_.give(fd_, 2, kPatienceMs), 2);
  ::alarm(0);
  const int taken = late.take(kPatienceMs);
  EXPECT_EQ(identity_of(taken), identity_of(fd_));
  ::close(taken);
  for (const int stranger : strangers) ::close(stranger);
}

/// The limit is one for all: with one for each, the alarm would end the test.
TEST_F(Passing, SilentStrangersAreNotWaitedForOneByOne) {
  constexpr int kStrangers = 400;
  std::vector<int> strangers;
  for (int i = 0; i < kStrangers; ++i) strangers.push_back(silent_stranger(giver_.address()));
  ::alarm(60);
  EXPECT_EQ(giver_.give(fd_, 1, 1'000), 0);
  ::alarm(0);
  for (const int stranger : strangers) ::close(stranger);
}

TEST_F(Passing, AHalfTokenIsNoToken) {
  const int stranger = silent_stranger(giver_.address());
  EXPECT_EQ(::send(stranger, giver_.address().token.data(), 8, MSG_NOSIGNAL), 8);
  EXPECT_EQ(giver_.give(fd_, 1, kShortPatienceMs), 0);
  char byte = 0;
  EXPECT_LE(::recv(stranger, &byte, 1, 0), 0);
  ::close(stranger);
}

/// Even one that knows the token, and comes first.
TEST_F(Passing, OfAnotherUserNobodyGetsTheFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  enum { nothing, something };
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t kOther = 65'533;
    if (::setresuid(kOther, kOther, kOther) != 0) ::_exit(something);
    const int fd = silent_stranger(giver_.address());
    const auto& token = giver_.address().token;
    const auto sent = ::send(fd, token.data(), token.size(), MSG_NOSIGNAL);
    if (::write(said[1], "!", 1) != 1 || sent < 0) ::_exit(something);
    pollfd answer{fd, POLLIN, 0};
    ::poll(&answer, 1, kPatienceMs);
    char byte = 0;
    ::_exit(::recv(fd, &byte, 1, 0) > 0 ? something : nothing);
  }
  char byte = 0;
  EXPECT_EQ(::read(said[0], &byte, 1), 1);
  DescriptorTaker own(giver_.address());
  EXPECT_EQ(giver_.give(fd_, 1, kPatienceMs), 1);
  const int taken = own.take(kPatienceMs);
  EXPECT_GE(taken, 0);
  if (taken >= 0) ::close(taken);
  int status = -1;
  ::waitpid(other, &status, 0);
  EXPECT_EQ(status, nothing);
  for (const int end : said) ::close(end);
}

/// As strangers can, before the takers come.
TEST_F(Passing, AFullQueueBlocksNobody) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  constexpr rlim_t kMost = 4200;
  if (limit.rlim_max < kMost + 100) GTEST_SKIP() << "too few descriptors";
  rlimit raised = limit;
  raised.rlim_cur = std::max<rlim_t>(limit.rlim_cur, kMost + 100);
  ::setrlimit(RLIMIT_NOFILE, &raised);
  PassingAddress unknown = giver_.address();
  unknown.token.fill(0);
  ::alarm(60);
  std::vector<std::unique_ptr<DescriptorTaker>> takers;
  bool refused = false;
  while (!refused && takers.size() < kMost) {
    takers.push_back(std::make_unique<DescriptorTaker>(unknown));
    refused = !takers.back()->connected();
  }
  EXPECT_TRUE(refused);
  EXPECT_FALSE(DescriptorTaker(giver_.address()).connected());
  ::alarm(0);
  takers.clear();
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
