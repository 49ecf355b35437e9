// What something costs, as some measurements say.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace hob::pay {

/// Half of the samples lie between `least` and `most`.
struct PriceRange {
  double least = 0, usual = 0, most = 0;
  bool known = false;
};

/// The price by samples, which are sorted for it. Of few, the fast ones count: the first
/// ones find cold caches, and targets that are not there yet. Unknown where they are too few, or
/// few and far apart.
inline PriceRange price_range(std::span<double> samples) {
  constexpr std::size_t kFewest = 3, kEnough = 8;
  constexpr double kAgree = 2;  // of few, the median is at most this multiple of the fastest
  const std::size_t count = samples.size();
  if (count < kFewest) return {};
  std::sort(samples.begin(), samples.end());
  const double median = samples[count / 2];
  if (count >= kEnough) return {samples[count / 4], median, samples[count * 3 / 4], true};
  if (median > kAgree * samples[0]) return {};
  return {samples[0], samples[count / 4], median, true};
}

/// The saving, likewise, in the unit of the prices. Where `most` is less than `usual`, that is
/// a bound from below.
struct SavedRange {
  double least = 0, usual = 0, most = 0;
  bool known = false;
};

}  // namespace hob::pay
