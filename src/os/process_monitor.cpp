#include "os/process_monitor.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace hob::os {
namespace {

OwnDescriptor open_process(int pid) {
  return OwnDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return ::poll(&one, 1, 0) > 0;
}

}  // namespace

ProcessMonitor::ProcessMonitor(const std::vector<int>& pids, bool seen) {
  for (std::size_t i = 0; i < pids.size(); ++i) {
    OwnDescriptor process = open_process(pids[i]);
    if (const int fd = process.get(); fd >= 0) {
      alive_.push_back({fd, POLLIN, 0});
      processes_.push_back({i, pids[i], std::move(process)});
    } else if (seen && errno == ESRCH) {
      gone_.push_back(i);
    }
  }
}

/// Whether the process has ended, whatever its descriptor says, whose number may mean something
/// else by now: then it gets a new one.
bool ProcessMonitor::has_ended(std::size_t which) {
  OwnDescriptor anew = open_process(processes_[which].pid);
  const int fd = anew.get();
  if (fd < 0) return errno == ESRCH;
  if (is_readable(fd)) return true;
  alive_[which].fd = fd;
  processes_[which].descriptor = std::move(anew);
  return false;
}

std::vector<std::size_t> ProcessMonitor::some_ended() {
  std::vector<std::size_t> ended = std::exchange(gone_, {});
  if (alive_.empty() || ::poll(alive_.data(), alive_.size(), 0) <= 0) return ended;
  for (std::size_t i = alive_.size(); i-- > 0;) {
    if (alive_[i].revents == 0 || !has_ended(i)) continue;
    ended.push_back(processes_[i].place);
    alive_.erase(alive_.begin() + static_cast<std::ptrdiff_t>(i));
    processes_.erase(processes_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return ended;
}

}  // namespace hob::os
