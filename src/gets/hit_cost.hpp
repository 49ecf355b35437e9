// What a hit takes. Pure.
#pragma once

#include <cstdint>

namespace hob::gets {

/// A hit's way through the wrapper, the look-up and the copy, in ticks (base/clock.hpp).
struct HitCost {
  double ticks = 0;
  double ticks_per_byte = 0;

  std::uint64_t of(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(ticks + ticks_per_byte * static_cast<double>(bytes));
  }
};

}  // namespace hob::gets
