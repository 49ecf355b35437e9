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
#include <string>
#include <thread>

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

bool is_there(const Launch& job, int rank) {
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  sockaddr_un address;
  const socklen_t length = name(job, rank, address);
  const bool found = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), length) == 0 ||
                     errno != ECONNREFUSED;
  ::close(fd);
  return found;
}

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
  // Where its own name is not found, names say nothing here.
  if (!numbered(job) || !is_there(job, job.rank)) return {};
  using std::chrono::steady_clock;
  const auto deadline = steady_clock::now() + std::chrono::seconds(2);
  Presence found{job.ranks, 0, true};
  for (;;) {
    found.with_hob = 0;
    for (int rank = 0; rank < job.ranks; ++rank) {
      const bool there = is_there(job, rank);
      if (there && rank < job.rank) found.first = false;
      found.with_hob += there;
    }
    if (!found.partial() || steady_clock::now() > deadline) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace hob::mpi
