#include "os/passing.hpp"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace hob::os {
namespace {

/// Processes that may connect before the giver looks: all of a node.
constexpr int kBacklog = 4096;

/// Connections of this user that have not said all of the token yet. Takers say it at once, so that
/// one is rarely waited for; beyond, the oldest one is closed.
constexpr std::size_t kMostUnproven = 64;

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

/// Milliseconds of which none is left after so many.
class Deadline {
 public:
  explicit Deadline(int ms)
      : end_(monotonic_nanoseconds() + static_cast<std::uint64_t>(ms) * 1'000'000) {}
  int left_ms() const {
    const std::uint64_t now = monotonic_nanoseconds();
    return now >= end_ ? 0 : static_cast<int>((end_ - now + 999'999) / 1'000'000);
  }

 private:
  std::uint64_t end_;
};

/// Whether the process at the other end runs for the user for whom this one does. The kernel says
/// so, whatever the other process says or does not say.
bool is_of_this_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

/// A connection whose token has not been read, or not all of it.
struct Unproven {
  int socket = -1;
  std::size_t have = 0;
  std::array<std::uint8_t, sizeof PassingAddress::token> said{};
};

enum class Proof { given, refused, incomplete };

/// Reads what has arrived, without waiting for more.
Proof look_at(Unproven& peer, const PassingAddress& address) {
  const auto more =
      ::recv(peer.socket, peer.said.data() + peer.have, peer.said.size() - peer.have, MSG_DONTWAIT);
  if (more < 0 && (errno == EAGAIN || errno == EINTR)) return Proof::incomplete;
  if (more <= 0) return Proof::refused;
  peer.have += static_cast<std::size_t>(more);
  if (peer.have < peer.said.size()) return Proof::incomplete;
  return peer.said == address.token ? Proof::given : Proof::refused;
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
  return ::sendmsg(socket, &letter.header, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

/// Those that connect. None is waited for alone.
class Callers {
 public:
  Callers(int listening, int most) : listening_(listening), left_(most) {}
  ~Callers() {
    for (const Unproven& peer : unproven_) ::close(peer.socket);
  }
  Callers(const Callers&) = delete;
  Callers& operator=(const Callers&) = delete;

  /// Until another one connects, or one that has connected says something. False: neither happened
  /// in so many milliseconds, or no process is left.
  bool wait(int ms) {
    if (left_ == 0 && unproven_.empty()) return false;
    std::vector<pollfd> watched{{left_ > 0 ? listening_ : -1, POLLIN, 0}};
    for (const Unproven& peer : unproven_) watched.push_back({peer.socket, POLLIN, 0});
    const int found = ::poll(watched.data(), watched.size(), ms);
    return found > 0 || (found < 0 && errno == EINTR);
  }

  /// Accepts those of this user that have connected, as many as may be unproven at a time.
  void admit() {
    while (left_ > 0 && unproven_.size() <= kMostUnproven) {
      const int peer = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (peer < 0) {
        if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) left_ = 0;
        return;
      }
      --left_;
      if (is_of_this_user(peer))
        unproven_.push_back({peer});
      else
        ::close(peer);
    }
  }

  /// Gives the file to those that have said the token. Returns how many they are.
  int serve(const PassingAddress& address, int fd) {
    int given = 0;
    for (Unproven& peer : unproven_) {
      const Proof proof = look_at(peer, address);
      if (proof == Proof::incomplete) continue;
      if (proof == Proof::given && send_descriptor(peer.socket, fd)) ++given;
      ::close(std::exchange(peer.socket, -1));
    }
    std::erase_if(unproven_, [](const Unproven& peer) { return peer.socket < 0; });
    if (unproven_.size() > kMostUnproven) {
      ::close(unproven_.front().socket);
      unproven_.erase(unproven_.begin());
    }
    return given;
  }

 private:
  int listening_;
  int left_;  ///< that may still be accepted
  std::vector<Unproven> unproven_;
};

}  // namespace

DescriptorGiver::DescriptorGiver() {
  constexpr std::string_view kDigits = "0123456789abcdef", kPrefix = "hob-";
  std::array<std::uint8_t, sizeof address_.name> random{};
  if (!fill_at_random(random) || !fill_at_random(address_.token)) return;
  for (std::size_t i = 0; i < random.size(); ++i)
    address_.name[i] = i < kPrefix.size() ? kPrefix[i] : kDigits[random[i] % kDigits.size()];
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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
  if (!address_.listening) return 0;
  const Deadline deadline(patience_ms);
  // The takers are among those that wait, however many strangers there are beside them.
  Callers callers(socket_, kBacklog + takers);
  int given = 0;
  while (given < takers && callers.wait(deadline.left_ms())) {
    callers.admit();
    given += callers.serve(address_, fd);
  }
  return given;
}

DescriptorTaker::DescriptorTaker(const PassingAddress& address) {
  if (!address.listening) return;
  // It does not wait: strangers may have filled the giver's queue.
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_un there;
  const socklen_t size = address_of(address, there);
  if (socket_ >= 0 && ::connect(socket_, reinterpret_cast<const sockaddr*>(&there), size) == 0 &&
      is_of_this_user(socket_) &&
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
  pollfd giver{socket_, POLLIN, 0};
  const Deadline deadline(patience_ms);
  while (::poll(&giver, 1, deadline.left_ms()) < 0 && errno == EINTR) {
  }
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
