// How fast a target's own gets are, and whether a cache can be faster. Pure: knows neither MPI nor
// the cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::gets {

/// What one target's gets cost without a cache: learned from samples (one get, one flush, nothing
/// else in between), and looked at again now and then, since networks get busy and the first gets
/// set up connections. Times are ticks of one clock. Not thread safe.
class TargetProfile {
 public:
  struct Config {
    bool bypass = true;         ///< whether targets are bypassed at all
    bool one_node = false;      ///< all of the program's ranks are on one
    std::uint32_t samples = 8;  ///< of which a verdict is made
    /// A target is bypassed if its get and flush take less than this many hits: below, what a hit
    /// saves does not pay for the misses.
    std::uint64_t worthwhile = 6;
    /// Gets given to the library between a verdict and the next look; doubled whenever the verdict
    /// stays, up to the second.
    std::uint64_t look_again = 4096;
    std::uint64_t look_again_at_most = std::uint64_t{1} << 20;
    /// Gets that such a look may last; a program that never flushes after one get has no samples.
    std::uint64_t patience = 256;
    /// The same for a target that is cached: nothing is lost by looking, and a burst of gets that
    /// one flush ends is longer.
    std::uint64_t patience_cached = 16'384;
  };

  static constexpr std::uint64_t kUnknown = ~std::uint64_t{0};
  /// Times what makes a target worth caching, from which on it is far.
  static constexpr std::uint64_t kFar = 4;
  static constexpr std::uint64_t kSmall = 1024;    ///< bytes: up to here, latency is all
  static constexpr std::uint64_t kLarge = 32'768;  ///< bytes: from here on, the rest shows

  /// Whether the caller should time the next get and flush.
  bool sampling() const { return sampling_; }
  /// Whether gets are left to the library. False while it is looked at again.
  bool bypassed() const { return bypassed_ && !sampling_; }
  /// Whether a get and its flush took little more than what makes a target worth caching, by the
  /// last verdict, on one node: hits save little there, and misses are dear. Between nodes, where
  /// large gets look like this, blocks may spare most of what they take.
  bool near() const { return near_; }
  void bypass_for_good() {
    bypassed_ = true;
    sampling_ = false;
    until_change_ = kUnknown;
  }

  /// A get was given to the library.
  void count_get(const Config& config) {
    if (--until_change_ != 0) [[likely]]
      return;
    sampling_ = !sampling_;
    samples_ = cheap_ = 0;
    until_change_ = !sampling_ ? interval_ : bypassed_ ? config.patience : config.patience_cached;
    if (sampling_) fastest_ = kUnknown;
  }

  /// One get of `bytes` and its flush took `spent`; a hit of them takes `hit`. True if this was the
  /// last sample of a verdict.
  bool sample(const Config& config, std::uint64_t bytes, std::uint64_t spent, std::uint64_t hit) {
    fastest_ = std::min(fastest_, spent);
    if (bytes <= kSmall) latency_ = std::min(latency_, spent);
    if (bytes >= kLarge && latency_ != kUnknown && spent > latency_)
      ticks_per_byte_ = std::min(
          ticks_per_byte_, static_cast<double>(spent - latency_) / static_cast<double>(bytes));
    if (spent < config.worthwhile * hit) ++cheap_;
    if (++samples_ < config.samples) return false;
    near_ = config.bypass && config.one_node && fastest_ < kFar * config.worthwhile * hit;
    const bool bypass = config.bypass && cheap_ >= config.samples / 2;
    interval_ = bypass == bypassed_ && interval_ != 0
                    ? std::min(2 * interval_, config.look_again_at_most)
                    : config.look_again;
    bypassed_ = bypass;
    sampling_ = false;
    until_change_ = interval_;
    return true;
  }

  /// Whether more than is asked for should not be fetched, since this target is bypassed or may
  /// soon be: a sample was quick and the verdict is out. On one node (`near`) all samples are
  /// waited for, and must be slow by far: the first gets touch new pages, which makes near memory
  /// look far, and blocks leave few gets that could be timed later.
  bool too_quick_for_blocks(const Config& config, std::uint64_t hit, bool near) const {
    if (near_) return true;
    if (!config.bypass || fastest_ == kUnknown) return false;
    if (near) return sampling_ || fastest_ < kFar * config.worthwhile * hit;
    return sampling_ && fastest_ < config.worthwhile * hit;
  }

  /// Ticks of the fastest get and flush since the last look began.
  std::uint64_t fastest() const { return fastest_; }

  /// How many bytes could be transferred in the time that a get of few bytes takes; 0: not known.
  std::uint64_t latency_bytes() const {
    if (latency_ == kUnknown || ticks_per_byte_ == kNoRate) return 0;
    constexpr double kLeastTicksPerByte = 1e-6;
    return static_cast<std::uint64_t>(static_cast<double>(latency_) /
                                      std::max(ticks_per_byte_, kLeastTicksPerByte));
  }

 private:
  static constexpr double kNoRate = 1e300;

  bool sampling_ = true;
  bool bypassed_ = false;
  bool near_ = false;
  std::uint32_t samples_ = 0;
  std::uint32_t cheap_ = 0;                ///< of these, hardly more than a hit
  std::uint64_t until_change_ = kUnknown;  ///< gets until a look begins or is given up
  std::uint64_t interval_ = 0;             ///< between two looks
  std::uint64_t fastest_ = kUnknown;
  std::uint64_t latency_ = kUnknown;
  double ticks_per_byte_ = kNoRate;
};

}  // namespace hob::gets
