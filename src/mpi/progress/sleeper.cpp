#include "mpi/progress/sleeper.hpp"

#include <unistd.h>

#include <array>
#include <ctime>

namespace hob::mpi {

using namespace tuning::waiting;

bool Sleeper::sleep_for_event(std::uint64_t longest_ns) {
  ++sleeps_;
  const int woken = rest(times_.next(longest_ns));
  if (woken < 0) sleep_for();
  times_.slept(longest_ns, woken > 0, woken > 0 && !sockets_.readable(config_.wakeup_fd));
  return woken > 0;
}

void Sleeper::sleep_for() {
  const long ns = timed_sleep_ns_.now();
  if (++timed_sleeps_ % kTimedSleepsAlike == 0) timed_sleep_ns_.lengthen();
  if (trusted_ && rest(static_cast<std::uint64_t>(ns)) >= 0) return;
  timespec pause{0, ns};
  ::nanosleep(&pause, nullptr);
}

void Sleeper::worked() {
  useless_ = 0;
  timed_sleeps_ = 0;
  timed_sleep_ns_.reset();
  if (!slept_) return;
  slept_ = false;
  times_.message();
  const bool doubtful = trusted_ && !by_event_ && config_.most_without_event != 0;
  if (doubtful && !sockets_.look_again() && ++without_event_ >= config_.most_without_event)
    trusted_ = false;
}

int Sleeper::rest(std::uint64_t ns) {
  const int woken = sockets_.wait(config_.wakeup_fd, ns);
  std::array<char, 64> drained;
  while (woken > 0 && sockets_.readable(config_.wakeup_fd) &&
         ::read(config_.wakeup_fd, drained.data(), drained.size()) > 0) {
  }
  // A socket that is always readable and never brings a message (one that the launcher reads, say)
  // would keep the process polling.
  if (woken > 0 && ++useless_ >= kMostUseless) {
    useless_ = 0;
    sockets_.ignore_readable(config_.wakeup_fd);
  }
  return woken;
}

}  // namespace hob::mpi
