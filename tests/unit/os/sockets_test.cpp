// Which sockets of this process wake who waits for them.
#include "os/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

namespace hob::os {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// Both ends of a connection over the loopback.
struct Connection {
  int ends[2] = {-1, -1};

  Connection() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    ends[0] = ::socket(AF_INET, SOCK_STREAM, 0);
    if (::bind(listener, any, size) == 0 && ::listen(listener, 1) == 0 &&
        ::getsockname(listener, any, &size) == 0 && ::connect(ends[0], any, size) == 0)
      ends[1] = ::accept(listener, nullptr, nullptr);
    ::close(listener);
  }
  ~Connection() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void send(int end) const { ASSERT_EQ(::send(ends[end], "x", 1, 0), 1); }
};

Sockets::Config changes() {
  return {.first_pause_ns = 1000 * kSecond, .longest_pause_ns = 1000 * kSecond, .changes = true};
}

TEST(Sockets, BytesThatComeWakeOnceAlthoughNobodyReadsThem) {
  const Connection connection;
  ASSERT_GE(connection.ends[1], 0);
  Sockets sockets(changes());
  sockets.wait(-1, 0);  // both ends have room to send: that is news when the first search ends
  EXPECT_EQ(sockets.wait(-1, 1000), 0);
  connection.send(0);
  EXPECT_EQ(sockets.wait(-1, 10 * kSecond), 1);
  EXPECT_TRUE(sockets.readable(connection.ends[1]));
  EXPECT_EQ(sockets.wait(-1, 1000), 0) << "the byte is still there, and no news";
  connection.send(0);
  EXPECT_EQ(sockets.wait(-1, 10 * kSecond), 1);
}

TEST(Sockets, RoomToSendWakesWhoFoundNone) {
  const Connection connection;
  Sockets sockets(changes());
  sockets.wait(-1, 0);
  std::vector<char> block(1 << 20);
  ssize_t sent = 0, more = 0;
  while ((more = ::send(connection.ends[0], block.data(), block.size(), MSG_DONTWAIT)) > 0)
    sent += more;
  sockets.wait(-1, 0);  // of the bytes that came
  for (ssize_t got = 0; got < sent;)
    got += ::recv(connection.ends[1], block.data(), block.size(), 0);
  bool room = false;
  for (int i = 0; i < 100 && !room; ++i) {
    sockets.wait(-1, kSecond / 10);
    room = sockets.readable(connection.ends[0]);
  }
  EXPECT_TRUE(room);
}

TEST(Sockets, OfThoseThatStayOnTheNodeNoneCountsAsChanged) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  Sockets sockets(changes());
  EXPECT_EQ(sockets.wait(-1, 0), -1) << "there is no socket to another node";
  Sockets all({.first_pause_ns = kSecond, .longest_pause_ns = kSecond});
  ASSERT_EQ(::send(pair[0], "x", 1, 0), 1);
  EXPECT_EQ(all.wait(-1, 10 * kSecond), 1);
  EXPECT_EQ(all.wait(-1, 10 * kSecond), 1) << "as long as it is readable";
  ::close(pair[0]);
  ::close(pair[1]);
}

TEST(Sockets, WhatElseIsWaitedForWakes) {
  const Connection connection;
  const int event = ::eventfd(1, EFD_NONBLOCK);
  Sockets sockets(changes());
  sockets.wait(event, 0);
  EXPECT_EQ(sockets.wait(event, 10 * kSecond), 1);
  EXPECT_TRUE(sockets.readable(event));
  ::close(event);
}

TEST(Sockets, AConnectionMadeMeanwhileIsFoundWhenAskedFor) {
  Sockets sockets({.first_pause_ns = 1000 * kSecond, .longest_pause_ns = 1000 * kSecond});
  sockets.wait(-1, 0);
  const Connection connection;
  EXPECT_TRUE(sockets.look_again());
  EXPECT_FALSE(sockets.look_again()) << "no more of them";
  connection.send(0);
  EXPECT_EQ(sockets.wait(-1, 10 * kSecond), 1);
}

TEST(Sockets, OneThatIsReadableForOthersCanBeIgnored) {
  const Connection noisy;
  const int event = ::eventfd(1, EFD_NONBLOCK);
  Sockets sockets({.first_pause_ns = kSecond, .longest_pause_ns = kSecond});
  noisy.send(0);
  EXPECT_EQ(sockets.wait(event, 10 * kSecond), 2);
  sockets.ignore_readable(event);
  EXPECT_EQ(sockets.wait(event, 10 * kSecond), 1);
  EXPECT_TRUE(sockets.readable(event));
  EXPECT_FALSE(sockets.readable(noisy.ends[1]));
  ::close(event);
}

// Descriptors of this process, whatever they are.
std::vector<int> open_descriptors() {
  std::vector<int> all;
  for (int fd = 3; fd < 64; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) all.push_back(fd);
  return all;
}

// The program has closed all descriptors that it does not know, and has a set of epoll of its own
// under each of their numbers.
TEST(Sockets, AProgramsOwnSetIsNotTakenForTheirs) {
  const Connection connection;
  const std::vector<int> known = open_descriptors();
  {
    Sockets sockets(changes());
    sockets.wait(-1, 0);
    std::vector<int> taken = open_descriptors();
    std::erase_if(taken, [&](int fd) { return std::count(known.begin(), known.end(), fd) != 0; });
    ASSERT_FALSE(taken.empty());
    const int events = ::eventfd(1, 0), own = ::epoll_create1(0);
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.fd = 12345;
    ASSERT_EQ(::epoll_ctl(own, EPOLL_CTL_ADD, events, &event), 0);
    for (const int fd : taken) ASSERT_EQ(::dup2(own, fd), fd);
    sockets.wait(-1, 0);
    EXPECT_EQ(::epoll_wait(own, &event, 1, 0), 1) << "the program's event was taken";
    EXPECT_FALSE(sockets.readable(12345));
    connection.send(0);
    EXPECT_EQ(sockets.wait(-1, 10 * kSecond), 1);
    EXPECT_TRUE(sockets.readable(connection.ends[1]));
    for (const int fd : taken) {
      EXPECT_GE(::fcntl(fd, F_GETFD), 0) << "the program's set was closed";
      ::close(fd);
    }
    ::close(own);
    ::close(events);
  }
  EXPECT_EQ(open_descriptors(), known) << "those that are its own are closed at the end";
}

}  // namespace
}  // namespace hob::os
