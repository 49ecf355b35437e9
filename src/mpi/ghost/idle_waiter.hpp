// How a ghost sleeps.
#pragma once

#include <cstdint>

#include "ghost/waiting.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/ghost/job/world.hpp"
#include "os/sockets.hpp"
#include "pay/backoff.hpp"

namespace hob::mpi {

/// Sleeping until a message may have come: on the sockets of the process, and on a pipe that
/// application ranks of this node write to. Until a socket has announced a message, sleeps are
/// short; if messages come that no socket announced (a network without sockets), it sleeps for a
/// set time instead. Not thread safe.
class IdleWaiter {
 public:
  /// `timed`: sockets announce nothing here.
  IdleWaiter(GhostStatus& status, int wakeup_fd, bool timed)
      : status_(status), wakeup_fd_(wakeup_fd), trusted_(!timed) {}

  /// At most so long, unless `arrived` says that something came before it could be announced.
  /// Whether something woke it.
  template <class Arrived>
  bool sleep(std::uint64_t longest_ns, Arrived arrived) {
    slept_ = true;
    patience_.begin();
    if (!trusted_) {
      sleep_for();
      return false;
    }
    status_.asleep.store(1, std::memory_order_seq_cst);
    by_event_ = arrived() || sleep_for_event(longest_ns);
    status_.asleep.store(0, std::memory_order_relaxed);
    return by_event_;
  }

  /// A timed sleep with exponential back-off since something was done last. A message wakes it.
  void sleep_for();

  /// Notified of messages.
  void worked();

 private:
  bool sleep_for_event(std::uint64_t longest_ns);
  /// Number of descriptors that have something to say; -1 if there are none.
  int rest(std::uint64_t ns);

  GhostStatus& status_;
  int wakeup_fd_;
  bool trusted_;
  bool by_event_ = false;
  bool slept_ = false;
  unsigned without_event_ = 0;
  unsigned useless_ = 0;
  unsigned timed_sleeps_ = 0;
  pay::Backoff<long> timed_sleep_ns_{
      {.first = tuning::ghost::kFirstTimedSleepNs, .longest = tuning::ghost::kLongestTimedSleepNs}};
  ghost::Patience patience_{
      {.first_ns = tuning::ghost::kFirstSleepNs, .unproven_ns = tuning::ghost::kUnprovenSleepNs}};
  os::Sockets sockets_{{.first_pause_ns = tuning::ghost::kFirstScanPauseNs,
                        .longest_pause_ns = tuning::ghost::kLongestScanPauseNs}};
};

}  // namespace hob::mpi
