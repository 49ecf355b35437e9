#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

namespace hob {

/// Counts by powers of two: [0] counts the value 0, [k] the values in [2^(k-1), 2^k).
struct Log2Histogram {
  std::array<std::uint64_t, 65> counts{};

  void add(std::uint64_t value) { ++counts[std::bit_width(value)]; }
  void add(const Log2Histogram& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }

  /// Up to the last one that is not 0.
  std::vector<std::uint64_t> trimmed() const {
    auto last = counts.end();
    while (last != counts.begin() && *(last - 1) == 0) --last;
    return {counts.begin(), last};
  }
};

}  // namespace hob
