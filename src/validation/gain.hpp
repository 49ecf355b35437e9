// Whether a process gains by copies that outlive collective calls. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::validation {

/// Recent gain against recent cost, for one window of one process. Times are ticks of one clock.
/// Not thread safe.
class Gain {
 public:
  struct Config {
    double memory = 0.875;  ///< of gain and cost, from one call with gets to the next
    /// What one process saves has to be so many times what it spends: all members spend the same.
    double margin = 2;
    /// Calls in which a process asks though nothing was gained yet: bytes that were kept must be
    /// asked for again before there is a gain. Doubled after each trial, up to the second: the same
    /// bytes may be asked for in every twentieth phase only.
    std::uint32_t trial = 8, longest_trial = 32;
    /// Calls with gets between two trials; four times as many after each, up to the second. In a
    /// trial a barrier may take twice as long.
    std::uint32_t pause = 8, longest_pause = 768;
    /// Calls without gets, one after another, after which a gain is over; sooner where they cost
    /// more than was gained, but not before the second.
    std::uint32_t idle = 64, idle_at_least = 4;
  };

  explicit Gain(const Config& config)
      : config_(config), left_(config.trial), trial_(config.trial), pause_(config.pause) {}
  Gain() : Gain(Config{}) {}

  /// Before a call that may tell: the window's `gets` and `kept_hits` so far, what a `trip` takes,
  /// and what telling takes (`cost`). Whether this process asks for copies to be kept.
  bool asks(std::uint64_t gets, std::uint64_t kept_hits, double trip, double cost) {
    const std::uint64_t hits = kept_hits - kept_hits_;
    const bool read = gets != gets_;
    gets_ = gets;
    kept_hits_ = kept_hits;
    if (asking_) credit_ -= config_.margin * cost;
    if (!read) return asking_ = asking_ && still_worth_it();
    idle_ = 0;
    credit_ = credit_ * config_.memory + static_cast<double>(hits) * trip;
    if (hits != 0 && credit_ > 0) {
      start_anew();
      return asking_ = true;
    }
    return asking_ = tries();
  }

 private:
  /// Between two calls in which nothing was fetched, nothing is learned, but time goes by.
  bool still_worth_it() {
    const bool over = ++idle_ >= config_.idle || (idle_ >= config_.idle_at_least && credit_ < 0);
    if (over) credit_ = 0;
    return !over;
  }

  /// Whether the same bytes will be asked for again is only known when they are.
  bool tries() {
    if (left_ == 0 && pause_left_ != 0 && --pause_left_ == 0) left_ = trial_;
    if (left_ == 0) return false;
    if (--left_ == 0) {
      pause_left_ = pause_;
      pause_ = std::min(4 * pause_, config_.longest_pause);
      trial_ = std::min(2 * trial_, config_.longest_trial);
      credit_ = 0;
    }
    return true;
  }

  void start_anew() {
    left_ = trial_ = config_.trial;
    pause_left_ = 0;
    pause_ = config_.pause;
  }

  Config config_;
  std::uint64_t gets_ = 0;
  std::uint64_t kept_hits_ = 0;
  double credit_ = 0;  ///< ticks saved by kept copies less those spent for them
  bool asking_ = false;
  std::uint32_t idle_ = 0;
  std::uint32_t left_;            ///< calls of a trial
  std::uint32_t trial_;           ///< calls of the next one
  std::uint32_t pause_left_ = 0;  ///< calls with gets until then
  std::uint32_t pause_;           ///< after it
};

}  // namespace hob::validation
