#include "os/sockets.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include "base/clock.hpp"
#include "os/descriptors.hpp"

namespace hob::os {
namespace {

using Events = std::array<epoll_event, 16>;

bool speaks_ip(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         (domain == AF_INET || domain == AF_INET6);
}

int wait_for(int epoll, Events& events, std::uint64_t ns) {
  const auto most = static_cast<int>(events.size());
#ifdef SYS_epoll_pwait2
  const timespec limit{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  const auto found =
      static_cast<int>(::syscall(SYS_epoll_pwait2, epoll, events.data(), most, &limit, nullptr, 0));
  if (found >= 0 || errno != ENOSYS) return found;
#endif
  return ::epoll_wait(epoll, events.data(), most, static_cast<int>((ns + 999'999) / 1'000'000));
}

}  // namespace

/// All sets of epoll have one inode, and the program may have its own under this number by now:
/// only this one knows the marker.
bool Sockets::intact() const {
  epoll_event nothing{};
  const int marker = marker_.from.get();
  return epoll_ >= 0 && marker >= 0 && ::epoll_ctl(epoll_, EPOLL_CTL_MOD, marker, &nothing) == 0;
}

void Sockets::close() {
  if (intact()) ::close(epoll_);
  epoll_ = -1;
}

void Sockets::scan(int extra) {
  const std::size_t known = watched_.size();
  // A new set each time: a descriptor may have been closed and its number used again.
  close();
  watched_.clear();
  extra_ = extra;
  looked_ = monotonic_nanoseconds();
  if (!marker_.whole()) marker_ = OwnPipe::make();
  if (!marker_.whole()) return;  // it could not be identified later
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  epoll_event nothing{};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, marker_.from.get(), &nothing);
  const auto watch = [this](int fd, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.fd = fd;
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0) watched_.push_back(fd);
  };
  if (extra >= 0) watch(extra, EPOLLIN);
  const std::uint32_t events = config_.changes ? EPOLLIN | EPOLLOUT | EPOLLET : EPOLLIN;
  each_descriptor([&](int fd) {
    struct stat about {};
    if (fd <= 2 || ::fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) return true;
    if (config_.changes && !speaks_ip(fd)) return true;
    const auto is_this = [fd](const FileIdentity& each) { return is_file(fd, each); };
    if (std::none_of(noisy_.begin(), noisy_.end(), is_this)) watch(fd, events);
    return true;
  });
  pause_ns_ = watched_.size() == known ? std::min(2 * pause_ns_, config_.longest_pause_ns)
                                       : config_.first_pause_ns;
  looked_ = monotonic_nanoseconds();
}

int Sockets::wait(int extra, std::uint64_t ns) {
  if (looked_ == 0 || extra != extra_ || monotonic_nanoseconds() - looked_ > pause_ns_ ||
      (epoll_ >= 0 && !intact()))
    scan(extra);
  if (watched_.size() <= (extra >= 0 ? 1U : 0U)) return -1;
  Events events;
  const int found = std::max(wait_for(epoll_, events, ns), 0);
  readable_.clear();
  for (int i = 0; i < found; ++i) readable_.push_back(events[static_cast<std::size_t>(i)].data.fd);
  return found;
}

bool Sockets::look_again() {
  const std::size_t known = watched_.size();
  scan(extra_);
  pause_ns_ = config_.first_pause_ns;
  return watched_.size() != known;
}

void Sockets::ignore_readable(int extra) {
  for (const int fd : readable_) {
    if (fd != extra) noisy_.push_back(identity_of(fd));
  }
  looked_ = 0;
}

}  // namespace hob::os
