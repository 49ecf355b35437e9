// Whether a process gains by copies that outlive collective calls. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "pay/trial.hpp"

namespace hob::validation {

/// Recent gain against recent cost, for one window of one process. Times are ticks of one clock.
/// Not thread safe.
class Gain {
 public:
  struct Config {
    double memory = 0.875;  ///< of gain and cost, from one call with gets to the next
    /// A process must save this many times the time that it spends: all members spend the same.
    double margin = 2;
    /// Calls with gets in which a process asks though nothing was gained yet, and between two such
    /// trials. Bytes that were kept must be asked for again before there is a gain, and the same
    /// ones may be asked for in every twentieth phase only. In a trial a barrier may take twice as
    /// long.
    pay::Trial::Config trial{.tries = {.first = 8, .longest = 32},
                             .rests = {.first = 8, .longest = 768, .times = 4}};
    /// Calls without gets, one after another, after which a gain is over; sooner where they cost
    /// more than was gained, but not before the second.
    std::uint32_t idle = 64, idle_at_least = 4;
  };

  explicit Gain(const Config& config) : config_(config), trial_(config.trial) {}
  Gain() : Gain(Config{}) {}

  /// Before a call that may report: the window's `gets` and `kept_hits` so far, what a `trip`
  /// takes, and what telling takes (`cost`). Whether this process asks for copies to be kept.
  bool asks(std::uint64_t gets, std::uint64_t kept_hits, double trip, double cost) {
    const std::uint64_t hits = kept_hits - std::exchange(kept_hits_, kept_hits);
    const bool read = std::exchange(gets_, gets) != gets;
    if (asking_) credit_ -= config_.margin * cost;
    if (!read) return asking_ = asking_ && still_worth_it();
    idle_ = 0;
    credit_ = credit_ * config_.memory + static_cast<double>(hits) * trip;
    if (hits != 0 && credit_ > 0) {
      trial_.paid();
      return asking_ = true;
    }
    asking_ = trial_.trying();
    trial_.passed();
    if (asking_ && !trial_.trying()) credit_ = 0;
    return asking_;
  }

 private:
  /// Between two calls in which nothing was fetched, nothing is learned, but time goes by.
  bool still_worth_it() {
    const bool over = ++idle_ >= config_.idle || (idle_ >= config_.idle_at_least && credit_ < 0);
    if (over) credit_ = 0;
    return !over;
  }

  Config config_;
  pay::Trial trial_;
  std::uint64_t gets_ = 0;
  std::uint64_t kept_hits_ = 0;
  double credit_ = 0;  ///< ticks saved by kept copies less those spent for them
  bool asking_ = false;
  std::uint32_t idle_ = 0;
};

}  // namespace hob::validation
