#include "mpi/ghost_sockets.hpp"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

namespace hob::mpi {
namespace {

constexpr std::uint64_t first_pause_ns = 4'000'000;
constexpr std::uint64_t last_pause_ns = 4'000'000'000;

std::uint64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

void Sockets::scan(int extra) {
  const std::size_t known = watched_.size();
  watched_.clear();
  if (extra >= 0) watched_.push_back({extra, POLLIN, 0});
  if (DIR* directory = ::opendir("/proc/self/fd")) {
    while (const dirent* entry = ::readdir(directory)) {
      const int fd = std::atoi(entry->d_name);
      struct stat about {};
      if (fd <= 2 || ::fstat(fd, &about) != 0 || !S_ISSOCK(about.st_mode)) continue;
      if (std::find(noisy_.begin(), noisy_.end(), fd) == noisy_.end()) watched_.push_back({fd, POLLIN, 0});
    }
    ::closedir(directory);
  }
  pause_ns_ = watched_.size() == known ? std::min(2 * pause_ns_, last_pause_ns) : first_pause_ns;
  looked_ = now_ns();
  extra_ = extra;
}

int Sockets::wait(int extra, int milliseconds) {
  if (looked_ == 0 || now_ns() - looked_ > pause_ns_) scan(extra);
  if (watched_.size() <= (extra >= 0 ? 1U : 0U)) return -1;
  return std::max(::poll(watched_.data(), watched_.size(), milliseconds), 0);
}

bool Sockets::look_again() {
  const std::size_t known = watched_.size();
  scan(extra_);
  pause_ns_ = first_pause_ns;
  return watched_.size() != known;
}

void Sockets::ignore_readable(int extra) {
  for (const pollfd& each : watched_) {
    if (each.fd != extra && each.revents != 0) noisy_.push_back(each.fd);
  }
  looked_ = 0;
}

}  // namespace hob::mpi
