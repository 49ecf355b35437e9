// Intervals that become longer while nothing is found.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::pay {

/// An interval in any unit (calls, bytes, nanoseconds). Each time that it is lengthened it is
/// multiplied, up to the longest; reset() makes it the first one again. Not thread safe.
template <class T = std::uint64_t>
class Backoff {
 public:
  struct Config {
    T first;      ///< may be 0 if `plus` is not
    T longest;    ///< `times` * longest + plus must be a T
    T times = 2;  ///< at least 1
    /// Added each time. With 1, intervals are odd after the first: programs that repeat themselves
    /// in even numbers are not always seen at the same place.
    T plus = 0;

    /// The interval after `now`, for those who keep theirs elsewhere.
    constexpr T after(T now) const { return std::min<T>(times * now + plus, longest); }
  };

  constexpr explicit Backoff(const Config& config) : config_(config), now_(config.first) {}

  constexpr T now() const { return now_; }

  /// The present interval; from now on it is a longer one.
  constexpr T next() {
    const T present = now_;
    lengthen();
    return present;
  }

  constexpr void lengthen() { now_ = config_.after(now_); }
  /// To `most` at most: the limit of the moment, which may be shorter than the present interval.
  constexpr void lengthen(T most) { now_ = std::min<T>(config_.times * now_ + config_.plus, most); }

  constexpr void reset() { now_ = config_.first; }

 private:
  Config config_;
  T now_;
};

}  // namespace hob::pay
