// Which collective calls on a communicator report who wrote, and in how many words. Pure.
#pragma once

#include <cstdint>

#include "pay/backoff.hpp"

namespace hob::validation {

/// All members of a communicator make the same collective calls on it in the same order, and get
/// the same results from them: what this decides depends on nothing else, so that all decide alike
/// without asking. Not thread safe.
class Schedule {
 public:
  static constexpr std::uint32_t kLongest = 127;  ///< calls without telling, in a row
  static constexpr std::uint32_t kPatience = 8;   ///< barriers that report though no member asks

  /// Whether the next collective call reports. `costs_little`: the report takes the place of the
  /// call (a barrier) instead of coming before it.
  bool due(bool costs_little) {
    if (costs_little && in_vain_ < patience_) return true;
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }

  /// Whether the members report all details at once. Else one word says whether anything may
  /// have changed, and the details follow if so and if a member asks.
  bool details() const { return details_; }

  /// The call reported; `asked`: some member gains by it, or would like to find out; `changed`:
  /// something may have changed.
  void reported(bool asked, bool changed) {
    details_ = asked && changed;
    in_vain_ = asked ? 0 : in_vain_ + 1;
    if (asked) {
      interval_.reset();
      patience_ = kPatience;
    } else {
      interval_.lengthen();
    }
    skip_ = interval_.now();
    asked_ = asked_ || asked;
  }

  /// There is another window: who asked for copies of the others may ask for its, or will not.
  void begin_window() {
    if (asked_ || !any_window_) {
      interval_.reset();
      skip_ = 0;
      patience_ = kPatience;
    } else {
      patience_ /= 2;
    }
    in_vain_ = 0;
    asked_ = false;
    any_window_ = true;
  }

 private:
  std::uint32_t in_vain_ = 0;
  pay::Backoff<std::uint32_t> interval_{{.first = 0, .longest = kLongest, .plus = 1}};
  std::uint32_t skip_ = 0;
  std::uint32_t patience_ = kPatience;
  bool details_ = false;
  bool asked_ = false;  ///< since the last window began
  bool any_window_ = false;
};

}  // namespace hob::validation
