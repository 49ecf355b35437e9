// Whether a window's copies live long enough to be used. Pure: knows neither MPI nor the cache.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::gets {

/// Stops looking up and keeping where every copy is dropped before anything is served from it, as
/// in a program that locks for each get, or where most gets are missing and cost little more than a
/// hit, as they do in batches and on one node; and tries again now and then, since programs have
/// phases. Not thread safe.
class ReuseTrial {
 public:
  /// Gets without a hit after which a verdict is made.
  static constexpr std::uint32_t kTrial = 512;
  /// Everything was dropped at least this often among them: few gets come between two acquires.
  static constexpr std::uint32_t kDrops = kTrial / 4;
  /// Gets that are left to the library before the next trial; doubled whenever a trial ends alike,
  /// up to the second.
  static constexpr std::uint32_t kPause = 16 * kTrial, kLongestPause = 256 * kTrial;

  /// A get comes. Whether it is left to the library.
  bool skips() {
    if (pause_ == 0) [[likely]]
      return false;
    --pause_;
    return true;
  }

  /// It was looked up, and had to be fetched; `cheap`: which costs little.
  void missed(bool cheap = false) {
    if (++misses_ < kTrial) [[likely]]
      return;
    if (drops_ >= kDrops || (cheap && hits_ < misses_)) {
      pause_ = next_pause_;
      next_pause_ = std::min(2 * next_pause_, kLongestPause);
    }
    misses_ = drops_ = hits_ = 0;
  }

  /// It was served, at least in part. Hits are many: nothing is written where nothing changes.
  void served(bool cheap = false) {
    if (cheap) [[unlikely]] {
      ++hits_;
      return;
    }
    if (misses_ == 0 && next_pause_ == kPause) [[likely]]
      return;
    misses_ = drops_ = hits_ = 0;
    next_pause_ = kPause;
  }

  /// Everything that was kept is forgotten.
  void dropped() { ++drops_; }

 private:
  std::uint32_t misses_ = 0;
  std::uint32_t drops_ = 0;
  std::uint32_t hits_ = 0;  ///< where a miss is cheap
  std::uint32_t pause_ = 0;
  std::uint32_t next_pause_ = kPause;
};

}  // namespace hob::gets
