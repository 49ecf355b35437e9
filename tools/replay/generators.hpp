#pragma once

// What the generators of both suites share.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "report/trace.hpp"

namespace hob::replay {

using Records = std::vector<report::TraceRecord>;
using Engine = std::mt19937_64;

inline void get(Records& records, std::uint32_t target, std::uint64_t displacement,
                std::uint64_t size) {
  if (size == 0) return;
  report::TraceRecord record;
  record.target = target;
  record.displacement = displacement;
  record.size = size;
  records.push_back(record);
}

/// Even in [0, count).
inline std::uint64_t below(Engine& random, std::uint64_t count) { return random() % count; }
/// Even in [0, 1).
inline double unit(Engine& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// Draws 0 .. count-1 with probability proportional to 1 / (i + 1)^exponent.
class Zipf {
 public:
  Zipf(std::uint64_t count, double exponent) : sums_(count) {
    double sum = 0;
    for (std::uint64_t i = 0; i < count; ++i)
      sums_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
  }
  std::uint64_t operator()(Engine& random) const {
    const double x = unit(random) * sums_.back();
    return static_cast<std::uint64_t>(std::lower_bound(sums_.begin(), sums_.end(), x) -
                                      sums_.begin());
  }

 private:
  std::vector<double> sums_;
};

/// 0 .. count-1 in random order.
inline std::vector<std::uint32_t> shuffled(Engine& random, std::uint32_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::uint32_t>(below(random, i))]);
  return order;
}

/// Where blocks of different sizes lie one behind the other, each at a multiple of 8.
inline std::vector<std::uint64_t> offsets_of(const std::vector<std::uint64_t>& sizes) {
  std::vector<std::uint64_t> offsets(sizes.size());
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    offsets[i] = at;
    at += (sizes[i] + 7) / 8 * 8;
  }
  return offsets;
}

}  // namespace hob::replay
