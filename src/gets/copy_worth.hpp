// Whether keeping large gets pays, storing them included. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "pay/price.hpp"

namespace hob::gets {

/// Times are ticks of one clock. Not thread safe.
class CopyWorth {
 public:
  /// Bytes of a get from which on a copy takes much of what a trip does: a burst of gets has them
  /// arrive at the network's rate, which may be twice a copy's time.
  static constexpr std::uint64_t kLarge = std::uint64_t{16} << 10;

  /// The program waited this long for so many gets of so many bytes together.
  void waited(std::uint64_t gets, std::uint64_t bytes, std::uint64_t ticks) {
    if (gets != 0 && bytes >= gets * kLarge)
      fetched_.add(static_cast<double>(ticks) / static_cast<double>(bytes));
  }
  /// To copy so many bytes into the cache took this long.
  void stored(std::uint64_t bytes, std::uint64_t ticks) {
    stored_.add(static_cast<double>(ticks) / static_cast<double>(bytes));
  }

  bool known() const { return !fetched_.empty() && !stored_.empty(); }
  /// How many bytes may be stored for each byte that a copy has served, if known(). A hit is a copy
  /// as well: it saves the difference.
  double stores_per_hit() const {
    const double copy = std::max(stored_.median(), kLeast);
    return std::max(fetched_.median() - copy, 0.0) / (copy * kMargin);
  }

 private:
  static constexpr std::size_t kSamples = 15;
  static constexpr double kLeast = 1e-6;
  /// Copies take cache lines of the processor's away from the program.
  static constexpr double kMargin = 1.5;

  pay::Recent<kSamples> fetched_;  ///< ticks for each byte
  pay::Recent<kSamples> stored_;
};

}  // namespace hob::gets
