#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hob::match {

/// Counts of values by powers of two: counts[0] counts the value 0, counts[k] the values in
/// [2^(k-1), 2^k), the last one everything larger too.
struct Log2Histogram {
  std::array<std::uint64_t, 34> counts{};

  void add(std::uint64_t value) {
    std::size_t bucket = static_cast<std::size_t>(std::bit_width(value));
    ++counts[bucket < counts.size() ? bucket : counts.size() - 1];
  }

  void add(const Log2Histogram& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
  }
};

}  // namespace hob::match
