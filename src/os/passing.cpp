#include "os/passing.hpp"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>

namespace hob::os {
namespace {

/// Processes that may connect before the giver looks: all of a node.
constexpr int kBacklog = 4096;

bool fill_at_random(std::span<std::uint8_t> bytes) {
  return ::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

/// The name's zero byte in front makes it abstract.
socklen_t address_of(const PassingAddress& address, sockaddr_un& found) {
  found = {};
  found.sun_family = AF_UNIX;
  std::memcpy(found.sun_path + 1, address.name.data(), address.name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + address.name.size());
}

void wait_at_most(int socket, int patience_ms) {
  const timeval limit{patience_ms / 1000, static_cast<suseconds_t>(patience_ms % 1000) * 1000};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

bool knows_token(int socket, const PassingAddress& address) {
  std::array<std::uint8_t, sizeof address.token> said{};
  return ::recv(socket, said.data(), said.size(), MSG_WAITALL) ==
             static_cast<ssize_t>(said.size()) &&
         said == address.token;
}

/// One byte with room for one descriptor beside it.
struct Letter {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr header{};

  Letter() {
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = room.data();
    header.msg_controllen = room.size();
  }
};

bool send_descriptor(int socket, int fd) {
  Letter letter;
  cmsghdr* const rights = CMSG_FIRSTHDR(&letter.header);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  return ::sendmsg(socket, &letter.header, MSG_NOSIGNAL) == 1;
}

}  // namespace

DescriptorGiver::DescriptorGiver() {
  constexpr std::string_view kDigits = "0123456789abcdef", kPrefix = "hob-";
  std::array<std::uint8_t, sizeof address_.name> random{};
  if (!fill_at_random(random) || !fill_at_random(address_.token)) return;
  for (std::size_t i = 0; i < random.size(); ++i)
    address_.name[i] = i < kPrefix.size() ? kPrefix[i] : kDigits[random[i] % kDigits.size()];
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket_ < 0) return;
  sockaddr_un own;
  const socklen_t size = address_of(address_, own);
  address_.listening = ::bind(socket_, reinterpret_cast<const sockaddr*>(&own), size) == 0 &&
                       ::listen(socket_, kBacklog) == 0;
}

DescriptorGiver::~DescriptorGiver() {
  if (socket_ >= 0) ::close(socket_);
}

int DescriptorGiver::give(int fd, int takers, int patience_ms) {
  int given = 0;
  if (address_.listening) wait_at_most(socket_, patience_ms);
  while (address_.listening && given < takers) {
    const int taker = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (taker < 0) break;
    wait_at_most(taker, patience_ms);
    if (knows_token(taker, address_) && send_descriptor(taker, fd)) ++given;
    ::close(taker);
  }
  return given;
}

DescriptorTaker::DescriptorTaker(const PassingAddress& address) {
  if (!address.listening) return;
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un there;
  const socklen_t size = address_of(address, there);
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&there), size) == 0 &&
      ::send(socket_, address.token.data(), address.token.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(address.token.size()))
    return;
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

DescriptorTaker::~DescriptorTaker() {
  if (socket_ >= 0) ::close(socket_);
}

int DescriptorTaker::take(int patience_ms) {
  if (socket_ < 0) return -1;
  wait_at_most(socket_, patience_ms);
  Letter letter;
  if (::recvmsg(socket_, &letter.header, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* const rights = CMSG_FIRSTHDR(&letter.header);
  if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS ||
      rights->cmsg_len != CMSG_LEN(sizeof(int)))
    return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
  return fd;
}

}  // namespace hob::os
