// Trying something out: for a while, then without it, then not for a while.
#pragma once

#include <cstdint>

#include "pay/backoff.hpp"

namespace hob::pay {

/// Counts occasions (calls, bursts, phases). Something is tried for some of them. If it has not
/// paid by then, some occasions go without it to compare, where the caller asks for that, and then
/// rests. After each rest it is tried again, and each rest is longer than the one before, until it
/// has paid. Not thread safe.
class Trial {
 public:
  enum class Step : std::uint8_t { trying, comparing, resting };
  using Occasions = Backoff<std::uint32_t>;

  struct Config {
    Occasions::Config
        tries;  ///< occasions of a trial, at least 1; longer after each without a gain
    Occasions::Config rests;     ///< occasions of a rest, at least 1; likewise
    std::uint32_t compares = 0;  ///< occasions to compare; 0: who has not paid rests at once
  };

  explicit Trial(const Config& config)
      : tries_(config.tries),
        rests_(config.rests),
        compares_(config.compares),
        left_(config.tries.first) {}

  Step step() const { return step_; }
  bool trying() const { return step_ == Step::trying; }

  /// It has paid on this occasion: it is tried on, as at first.
  void paid() {
    rests_.reset();
    tries_.reset();
    go_on();
  }

  /// An occasion has passed, and it has not paid. True: it was the last to compare, and the caller
  /// says go_on() or rest().
  bool passed() {
    if (--left_ != 0) return false;
    if (step_ == Step::resting) {
      go_on();
    } else if (step_ == Step::comparing) {
      left_ = 1;
      return true;
    } else if (compares_ != 0) {
      step_ = Step::comparing;
      left_ = compares_;
    } else {
      rest();
    }
    return false;
  }

  /// It is tried, after a comparison that it won or a rest.
  void go_on() {
    step_ = Step::trying;
    left_ = tries_.now();
  }

  /// It gained nothing.
  void rest() {
    step_ = Step::resting;
    left_ = rests_.next();
    tries_.lengthen();
  }

 private:
  Occasions tries_, rests_;
  std::uint32_t compares_;
  std::uint32_t left_;
  Step step_ = Step::trying;
};

}  // namespace hob::pay
