// Whether giving the core away between two looks pays.
#pragma once

#include <cstdint>
#include <utility>

#include "pay/backoff.hpp"

namespace hob {

/// Among processes that wait for each other the core comes back within microseconds, sooner than a
/// sleeping process is woken. Next to a process that computes it comes back after a time slice of
/// milliseconds, and sleeping is better. The predictor learns from each yield which of the two
/// holds now. Not thread safe; no clock of its own: callers give nanoseconds of any steady clock.
class YieldPredictor {
 public:
  struct Config {
    /// ns. A yield that returned sooner found no other process that wanted the core: two switches
    /// take longer. One that took longer than `taken_ns` found one. In between lie yields without a
    /// taker on slow machines (0.7 to 1.6 us) and those that were taken on fast ones: the system's
    /// count of the thread's lost turns decides.
    std::uint64_t nobody_ns = 400;
    std::uint64_t taken_ns = 3'000;
    /// ns. Up to here, the other process only looked for something to do and gave the core back.
    std::uint64_t look_ns = 20'000;
    /// ns. From here, the other process kept the core: a time slice lost. Well above a few looks,
    /// well below the shortest time slice (about 1 ms).
    std::uint64_t slice_ns = 200'000;
    /// ns. After a lost time slice, no yield is expected back soon for so long; doubled with each
    /// further one, up to `longest_pause_ns`.
    std::uint64_t first_pause_ns = 10'000'000;
    std::uint64_t longest_pause_ns = 640'000'000;
    /// Yields. After so many in a row that came back soon, one lost time slice is an outlier (an
    /// interrupt) and starts no pause.
    unsigned tolerated_outliers = 1000;
    /// Yields. After so many in a row that no process took, only one turn in `sparse` yields.
    unsigned untaken = 16;
    unsigned sparse = 8;
    /// Yields. Corunners count as idle until so many in a row showed nothing of it.
    unsigned unknown = 4;
  };

  YieldPredictor() : YieldPredictor(Config()) {}
  explicit YieldPredictor(const Config& config)
      : config_(config),
        since_look_(config.unknown),
        pause_ns_({.first = config.first_pause_ns, .longest = config.longest_pause_ns}) {}

  /// Whether to yield on turn `turn` of a loop of looks. Where no process takes the core, most
  /// yields would be wasted.
  bool due(unsigned turn) const { return untaken_ < config_.untaken || turn % config_.sparse == 0; }

  /// Whether another process took the core at the last yield.
  bool taken() const { return untaken_ == 0; }

  /// Whether the processes that share the core merely wait, too: then polling costs them
  /// nothing. An interrupt in between, or a yield that no process took, does not end that; a time
  /// slice does.
  bool corunners_idle() const { return since_look_ < config_.unknown; }

  /// Whether a yield may be expected to return within microseconds, at this moment.
  bool returns_soon(std::uint64_t now) const { return now >= trust_from_; }

  /// The core was given away at `begin` and came back at `end`. `turns_lost`: a function that
  /// returns how often this thread has made room for another one so far (os::turns_lost).
  template <class TurnsLost>
  void yielded(std::uint64_t begin, std::uint64_t end, TurnsLost turns_lost) {
    const std::uint64_t away = end - begin;
    const bool taken = was_taken(away, turns_lost);
    const bool lost = away >= config_.slice_ns;
    untaken_ = taken ? 0 : untaken_ + (untaken_ < config_.untaken);
    if (lost)
      since_look_ = config_.unknown;
    else if (taken && away < config_.look_ns)
      since_look_ = 0;
    else if (since_look_ < config_.unknown)
      ++since_look_;
    if (!lost) {
      if (soon_in_a_row_ < config_.tolerated_outliers) ++soon_in_a_row_;
      return;
    }
    const bool outlier = soon_in_a_row_ == config_.tolerated_outliers;
    soon_in_a_row_ = 0;
    if (outlier) {
      pause_ns_.reset();
      return;
    }
    trust_from_ = end + pause_ns_.next();
  }

 private:
  template <class TurnsLost>
  bool was_taken(std::uint64_t away, TurnsLost turns_lost) {
    if (away < config_.nobody_ns) return false;
    if (away >= config_.taken_ns) {
      counted_ = false;
      return true;
    }
    const std::uint64_t before = turns_lost_;
    turns_lost_ = turns_lost();
    // Without a count from before this yield it counts as vain.
    return std::exchange(counted_, true) && turns_lost_ != before;
  }

  Config config_;
  bool counted_ = false;  // turns_lost_ is the count at the last yield's end
  std::uint64_t turns_lost_ = 0;
  unsigned untaken_ = 0;        // yields in a row
  unsigned since_look_;         // yields since a corunner only looked
  unsigned soon_in_a_row_ = 0;  // yields that came back soon
  std::uint64_t trust_from_ = 0;
  pay::Backoff<> pause_ns_;
};

}  // namespace hob
