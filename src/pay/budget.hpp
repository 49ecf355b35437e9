// What finding out may cost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hob::pay {

/// A share of the time that goes by may be spent, and the gain. The unit is the caller's:
/// ticks, nanoseconds, bytes. An overdraft is owed. Not thread safe.
class Budget {
 public:
  struct Config {
    double share = 0.01;  ///< of the time, 0..1
    double first = 0;     ///< that may be spent before any time went by
    double most = std::numeric_limits<double>::infinity();  ///< that is saved up, at most
  };

  explicit Budget(const Config& config, std::uint64_t now = 0)
      : config_(config), left_(config.first), last_(now) {}

  /// The time is `now`, not less than before.
  void passed(std::uint64_t now) {
    earned(static_cast<double>(now - last_) * config_.share);
    last_ = now;
  }
  void earned(double more) { left_ = std::min(left_ + more, config_.most); }
  void spent(double cost) { left_ -= cost; }

  /// What may be spent; negative: owed.
  double left() const { return left_; }

  /// Whether `price` may be spent at the time `now`. What costs more than is saved up elsewise is
  /// saved for from now on.
  bool affords(std::uint64_t now, double price = 0) {
    config_.most = std::max(config_.most, price);
    passed(now);
    return left_ > 0 && left_ >= price;
  }

  /// No more than `most` is saved up from now on.
  void limit(double most) {
    config_.most = most;
    left_ = std::min(left_, most);
  }

  /// The time of which `cost` is the share; without a share, for ever.
  static std::uint64_t time_for(double cost, double share) {
    constexpr double kMost = 0x1p63;
    return cost < kMost * share ? static_cast<std::uint64_t>(cost / share) : kForEver;
  }
  /// The time after which nothing is owed.
  std::uint64_t time_owed() const { return left_ < 0 ? time_for(-left_, config_.share) : 0; }
  static constexpr std::uint64_t kForEver = ~std::uint64_t{0};

 private:
  Config config_;
  double left_;
  std::uint64_t last_;
};

}  // namespace hob::pay
