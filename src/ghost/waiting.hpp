// How processes that have nothing to do wait: first so that they answer at once, then so that
// others get the core, at last so that it costs nothing.
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
    /// After the last work, do not sleep for so long while who gets the core gives it back at once.
    std::uint64_t company_ns = 0;
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
  /// Whether, in company (see Courtesy), it may stay awake at this moment.
  bool sociable(std::uint64_t now) const { return now - last_ < config_.company_ns; }

 private:
  Config config_;
  std::uint64_t last_ = 0;
};

/// Whether giving the core away between looks pays. Among processes that wait for each other it
/// comes back within microseconds, sooner than from sleep; next to one that computes it comes back
/// after a time slice, and who sleeps is woken at once.
class Courtesy {
 public:
  /// `forgiving`: after so many good turns in a row, one lost time slice does not count, and the
  /// next is the first again.
  explicit Courtesy(unsigned forgiving = 1000) : forgiving_(forgiving) {}

  /// Whether to give the core away on turn `turn` of a loop of looks. Where nobody takes it, that
  /// is a waste most of the time.
  bool due(unsigned turn) const { return untaken_ < enough || turn % looks == 0; }
  /// Whether somebody took it last time.
  bool taken() const { return untaken_ == 0; }
  /// Whether somebody takes it only to look for something, too. As long as all who share a core
  /// merely wait, staying awake costs nobody anything, and who was asleep answers later. An
  /// interrupt in between, or a turn that nobody took, does not end that; a time slice does.
  bool company() const { return strange_ < enough_strange; }
  /// Whether it may be expected back soon, at this moment (nanoseconds of any steady clock).
  bool returned_soon(std::uint64_t now) const { return now >= trust_from_; }
  /// It was given away and came back.
  void gave(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t away = end - begin;
    untaken_ = away < nobody_ns ? untaken_ + (untaken_ < enough) : 0;
    if (away >= soon_ns) {
      strange_ = enough_strange;
    } else if (away >= nobody_ns && away < look_ns) {
      strange_ = 0;
    } else if (strange_ < enough_strange) {
      ++strange_;
    }
    if (away < soon_ns) {
      if (good_ < forgiving_) ++good_;
      return;
    }
    // One after many that were good: an interrupt, or the first slice of somebody who computes.
    const bool forgiven = good_ == forgiving_;
    good_ = 0;
    if (forgiven) {
      pause_ns_ = first_pause_ns;
      return;
    }
    trust_from_ = end + pause_ns_;
    if (pause_ns_ < last_pause_ns) pause_ns_ *= 2;
  }

  static constexpr std::uint64_t nobody_ns = 1'000;  ///< too short for another process to have run
  static constexpr std::uint64_t look_ns = 20'000;   ///< too long for a look or two
  static constexpr std::uint64_t soon_ns = 200'000;
  static constexpr std::uint64_t first_pause_ns = 10'000'000;
  static constexpr std::uint64_t last_pause_ns = 640'000'000;

 private:
  static constexpr unsigned enough = 16;
  static constexpr unsigned looks = 8;
  static constexpr unsigned enough_strange = 4;
  unsigned forgiving_;
  unsigned untaken_ = 0;
  unsigned strange_ = enough_strange;  // turns since the last look of somebody else
  unsigned good_ = 0;
  std::uint64_t trust_from_ = 0;
  std::uint64_t pause_ns_ = first_pause_ns;
};

inline Waiting::Config Waiting::config_for(WaitStyle style) {
  constexpr std::uint64_t us = 1000;
  constexpr std::uint64_t ms = 1000 * us;
  switch (style) {
    case WaitStyle::spin:
      return {~std::uint64_t{0}, 0, 0, 0};
    case WaitStyle::yield:
      return {0, ~std::uint64_t{0}, 0, 0};
    case WaitStyle::block:
      return {0, 0, 100 * ms, 0};
    case WaitStyle::eager:
      return {50 * us, 500 * us, 100 * ms, 0};
    case WaitStyle::shared:
      break;
  }
  return {0, 200 * us, 100 * ms, 50 * ms};
}

}  // namespace hob::ghost
