#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/random.hpp"
#include "pay/backoff.hpp"

namespace hob::match {

/// Which of the receives that go to the MPI library are watched, for the instruments and to know
/// how long its queue is. Watching a nonblocking receive costs some 50 ns, so: the first ones are,
/// then some phases (from an empty queue to the next) or stretches, ever fewer.
/// Pauses end after a number of receives, or, where receives are rare, after some time. Within a
/// pause, a sentinel now and then stands for all receives since the one before: as soon as two of
/// them wait, the queue is long.
///
/// Knows no MPI. Not thread safe.
class Sampler {
 public:
  struct Config {
    /// So many receives are watched before some are left out: one in so many of all that there were
    /// at a time, so that a queue which grows later is found after a fifth more receives ...
    std::uint64_t all_at_first = 16;
    std::uint64_t all_per_unwatched = 8;
    /// ... and so many for each one that was watched, on average, at most ...
    std::uint64_t unwatched_per_watched = 255;
    /// ... so many at a time.
    std::uint64_t longest_unwatched = 16384;
    /// Queues that are never empty are watched in stretches of so many receives: the first one,
    /// each twice as long as the one before, and the longest. Blocking ones in the first.
    std::uint32_t first_stretch = 16;
    std::uint32_t stretch = 128;
    /// One in so many that are left out is a sentinel. A power of two.
    std::uint32_t per_sentinel = 256;
    /// A pause is over after so much time on `now`'s clock: a hundred times what a stretch costs.
    /// 0: pauses end by numbers alone.
    std::uint64_t longest_pause = 0;
    /// In a pause, one nonblocking receive in so many looks at the clock; fewer, down to two for
    /// each sentinel, where receives are frequent. A power of two.
    std::uint32_t per_look = 32;
    std::uint64_t (*now)() = nullptr;
  };

  enum class Metering { no, fully, sentinel };

  /// What a stretch showed: of its receives, each came while at least so many others waited.
  struct Stretch {
    std::uint64_t receives = 0, least = 0;
  };

  Sampler() : Sampler(Config{}) {}
  explicit Sampler(const Config& config)
      : config_(config),
        stretch_({.first = config.first_stretch, .longest = config.stretch}),
        per_look_({.first = config.per_look, .longest = config.per_sentinel / 2}) {}

  /// One more nonblocking receive goes to the library.
  Metering next() {
    ++all_;
    if (unwatched_ == 0) return Metering::fully;
    --unwatched_;
    if (unwatched_ % per_look_.now() == 0 && pause_is_long()) unwatched_ = 0;
    return unwatched_ % config_.per_sentinel == config_.per_sentinel / 2 ? Metering::sentinel
                                                                         : Metering::no;
  }

  /// How many nonblocking receives need not ask next() before one must.
  std::uint32_t unsampled() const {
    return unwatched_ == 0 ? 0 : (unwatched_ - 1) % look_distance();
  }

  /// So many did not ask.
  void left_out(std::uint32_t receives) {
    all_ += receives;
    unwatched_ -= std::min(unwatched_, receives);
  }

  /// One more blocking receive goes to the library behind others. Whether its length and depth are
  /// to be taken down, at some 15 ns.
  bool next_blocking() {
    ++all_blocking_;
    if (blocking_unwatched_ != 0) {
      --blocking_unwatched_;
      return false;
    }
    if (++blocking_watched_ % config_.first_stretch == 0)
      blocking_unwatched_ = by_chance(usual_pause(config_.first_stretch, all_blocking_));
    return true;
  }

  /// How many blocking ones need not ask next_blocking(), and that so many did not.
  std::uint32_t blocking_unsampled() const { return blocking_unwatched_; }
  void blocking_left_out(std::uint32_t receives) {
    all_blocking_ += receives;
    blocking_unwatched_ -= std::min(blocking_unwatched_, receives);
  }

  /// A nonblocking receive that is watched fully makes so many wait. Returns the stretch that has
  /// ended with this receive, or one of no receives; also where the queue grew in a short one: of
  /// its receives, none may have been matched.
  Stretch posted(std::uint64_t waiting) {
    ++watched_in_phase_;
    longest_in_phase_ = std::max(longest_in_phase_, waiting);
    if (++watched_in_stretch_ < stretch_.now()) return {};
    const Stretch ended{watched_in_stretch_, least_in_stretch_};
    const bool is_long = ended.receives >= config_.stretch;
    const bool grows = waiting > waiting_before_ + ended.receives / 8;
    waiting_before_ = waiting;
    least_in_stretch_ = waiting;
    watched_in_stretch_ = 0;
    stretch_.lengthen();
    if (!grows) pause(ended.receives);
    return is_long || !grows ? ended : Stretch{};
  }

  /// A receive that is known without watching makes so many wait.
  void known(std::uint64_t waiting) { longest_in_phase_ = std::max(longest_in_phase_, waiting); }

  /// A watched or known receive is complete, and so many wait still. Returns the most that waited
  /// in the phase, if it has ended; else 0.
  std::uint64_t completed(std::uint64_t waiting) {
    least_in_stretch_ = std::min(least_in_stretch_, waiting);
    if (waiting != 0) return 0;
    const std::uint64_t longest = longest_in_phase_;
    pause(watched_in_phase_);
    watched_in_phase_ = longest_in_phase_ = 0;
    watched_in_stretch_ = 0;
    least_in_stretch_ = waiting_before_ = 0;
    return longest;
  }

  void sentinel_posted() { ++sentinels_; }
  void sentinel_completed() { --sentinels_; }

  /// Receives that wait at the library without being watched, estimated. One sentinel shows
  /// nothing: it may be any of those that it stands for.
  std::uint64_t unseen() const {
    return sentinels_ > 1 ? std::uint64_t{config_.per_sentinel} * sentinels_ : 0;
  }

 private:
  /// Shares of the longest pause, between two looks at the clock: less, and they are twice as far
  /// apart from now on; more, and they are as before.
  static constexpr std::uint64_t kFrequent = 64, kRare = 16;

  std::uint32_t look_distance() const {
    return config_.longest_pause != 0 ? per_look_.now() : config_.per_sentinel / 2;
  }

  bool pause_is_long() {
    if (config_.longest_pause == 0) return false;
    const std::uint64_t now = config_.now();
    const std::uint64_t since_look = now - std::exchange(looked_at_, now);
    if (since_look < config_.longest_pause / kFrequent)
      per_look_.lengthen();
    else if (since_look > config_.longest_pause / kRare)
      per_look_.reset();
    return now - paused_at_ > config_.longest_pause;
  }

  /// So many were seen, and will do for some time.
  void pause(std::uint64_t seen) {
    if (seen == 0) return;
    unwatched_ = 0;
    if (all_ < config_.all_at_first) return;
    unwatched_ = by_chance(usual_pause(seen, all_));
    if (config_.longest_pause != 0) paused_at_ = looked_at_ = config_.now();
  }

  std::uint64_t usual_pause(std::uint64_t seen, std::uint64_t all) const {
    return std::min({config_.unwatched_per_watched * seen, config_.longest_unwatched,
                     all / config_.all_per_unwatched});
  }

  /// About so many, left to chance: programs have rhythms.
  std::uint32_t by_chance(std::uint64_t usual) {
    return static_cast<std::uint32_t>(usual / 2 + random_.below(usual));
  }

  Config config_;
  std::uint32_t unwatched_ = 0;  ///< nonblocking receives before the next watched one
  std::uint32_t blocking_unwatched_ = 0;
  std::uint64_t blocking_watched_ = 0;
  std::uint64_t all_ = 0, all_blocking_ = 0;
  std::uint64_t watched_in_phase_ = 0, longest_in_phase_ = 0;
  std::uint32_t watched_in_stretch_ = 0;
  pay::Backoff<std::uint32_t> stretch_;
  std::uint64_t least_in_stretch_ = 0, waiting_before_ = 0;  ///< receives that wait
  std::uint64_t paused_at_ = 0, looked_at_ = 0;
  pay::Backoff<std::uint32_t> per_look_;
  std::uint32_t sentinels_ = 0;  ///< at the library
  Random random_{1};
};

}  // namespace hob::match
