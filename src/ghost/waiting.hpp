// How a ghost that has nothing to do waits: first so that it answers at once, then so that others
// get the core, at last so that it costs nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace hob::ghost {

/// eager: automatic, on a core of its own; shared: automatic, on a core that others want.
enum class WaitStyle { spin, yield, block, eager, shared };

class Waiting {
 public:
  struct Config {
    std::uint64_t spin_ns = 0;   ///< after the last work, look again and again for so long
    std::uint64_t yield_ns = 0;  ///< then for so long, giving the core to others between looks
    std::uint64_t block_ns = 0;  ///< then sleep at most so long at a time; 0: never
  };
  enum class Step { spin, yield, block };

  explicit Waiting(Config config) : config_(config) {}
  static Config config_for(WaitStyle style);

  /// Something was done at this moment (nanoseconds of any steady clock).
  void worked(std::uint64_t now) { last_ = now; }
  /// Nothing was to do at this moment.
  Step idle(std::uint64_t now) const {
    const std::uint64_t since = now - last_;
    if (since < config_.spin_ns) return Step::spin;
    if (config_.block_ns == 0 || since < config_.spin_ns + config_.yield_ns) {
      return config_.yield_ns == 0 && config_.block_ns == 0 ? Step::spin : Step::yield;
    }
    return Step::block;
  }
  std::uint64_t block_ns() const { return config_.block_ns; }

 private:
  Config config_;
  std::uint64_t last_ = 0;
};

inline Waiting::Config Waiting::config_for(WaitStyle style) {
  constexpr std::uint64_t us = 1000;
  constexpr std::uint64_t ms = 1000 * us;
  switch (style) {
    case WaitStyle::spin:
      return {~std::uint64_t{0}, 0, 0};
    case WaitStyle::yield:
      return {0, ~std::uint64_t{0}, 0};
    case WaitStyle::block:
      return {0, 0, 100 * ms};
    case WaitStyle::eager:
      return {50 * us, 500 * us, 100 * ms};
    case WaitStyle::shared:
      break;
  }
  return {0, 0, 100 * ms};
}

}  // namespace hob::ghost
