// What is written while the program runs. Global, since every part may write. All mutable globals
// of this layer that others see are here.
#pragma once

#include <atomic>
#include <cstdint>

namespace hob::log {

/// warn: something is wrong or will be slow. info: what the report says at the end, when it becomes
/// known. debug: decisions that are made once, or now and then. trace: decisions about single
/// calls.
enum class Level : std::uint8_t { off, warn, info, debug, trace };

struct Output {
  /// Lines of this level and of those before it are written. Changed before the program has
  /// threads.
  std::atomic<Level> limit{Level::warn};

  /// Of this process, for the begin of each line; -1: not known yet.
  std::atomic<int> rank{-1};
};
/// Of this process.
inline constinit Output output;

}  // namespace hob::log

namespace hob::clocks {

/// The processor's counter is there, and has one rate. Set at the first look (clock.hpp).
inline constinit std::atomic<bool> counter_is_sure{false};

}  // namespace hob::clocks
