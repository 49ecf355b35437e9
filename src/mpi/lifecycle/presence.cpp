#include "mpi/lifecycle/presence.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "base/launch.hpp"

namespace hob::mpi {
namespace {

/// Read before the program or Hob change the environment.
const Launch& known() {
  static const auto& only = *new Launch(Launch::here());
  return only;
}

/// Whether names say anything: their number, and who is who.
bool numbered(const Launch& job) { return !job.job.empty() && job.rank >= 0 && job.ranks > 1; }

/// In the abstract name space: it goes with the process.
socklen_t name(const Launch& job, int rank, sockaddr_un& address) {
  const std::string text = fmt::format("hob.{}.{}", job.job, rank);
  address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(text.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, text.data() + (text.size() - length), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

/// Looks for names of ranks through one socket.
class Names {
 public:
  explicit Names(const Launch& job)
      : job_(job), fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}
  ~Names() {
    if (fd_ >= 0) ::close(fd_);
  }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// Where the system does not say, it counts as there.
  bool has(int rank) const {
    sockaddr_un address;
    const socklen_t length = name(job_, rank, address);
    return fd_ < 0 || ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), length) == 0 ||
           errno != ECONNREFUSED;
  }

 private:
  const Launch& job_;
  int fd_;
};

}  // namespace

void announce_presence() {
  const Launch& job = known();
  if (!numbered(job)) return;
  // Never closed: others may look as long as this process lives.
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sockaddr_un address;
  const socklen_t length = name(job, job.rank, address);
  if (::bind(fd, reinterpret_cast<const sockaddr*>(&address), length) != 0) ::close(fd);
}

Presence presence_on_node() {
  const Launch& job = known();
  if (!numbered(job)) return {};
  const Names names(job);
  // Where its own name is not found, names say nothing here.
  if (!names.has(job.rank)) return {};
  std::vector<int> missing(static_cast<std::size_t>(job.ranks));
  std::iota(missing.begin(), missing.end(), 0);
  const auto look = [&] { std::erase_if(missing, [&](int rank) { return names.has(rank); }); };
  look();
  // Ranks in network namespaces of their own do not find each other's names.
  if (!missing.empty() && !sees_all_of_launch(job)) return {};
  // Only those that are missing are looked for again, and each time after twice as long: a dozen
  // looks in all.
  constexpr std::chrono::milliseconds kFirstWait{1}, kLongestWait{1000};
  for (auto wait = kFirstWait; !missing.empty() && wait <= kLongestWait; wait *= 2) {
    std::this_thread::sleep_for(wait);
    look();
  }
  // Which rank is the first one that is there is the first number that is not missing.
  int first = 0;
  for (const int rank : missing) first += rank == first ? 1 : 0;
  return {job.ranks, job.ranks - static_cast<int>(missing.size()), first == job.rank};
}

}  // namespace hob::mpi
