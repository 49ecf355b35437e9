// Whether large gets of a window are asked for once each. Pure: knows neither MPI nor the cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::gets {

/// Stops looking up large gets while none of them comes back. What Hob does for a get that misses
/// takes most of a microsecond where the network's copies have emptied the processor's caches, and
/// a program that issues a burst does not read what arrives meanwhile: a TCP connection whose
/// receive buffer is just large enough then stalls, and each get takes 2 us longer. Some places are
/// looked up all the same, and some gets in a row, so that reuse and blocks are seen as programs
/// change. Not thread safe.
class OnceTrial {
 public:
  /// Smaller gets are cheap to keep, and may come in blocks.
  static constexpr std::uint64_t kLarge = std::uint64_t{16} << 10;
  /// Large gets that miss, and none that came back among them, after which the others are left to
  /// the library. Whenever one comes back later, the next trial is kLonger times as long, up to the
  /// longest: what is asked for twice between two drops may be much at a time.
  static constexpr std::uint32_t kTrial = 384, kLonger = 8, kLongestTrial = 512;
  /// Then one place in so many is looked up whenever it is asked for: its reuse is that of all.
  static constexpr std::uint32_t kSample = 64;
  /// And the first so many gets of each so many: neighbours show what blocks would spare.
  static constexpr std::uint32_t kLook = 8, kBetweenLooks = 1024;

  /// A get of so many bytes comes. Whether it is left to the library. One that is as far from the
  /// one before as that was from its own is not: blocks may spare its trip, unless it is
  /// `hidden` (TargetState::hides_trip()).
  bool leaves(std::uint32_t target, std::uint64_t place, std::uint64_t bytes, bool hidden = false) {
    if (!resting_ || bytes < kLarge) [[likely]]
      return false;
    const std::uint64_t step = place - last_;
    const bool in_order = step == step_;
    last_ = place;
    step_ = step;
    return ++asked_ % kBetweenLooks >= kLook && (hidden || !in_order) && !is_sampled(target, place);
  }

  /// One was looked up, and had to be fetched, when so many had been looked up in all.
  /// `reused_since(number)`: whether one came back among those from that number on.
  template <class ReusedSince>
  void missed(std::uint64_t bytes, std::uint64_t number, ReusedSince reused_since) {
    if (bytes < kLarge) return;
    if (resting_) {
      if (reused_since(began_)) start_anew();
      return;
    }
    if (misses_++ == 0) began_ = number;
    if (misses_ < trial_) return;
    misses_ = 0;
    resting_ = !reused_since(began_);
    asked_ = kLook - 1;  // the look has been
  }

  /// One was served, at least in part. Hits are many: nothing is written where nothing changes.
  void served() {
    if (resting_) [[unlikely]]
      start_anew();
  }

 private:
  static bool is_sampled(std::uint32_t target, std::uint64_t place) {
    const std::uint64_t mixed = (place + (std::uint64_t{target} << 40)) * 0x9e3779b97f4a7c15u;
    return (mixed >> 32) % kSample == 0;
  }
  void start_anew() {
    resting_ = false;
    misses_ = 0;
    trial_ = std::min(kLonger * trial_, kLongestTrial);
  }

  bool resting_ = false;
  std::uint32_t trial_ = kTrial;
  std::uint32_t misses_ = 0;
  std::uint32_t asked_ = 0;  ///< while it rests
  std::uint64_t began_ = 0;  ///< the first look-up of the trial
  std::uint64_t last_ = 0;   ///< while it rests: the place of the last get
  std::uint64_t step_ = 0;   ///< and how far it was from the one before
};

}  // namespace hob::gets
