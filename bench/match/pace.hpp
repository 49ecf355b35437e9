// Tells whether the core runs at its full speed. On a virtual machine another guest may use the
// same core's other thread: everything then takes up to twice as long, for milliseconds or minutes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "result.hpp"

namespace hob::bench {

class Pace {
 public:
  /// Measures until `sample` ran at full speed from begin to end, some times at most; the last
  /// measurement counts if none did.
  template <class Sample>
  double undisturbed(Sample&& sample) {
    ++samples_;
    double result = 0;
    for (int attempt = 0; attempt < attempts; ++attempt) {
      bool before = full();
      result = sample();
      if (before && full()) return result;
      ++repeated_;
    }
    ++disturbed_;
    return result;
  }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t repeated() const { return repeated_; }    ///< measurements thrown away
  std::uint64_t disturbed() const { return disturbed_; }  ///< samples that never ran undisturbed

 private:
  static constexpr int attempts = 6;

  /// A fixed number of instructions that do not depend on each other, as many at a time as the core
  /// can; they take 1.15 x the least time ever seen, at most, if nobody else uses the core.
  bool full() {
    double begin = wall_ns();
    std::uint64_t a = 1, b = 1, c = 1, d = 1;
    for (int i = 0; i < 10000; ++i) {
      a += 1, b += 2, c += 3, d += 4;
      asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
    }
    double took = wall_ns() - begin;
    least_ = std::min(least_, took);
    return took < 1.15 * least_;
  }

  double least_ = 1e18;
  std::uint64_t samples_ = 0;
  std::uint64_t repeated_ = 0;
  std::uint64_t disturbed_ = 0;
};

}  // namespace hob::bench
