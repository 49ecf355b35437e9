// How whoever has nothing to do waits: it polls, so that it answers at once; then it gives its core
// to others between polls; at last it sleeps, which costs nothing.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/backoff.hpp"
#include "pay/yield_predictor.hpp"

namespace hob {

/// What to do after a poll that found nothing. Not thread safe; no clock of its own: callers give
/// nanoseconds of any steady clock.
class Waiter {
 public:
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

  struct Config {                ///< times in ns since there was something to do
    std::uint64_t poll_ns = 0;   ///< for so long, nothing but polls
    bool yields_early = false;   ///< but yields where the core comes back soon
    std::uint64_t yield_ns = 0;  ///< then for so long, yields; without sleeps, for ever
    std::uint64_t sleep_ns = 0;  ///< then sleeps, of this length at most; 0: never
    /// No sleep for so long while those who share the core merely wait, too (YieldPredictor).
    std::uint64_t idle_corunners_ns = 0;
    /// Polls instead of the first sleeps.
    unsigned polls_before_sleep = 0;
    YieldPredictor::Config yields{};
  };

  enum class Step { poll, yield, sleep };

  explicit Waiter(const Config& config) : config_(config), predictor_(config.yields) {}

  /// A wait begins, or there was something to do, at this moment.
  void begin(std::uint64_t now) {
    last_ = now;
    turns_ = polls_ = 0;
  }
  void worked(std::uint64_t now) { last_ = now; }

  /// Nothing was to do at this moment. `may_sleep`: whatever comes next ends a sleep.
  Step next(std::uint64_t now, bool may_sleep = true) {
    const std::uint64_t idle = now - last_;
    if (idle < config_.poll_ns && !(config_.yields_early && predictor_.returns_soon(now)))
      return Step::poll;
    if (may_sleep && wants_sleep(now, idle))
      return polls_++ < config_.polls_before_sleep ? Step::poll : Step::sleep;
    return predictor_.due(turns_++) ? Step::yield : Step::poll;
  }

  std::uint64_t sleep_ns() const { return config_.sleep_ns; }
  YieldPredictor& yields() { return predictor_; }

  /// Whether another process takes this core, and gives it back soon: then it should have it now,
  /// before one more poll.
  bool shares_core(std::uint64_t now) const {
    return predictor_.taken() && predictor_.returns_soon(now);
  }

 private:
  bool wants_sleep(std::uint64_t now, std::uint64_t idle) const {
    if (config_.sleep_ns == 0) return false;
    if (idle < config_.poll_ns + config_.yield_ns && predictor_.returns_soon(now)) return false;
    return !predictor_.corunners_idle() || idle >= config_.idle_corunners_ns;
  }

  Config config_;
  YieldPredictor predictor_;
  std::uint64_t last_ = 0;
  unsigned turns_ = 0;
  unsigned polls_ = 0;
};

/// How long to sleep at a time until a socket signals a message: at growing intervals while none
/// comes. Until a socket has announced one, not for long: messages may come over a network without
/// sockets. Not thread safe.
class SleepTimes {
 public:
  struct Config {
    std::uint64_t first_ns;         ///< after a message
    std::uint64_t unproven_ns;      ///< at most, while no socket has announced one
    std::uint64_t least_proven_ns;  ///< at least, after one has
  };
  explicit SleepTimes(const Config& config)
      : config_(config), next_ns_({.first = config.first_ns, .longest = config.unproven_ns}) {}

  /// At most `longest_ns`.
  std::uint64_t next(std::uint64_t longest_ns) const {
    const std::uint64_t least = proven_ ? config_.least_proven_ns : 0;
    return std::min(std::max(next_ns_.now(), least), most(longest_ns));
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
  void message() {
    proven_ = proven_ || by_socket_;
    next_ns_.reset();
  }

 private:
  std::uint64_t most(std::uint64_t longest_ns) const {
    return proven_ ? longest_ns : std::min(longest_ns, config_.unproven_ns);
  }

  Config config_;
  pay::Backoff<> next_ns_;
  bool by_socket_ = false;  // the last sleep was ended by a socket
  bool proven_ = false;
};

}  // namespace hob
