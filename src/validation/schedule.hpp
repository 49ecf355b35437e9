// Which collective calls on a communicator tell who wrote. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::validation {

/// All members of a communicator make the same collective calls on it in the same order, and get
/// the same results from them: what this decides depends on nothing else, so that all decide alike
/// without asking. Not thread safe.
class Schedule {
 public:
  /// Whether the next collective call tells. `costs_nothing`: telling takes the place of the call
  /// (a barrier) instead of coming before it.
  bool due(bool costs_nothing) {
    if (costs_nothing && in_vain_ < kPatience) return true;
    if (skip_ == 0) return true;
    --skip_;
    return false;
  }

  /// The call told; `asked`: some member gains by it, or would like to find out.
  void told(bool asked) {
    in_vain_ = asked ? 0 : in_vain_ + 1;
    interval_ = asked ? 0 : std::min(2 * interval_ + 1, kLongest);
    skip_ = interval_;
  }

 private:
  static constexpr std::uint32_t kLongest = 63;   ///< calls without telling, in a row
  static constexpr std::uint32_t kPatience = 64;  ///< barriers that tell though nobody asks

  std::uint32_t in_vain_ = 0;
  std::uint32_t interval_ = 0;
  std::uint32_t skip_ = 0;
};

}  // namespace hob::validation
