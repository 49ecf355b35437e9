// What a hit takes. Pure.
#pragma once

#include <cstdint>

#include "base/published.hpp"

namespace hob::gets {

/// A hit's way through the wrapper, the look-up and the copy, in ticks (base/clock.hpp). One thread
/// measures it while the gets of others, of other windows, read it.
class HitCost {
 public:
  constexpr HitCost(double ticks, double ticks_per_byte)
      : ticks_(ticks), ticks_per_byte_(ticks_per_byte) {}

  double ticks() const { return ticks_.get(); }
  double ticks_per_byte() const { return ticks_per_byte_.get(); }

  void set(double ticks, double ticks_per_byte) {
    ticks_.set(ticks);
    ticks_per_byte_.set(ticks_per_byte);
  }

  std::uint64_t of(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(ticks() + ticks_per_byte() * static_cast<double>(bytes));
  }

 private:
  Published<double> ticks_;
  Published<double> ticks_per_byte_;
};

}  // namespace hob::gets
