// Whether a hit should be fetched again, in case the program polls with plain gets
// (docs/consistency.md). Pure: knows neither MPI nor the cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pay/budget.hpp"

namespace hob::gets {

/// Decides which hits are fetched again, within a share of the run time. Times are ticks of one
/// clock that the caller chooses. Not thread safe.
class PollGuard {
 public:
  struct Config {
    std::uint32_t hits = 64;      ///< of one entry in a row, after which it is fetched again
    std::uint64_t age = 0;        ///< ticks after which a hit is fetched again
    std::uint64_t early_age = 0;  ///< the same until settle(); 0: as later
    double share = 0.005;         ///< of the run time that fetches by age may take; <= 0: one fetch
  };

  explicit PollGuard(const Config& config)
      : config_(config), age_(config.early_age != 0 ? config.early_age : config.age) {}

  /// What a fetch takes is known from others: from now on, only polling is a reason for one.
  void settle() { age_ = config_.age; }

  /// A hit, the `consecutive`-th in a row on bytes fetched at `fetched`.
  bool due(std::uint32_t consecutive, std::uint64_t fetched, std::uint64_t now) const {
    // The comparison spares nearly every hit the division.
    const bool polled = consecutive >= config_.hits && consecutive % config_.hits == 0;
    return polled || (now - fetched > age_ && now - last_ > pause_);
  }

  /// Of hits at `now`, those are due whose bytes were fetched before this; 0: none, however old.
  std::uint64_t oldest(std::uint64_t now) const {
    return now > age_ && now - last_ > pause_ ? now - age_ : 0;
  }
  /// And those whose number in a row is a multiple of this.
  std::uint32_t polls() const { return config_.hits; }

  /// A fetch begins. The next one by age waits for its end, or as long as bytes get old, in case
  /// its end is never reported.
  void begin(std::uint64_t now) {
    last_ = now;
    under_way_ = true;
    pause_ = std::max(pause_, age_);
  }
  /// It has arrived: what the program waited for it, or less, where it did something else
  /// meanwhile.
  void arrived(std::uint64_t now) {
    if (under_way_) cost(now - last_);
    under_way_ = false;
  }

  /// A fetch takes `spent`: the next one by age waits so long that the share is kept.
  void cost(std::uint64_t spent) {
    pause_ = pay::Budget::time_for(static_cast<double>(spent), config_.share);
  }

 private:
  Config config_;
  std::uint64_t age_;
  std::uint64_t last_ = 0, pause_ = 0;
  bool under_way_ = false;
};

}  // namespace hob::gets
