// What a window's hits have saved in time, estimated from trips that were measured in the same run.
// Pure: knows neither MPI nor the cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/random.hpp"

namespace hob::gets {

/// Times are ticks of one clock. Not thread safe.
class Savings {
 public:
  /// What was saved, and what that took.
  struct Counts {
    std::uint64_t trips = 0;        ///< flushes and locks that had nothing to wait for
    std::uint64_t hits = 0;         ///< gets served from the cache
    std::uint64_t bytes = 0;        ///< served so
    std::uint64_t ahead_bytes = 0;  ///< fetched without being asked for
    double hit_ticks = 0;           ///< of one hit
    double ticks_per_byte = 0;      ///< of the network; 0: not measured
  };

  /// A trip for few bytes was made: from its get to the end of its flush. A sample of all of them
  /// is kept, each as likely as the others.
  void trip(std::uint64_t spent) noexcept {
    const std::uint64_t place = seen_ < kSamples ? seen_ : random_.below(seen_ + 1);
    ++seen_;
    if (place < kSamples) samples_[place] = spent;
  }

  /// The median trip; 0: none was measured.
  std::uint64_t typical_trip() const noexcept { return quantile(2); }

  /// The fastest of those that were kept; 0: none was measured.
  std::uint64_t fastest_trip() const noexcept {
    if (seen_ == 0) return 0;
    const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, kSamples));
    return *std::min_element(samples_.begin(), end);
  }

  /// Ticks that the program would have waited without the hits, less what the hits took. A lower
  /// estimate: gets that the program issues together before one flush count as one trip. 0 where no
  /// trip was measured.
  std::uint64_t estimate(const Counts& counts) const noexcept {
    // The first few trips of a program may have waited for targets that were not there yet.
    const auto trip = static_cast<double>(seen_ < kSamples ? quantile(4) : typical_trip());
    // Trips are made for bytes that were not touched before, which is slower where these are near:
    // what a later one would have taken is not known there, and is hardly more than a hit.
    if (static_cast<double>(fastest_trip()) < kNear * counts.hit_ticks) return 0;
    const double saved = static_cast<double>(counts.trips) * trip +
                         static_cast<double>(counts.bytes) * counts.ticks_per_byte;
    const double spent = static_cast<double>(counts.hits) * counts.hit_ticks +
                         static_cast<double>(counts.ahead_bytes) * counts.ticks_per_byte;
    return trip > 0 && saved > spent ? static_cast<std::uint64_t>(saved - spent) : 0;
  }

 private:
  static constexpr std::uint64_t kSamples = 31;
  static constexpr double kNear = 4;  ///< hits that a trip to a near target takes, at most

  /// The trip that one of `parts` of those that were kept took less than; 0: none was measured.
  std::uint64_t quantile(int parts) const noexcept {
    if (seen_ == 0) return 0;
    std::array<std::uint64_t, kSamples> sorted = samples_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(seen_, kSamples));
    const auto place = sorted.begin() + (end - sorted.begin()) / parts;
    std::nth_element(sorted.begin(), place, end);
    return *place;
  }

  std::array<std::uint64_t, kSamples> samples_{};
  std::uint64_t seen_ = 0;
  Random random_{1};
};

}  // namespace hob::gets
