#include "os/process_monitor.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hob::os {

ProcessMonitor::ProcessMonitor(const std::vector<int>& pids, bool seen) {
  for (std::size_t i = 0; i < pids.size(); ++i) {
    const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pids[i], 0));
    if (fd < 0) {
      if (seen && errno == ESRCH) gone_.push_back(i);
      continue;
    }
    alive_.push_back({fd, POLLIN, 0});
    places_.push_back(i);
  }
}

ProcessMonitor::~ProcessMonitor() {
  for (const pollfd& each : alive_) ::close(each.fd);
}

std::vector<std::size_t> ProcessMonitor::some_ended() {
  std::vector<std::size_t> ended = std::exchange(gone_, {});
  if (alive_.empty() || ::poll(alive_.data(), alive_.size(), 0) <= 0) return ended;
  for (std::size_t i = alive_.size(); i-- > 0;) {
    if (alive_[i].revents == 0) continue;
    ended.push_back(places_[i]);
    ::close(alive_[i].fd);
    alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(i));
    places_.erase(places_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

}  // namespace hob::os
