// What finding out whether memory was stored to may cost. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hob::validation {

/// Not thread safe. Times are nanoseconds of one clock.
class TrackingBudget {
 public:
  struct Config {
    double allowance = 10e6;  ///< that may be spent at once
    double share = 0.05;      ///< of the time that goes by
    double fault = 1500;  ///< the first store to a page that is watched (measured: 850 to 1,800)
  };

  TrackingBudget(const Config& config, std::uint64_t now) : config_(config), last_(now) {}

  /// Whether watching may go on, or begin, where that takes `price` nanoseconds. What costs more
  /// than may be spent at once waits until so much is saved.
  bool affords(std::uint64_t now, double price = 0) {
    dearest_ = std::max(dearest_, price);
    left_ = std::min(left_ + static_cast<double>(now - last_) * config_.share,
                     std::max(config_.allowance, dearest_));
    last_ = now;
    return left_ > 0 && left_ >= price;
  }

  void spent(std::uint64_t nanoseconds) { left_ -= static_cast<double>(nanoseconds); }

  /// The program stored to so many pages that were watched.
  void faulted(std::uint64_t pages) { left_ -= config_.fault * static_cast<double>(pages); }

 private:
  Config config_;
  std::uint64_t last_;
  double left_ = config_.allowance;
  double dearest_ = 0;
};

}  // namespace hob::validation
