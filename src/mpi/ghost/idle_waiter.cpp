#include "mpi/ghost/idle_waiter.hpp"

#include <unistd.h>

#include <array>
#include <ctime>

#include "mpi/core/tuning.hpp"

namespace hob::mpi {

using namespace tuning::ghost;

bool IdleWaiter::sleep_for_event(std::uint64_t longest_ns) {
  ++status_.sleeps;
  const int woken = rest(patience_.next(longest_ns));
  if (woken < 0) sleep_for();
  patience_.slept(longest_ns, woken > 0, woken > 0 && !sockets_.readable(wakeup_fd_));
  return woken > 0;
}

void IdleWaiter::sleep_for() {
  const long ns = timed_sleep_ns_.now();
  if (++timed_sleeps_ % kTimedSleepsAlike == 0) timed_sleep_ns_.lengthen();
  if (trusted_ && rest(static_cast<std::uint64_t>(ns)) >= 0) return;
  timespec pause{0, ns};
  ::nanosleep(&pause, nullptr);
}

void IdleWaiter::worked() {
  useless_ = 0;
  timed_sleeps_ = 0;
  timed_sleep_ns_.reset();
  if (slept_) patience_.message();
  if (slept_ && trusted_ && !by_event_ && !sockets_.look_again() &&
      ++without_event_ >= kMostWithoutEvent)
    trusted_ = false;
  slept_ = false;
}

int IdleWaiter::rest(std::uint64_t ns) {
  const int woken = sockets_.wait(wakeup_fd_, ns);
  std::array<char, 64> drained;
  while (woken > 0 && sockets_.readable(wakeup_fd_) &&
         ::read(wakeup_fd_, drained.data(), drained.size()) > 0) {
  }
  // A socket that is always readable and never brings a message (one that the launcher reads, say)
  // would keep the ghost polling.
  if (woken > 0 && ++useless_ >= kMostUseless) {
    useless_ = 0;
    sockets_.ignore_readable(wakeup_fd_);
  }
  return woken;
}

}  // namespace hob::mpi
