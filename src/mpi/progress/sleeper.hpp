// How a process sleeps that waits for messages.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/core/tuning.hpp"
#include "os/sockets.hpp"
#include "pay/backoff.hpp"
#include "pay/waiter.hpp"

namespace hob::mpi {

/// Sleeping until a message may have come: on the sockets of the process, and on a descriptor that
/// others of this node make readable. Until a socket has announced a message, sleeps are short; if
/// messages come that no socket announced (a network without sockets), it sleeps for a set time
/// instead. Not thread safe.
class Sleeper {
 public:
  struct Config {
    int wakeup_fd = -1;
    /// Set while it sleeps and would be woken; null: no process reads it.
    std::atomic<std::uint32_t>* asleep = nullptr;
    bool timed = false;  ///< sockets announce nothing here
    /// Messages that came while it slept and that no socket announced, before it sleeps for a set
    /// time; 0: it goes on.
    unsigned most_without_event = 0;
    SleepTimes::Config times{};
  };
  explicit Sleeper(const Config& config)
      : config_(config), trusted_(!config.timed), times_(config.times) {}

  /// At most so long, unless `arrived` says that something came before it could be announced.
  /// Whether something woke it.
  template <class Arrived>
  bool sleep(std::uint64_t longest_ns, Arrived arrived) {
    slept_ = true;
    times_.begin();
    if (!trusted_) {
      sleep_for();
      return false;
    }
    if (config_.asleep != nullptr) config_.asleep->store(1, std::memory_order_seq_cst);
    by_event_ = arrived() || sleep_for_event(longest_ns);
    if (config_.asleep != nullptr) config_.asleep->store(0, std::memory_order_relaxed);
    return by_event_;
  }

  /// A timed sleep with exponential back-off since something was done last. A message wakes it.
  void sleep_for();

  /// Notified of messages.
  void worked();

  /// How often it has waited for an event.
  std::uint64_t sleeps() const { return sleeps_; }

 private:
  bool sleep_for_event(std::uint64_t longest_ns);
  /// Number of descriptors that have something to say; -1 if there are none.
  int rest(std::uint64_t ns);

  Config config_;
  bool trusted_;
  bool by_event_ = false;
  bool slept_ = false;
  unsigned without_event_ = 0;
  unsigned useless_ = 0;
  unsigned timed_sleeps_ = 0;
  std::uint64_t sleeps_ = 0;
  pay::Backoff<long> timed_sleep_ns_{{.first = tuning::waiting::kFirstTimedSleepNs,
                                      .longest = tuning::waiting::kLongestTimedSleepNs}};
  SleepTimes times_;
  os::Sockets sockets_{{.first_pause_ns = tuning::waiting::kFirstScanPauseNs,
                        .longest_pause_ns = tuning::waiting::kLongestScanPauseNs}};
};

}  // namespace hob::mpi
