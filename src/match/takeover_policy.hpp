#pragma once

#include <cstddef>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"

namespace hob::match {

/// What matching costs in this process, in ticks of one clock. Measured (takeover_policy.cpp,
/// and by the glue while messages are dequeued).
struct MatchCosts {
  double step = 1;      ///< one more entry in a search of the MPI library's queue
  double dequeue = 20;  ///< to dequeue a message from the library instead of letting it match
};

/// Decides for one communicator whether new receives go to Hob's posted-receive queue (PRQ) or to
/// the MPI library's.
///
/// A search of the library's queue costs `step` for each entry that it passes, Hob's PRQ costs
/// `dequeue` for each message, whatever its length. While receives are in Hob's PRQ, the depth of
/// each match is known, and so the gain or loss. While they are at the library, only lengths
/// are known, not in which order messages find their receives; so evidence of long queues leads to
/// a trial. What trials lose altogether is bounded by a share of the elapsed time.
///
/// Knows no MPI. Not thread safe.
class TakeoverPolicy {
 public:
  struct Config {
    /// Receives at the library from which on a new one starts a trial without other evidence:
    /// beyond that, a search that passes them all costs twenty times as much as a dequeue.
    std::uint64_t threshold = 512;
    /// The threshold is the user's: beyond it all receives go to the PRQ, and there are no trials.
    bool fixed = false;
    /// A phase (from an empty queue to the next) that was so long starts a trial with the next
    /// receive: half of it is the depth of matches in random order, several times a dequeue.
    std::uint64_t long_phase = 128;
    /// Searches of shorter queues are no evidence.
    std::uint64_t least = 0;
    /// Share of the elapsed time that trials may lose.
    double share = 0.01;
    /// They may lose so many dequeues at the start, when hardly any time has elapsed: half a
    /// millisecond, which a queue that grows by and by needs until it is worth it.
    double first_budget = 4096;
    /// A trial may lose half of what the budget has, which must be so many dequeues, and twice as
    /// many after each trial that failed, up to `most_caution` times as many; searches that would
    /// have paid for as many are the evidence for the next one. Where `threshold` receives wait,
    /// trials that failed in shorter queues do not count.
    double trial = 64;
    double most_caution = 1024;  ///< as many trials' dequeues are saved up at most
    /// The gain counts up to this many dequeues: a program that changes is followed as soon.
    double most_credit = 256;
    std::uint64_t (*now)() = nullptr;  ///< the clock of MatchCosts
  };

  /// `costs` is not owned and may change.
  TakeoverPolicy(const Config& config, const MatchCosts& costs);

  /// So many messages were matched by the library behind (at least) `length` receives that wait.
  void searched(std::uint64_t messages, std::uint64_t length) {
    const auto entries = static_cast<double>(length);
    if (length >= config_.least && entries * costs_->step >= costs_->dequeue)
      search_debt_ += static_cast<double>(messages) * entries;
  }

  /// The library's queue is empty; at most `longest` receives were in it since it was so before.
  void phase_ended(std::uint64_t longest) {
    if (longest >= config_.long_phase) long_phase_ = true;
    threshold_ = config_.threshold;
  }

  /// Something speaks for the PRQ, where so many receives wait at the library. Cheap.
  bool has_evidence(std::uint64_t length) const {
    if (length >= threshold_) return true;
    return !config_.fixed &&
           (paying_ || long_phase_ ||
            search_debt_ * costs_->step >= config_.trial * caution_.now() * costs_->dequeue);
  }

  /// A nonblocking receive is posted, the PRQ is empty, and `length` receives wait at the library.
  /// True: it goes to the PRQ, and all receives after it until ended() or reposted().
  bool begins(std::uint64_t length) {
    if (!has_evidence(length)) return false;
    return config_.fixed || paying_ || begin_trial(length);
  }

  /// A message was dequeued, and its receive found behind so many others, which the library would
  /// have passed. False: too much was lost, the PRQ is to be reposted natively.
  bool matched(double passed) {
    balance_ += passed * costs_->step - costs_->dequeue;
    const double most = config_.most_credit * costs_->dequeue;
    if (balance_ > most) balance_ = most;
    return config_.fixed || balance_ >= -allowance_;
  }

  /// The PRQ is empty again.
  void ended();

  /// All that was in the PRQ, so many receives, was reposted natively.
  void reposted(std::uint64_t receives);

  /// The PRQ has been worth it lately.
  bool paying() const { return paying_; }

 private:
  bool begin_trial(std::uint64_t length);
  void failed();

  Config config_;
  const MatchCosts* costs_;
  pay::Budget budget_;       ///< what trials may lose
  std::uint64_t threshold_;  ///< more than the configured one after it was refused a trial
  double search_debt_ = 0;   ///< entries that the library passed since the last trial
  bool long_phase_ = false;
  bool paying_ = false;
  double balance_ = 0;    ///< gained, or lost, since the trial began
  double allowance_ = 0;  ///< what this trial may lose
  pay::Backoff<double> caution_;
};

/// Nanoseconds that a search takes for an entry of a linked list as MPI libraries keep them:
/// entries of some hundred bytes, not in the order of their addresses. Takes about 50 microseconds.
double measure_list_step();

/// The same for a list of so many entries that lie one after the other. Throws std::bad_alloc.
double measure_ordered_list_step(std::size_t entries);

/// The same of a list of so many entries, at least one, that lie at random: what the caches hold
/// shows. Takes some microseconds for short ones, and two milliseconds for 16,384 entries (4 MB).
double measure_scattered_list_step(std::size_t entries);

}  // namespace hob::match
