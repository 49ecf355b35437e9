// Whether all pages of a range of memory are to be watched for stores, or a sample of them. Pure.
#pragma once

#include <cstdint>
#include <utility>

#include "pay/backoff.hpp"

namespace hob::validation {

/// Where all pages are watched, the first store to each costs a fault. Programs that iterate store
/// to most of their memory in each iteration, so all pages are watched only once nothing was stored
/// to a sample of them for some reports in a row; for more of them after that was wrong, since
/// several reports may come in each iteration. Not thread safe.
class Sampling {
 public:
  struct Config {
    /// Reports in a row before which the sample was not stored to, after which all pages are
    /// watched. 2: many programs read between two barriers and store between the next two.
    pay::Backoff<std::uint32_t>::Config clean_enough{.first = 2, .longest = 64, .times = 2};
    /// All pages are watched at once where a store to each of them takes less than this share of
    /// the time between two reports.
    double share = 0.05;
  };

  explicit Sampling(const Config& config) : config_(config), clean_enough_(config.clean_enough) {}
  Sampling() : Sampling(Config{}) {}

  /// Whether a sample is to be watched from now on, and not all pages. `faults`: what a store to
  /// each page costs. `passed`: between the last two reports; in the same unit of time.
  bool samples(double faults, double passed) const {
    return doubtful_ && clean_ < clean_enough_.now() && faults > config_.share * passed;
  }

  /// Before a report: whether anything was stored to the sample.
  void sampled(bool stored) { clean_ = stored ? 0 : clean_ + 1; }

  /// All pages are watched from now on.
  void watches_all() {
    clean_ = 0;
    held_ = false;
  }

  /// Before a report: whether anything was stored to any page.
  void watched(bool stored) {
    if (!stored) {
      held_ = true;
      clean_enough_.reset();
    } else {
      doubtful_ = !std::exchange(held_, false);
      if (doubtful_) clean_enough_.lengthen();
    }
  }

 private:
  Config config_;
  bool doubtful_ = true;     ///< when all pages were watched last, one was stored to at once
  bool held_ = false;        ///< none was stored to before the first report of this watch
  std::uint32_t clean_ = 0;  ///< reports in a row before which the sample was not stored to
  pay::Backoff<std::uint32_t> clean_enough_;
};

}  // namespace hob::validation
