// How processes that have nothing to do wait: first so that they answer at once, then so that
// others get the core, at last so that it costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/backoff.hpp"

namespace hob::ghost {

/// eager: automatic, on a core of its own; shared: automatic, on a core that others want.
enum class WaitStyle { spin, yield, block, eager, shared };

/// What to do when there is nothing to do: spin, then yield, then block. Not thread safe.
class Waiting {
 public:
  struct Config {                ///< all in nanoseconds
    std::uint64_t spin_ns = 0;   ///< after the last work, look again and again for so long
    std::uint64_t yield_ns = 0;  ///< then for so long, giving the core to others between looks
    std::uint64_t block_ns = 0;  ///< then sleep at most so long at a time; 0: never
    /// After the last work, do not sleep for so long while corunners are idle (YieldPredictor).
    std::uint64_t corunners_idle_ns = 0;
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
  /// Whether, among idle corunners, it may go on polling at this moment.
  bool may_stay_awake(std::uint64_t now) const { return now - last_ < config_.corunners_idle_ns; }

 private:
  Config config_;
  std::uint64_t last_ = 0;
};

/// How long to sleep at a time until a socket signals a message: at growing intervals while none
/// comes. Until a socket has announced one, not for long: messages may come over a network without
/// sockets. Not thread safe.
class Patience {
 public:
  struct Config {
    std::uint64_t first_ns;     ///< after a message
    std::uint64_t unproven_ns;  ///< at most, while no socket has announced one
  };
  explicit Patience(Config config)
      : config_(config), next_ns_({.first = config.first_ns, .longest = config.unproven_ns}) {}

  /// At most `longest_ns`.
  std::uint64_t next(std::uint64_t longest_ns) const {
    return std::min(next_ns_.now(), most(longest_ns));
  }

  /// A sleep is over. `woken`: something ended it; `by_socket`: not only what neighbours on this
  /// node wake it with.
  void slept(std::uint64_t longest_ns, bool woken, bool by_socket) {
    by_socket_ = by_socket;
    if (woken)
      next_ns_.reset();
    else
      next_ns_.lengthen(most(longest_ns));
  }
  /// A sleep begins, unless something is there already.
  void begin() { by_socket_ = false; }
  /// A message is here.
  void message() { proven_ = proven_ || by_socket_; }

 private:
  std::uint64_t most(std::uint64_t longest_ns) const {
    return proven_ ? longest_ns : std::min(longest_ns, config_.unproven_ns);
  }

  Config config_;
  pay::Backoff<> next_ns_;
  bool by_socket_ = false;  // the last sleep was ended by a socket
  bool proven_ = false;
};

inline Waiting::Config Waiting::config_for(WaitStyle style) {
  constexpr std::uint64_t us = 1000;
  constexpr std::uint64_t ms = 1000 * us;
  constexpr std::uint64_t for_ever = ~std::uint64_t{0};
  // A sleeping process looks after its peers so often (do they still live?).
  constexpr std::uint64_t longest_sleep = 100 * ms;
  switch (style) {
    case WaitStyle::spin:
      return {for_ever, 0, 0, 0};
    case WaitStyle::yield:
      return {0, for_ever, 0, 0};
    case WaitStyle::block:
      return {0, 0, longest_sleep, 0};
    case WaitStyle::eager:
      // Waking takes about 50 us: who spins as long as that loses at most a factor of two. On a
      // core of its own it then yields for ten times as long before it sleeps.
      return {50 * us, 500 * us, longest_sleep, 0};
    case WaitStyle::shared:
      break;
  }
  // Others want the core: never spin. A burst of requests has pauses of tens of microseconds; among
  // idle corunners polling is free, for as long as a phase of a program may pause (50 ms).
  return {0, 200 * us, longest_sleep, 50 * ms};
}

}  // namespace hob::ghost
