// Whether a process gains by copies that outlive collective calls. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "pay/budget.hpp"
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
    /// ones may be asked for in every twentieth phase only.
    pay::Trial::Config trial{.tries = {.first = 8, .longest = 32},
                             .rests = {.first = 8, .longest = 768, .times = 4}};
    /// A trial ends sooner after so many calls with gets in a row that had everything dropped. The
    /// first four only begin to track stores: of a sample of the pages, then of all.
    std::uint32_t dropped = 7;
    /// Of the time, what trials may take: a barrier may take several times as long in one.
    double share = 1.0 / 128;
    /// Calls without gets, one after another, after which a gain is over; sooner where they cost
    /// more than was gained, but not before the second.
    std::uint32_t idle = 64, idle_at_least = 4;
  };

  explicit Gain(const Config& config) : config_(config), trial_(config.trial) {}
  Gain() : Gain(Config{}) {}

  /// Before a call that may report.
  struct Call {
    std::uint64_t gets, kept_hits;  ///< of the window so far
    double trip;                    ///< that a get takes
    double cost;                    ///< of the report: looking for stores, and the messages
    std::uint64_t now;
    double begin = 0;     ///< what it takes once to begin to look for stores
    bool reused = false;  ///< some bytes of the window were asked for twice, or in two phases
  };
  /// Whether this process asks for copies to be kept.
  bool asks(const Call& call) {
    const std::uint64_t hits = call.kept_hits - std::exchange(kept_hits_, call.kept_hits);
    const bool read = std::exchange(gets_, call.gets) != call.gets;
    if (asking_) {
      credit_ -= config_.margin * call.cost;
      trial_cost_ += config_.margin * call.cost;
    }
    if (!read) return asking_ = asking_ && still_worth_it();
    idle_ = 0;
    dropped_ = std::exchange(all_dropped_, false) && asking_ ? dropped_ + 1 : 0;
    if (!begins(call)) return false;
    credit_ = credit_ * config_.memory + static_cast<double>(hits) * call.trip;
    if (hits != 0 && credit_ > 0) {
      trial_.paid();
      trial_cost_ = 0;
      return asking_ = true;
    }
    return asking_ = tries(call.now);
  }

  /// Whether a first trial has begun: Call::begin and Call::reused are not looked at any more.
  bool begun() const { return begun_; }

  /// After a call that reported: no copy may be kept.
  void all_dropped() { all_dropped_ = true; }

 private:
  /// Whether the first trial may begin. Where nothing says that it will gain, it waits until what
  /// it takes is its share of the time.
  bool begins(const Call& call) {
    if (begun_) return true;
    if (since_ == 0) since_ = call.now;
    const auto passed = static_cast<double>(call.now - since_);
    return begun_ = call.reused || call.begin <= config_.share * passed;
  }

  /// Nothing was gained: whether this call is one of a trial.
  bool tries(std::uint64_t now) {
    if (!asking_ && trial_.trying() && now < rests_until_) return false;
    const bool trying = trial_.trying();
    if (asking_ && trying && dropped_ >= config_.dropped)
      trial_.rest();
    else
      trial_.passed();
    if (!trying || trial_.trying()) return trying;
    credit_ = 0;
    rests_until_ = now + pay::Budget::time_for(std::exchange(trial_cost_, 0), config_.share);
    return true;
  }

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
  double credit_ = 0;        ///< ticks saved by kept copies less those spent for them
  bool begun_ = false;       ///< the first trial
  std::uint64_t since_ = 0;  ///< it was asked for
  bool asking_ = false;
  std::uint32_t idle_ = 0;
  bool all_dropped_ = false;   ///< since the last call with gets
  std::uint32_t dropped_ = 0;  ///< calls with gets in a row before which that was so
  double trial_cost_ = 0;      ///< ticks, of the present trial
  std::uint64_t rests_until_ = 0;
};

}  // namespace hob::validation
