// Whether a hit should be fetched again, in case the program polls with plain gets
// (docs/consistency.md). Pure: knows neither MPI nor the cache.
#pragma once

#include <cstdint>

namespace hob::mpi {

/// Decides which hits are fetched again, within a share of the run time. Times are ticks of one
/// clock that the caller chooses. Not thread safe.
class PollGuard {
 public:
  struct Config {
    std::uint32_t hits = 64;  ///< of one entry in a row, after which it is fetched again
    std::uint64_t age = 0;    ///< ticks after which a hit is fetched again
    double share = 0.005;     ///< of the run time that fetches by age may take; <= 0: one fetch
  };

  explicit PollGuard(const Config& config) : config_(config) {}

  /// A hit, the `consecutive`-th in a row on bytes fetched at `fetched`.
  bool due(std::uint32_t consecutive, std::uint64_t fetched, std::uint64_t now) const {
    // The comparison spares nearly every hit the division.
    const bool polled = consecutive >= config_.hits && consecutive % config_.hits == 0;
    return polled || (now - fetched > config_.age && now - last_ > pause_);
  }

  /// A fetch begins.
  void begin(std::uint64_t now) { last_ = now; }
  /// Its call has returned, and it is under way.
  void issued(std::uint64_t now) { issue_time_ = now - last_; }
  bool under_way() const { return issue_time_ != 0; }
  /// It is complete: `waited` was spent in the flush. `measured` false: waited is not known.
  void complete(std::uint64_t waited, bool measured) {
    if (measured) cost(issue_time_ + waited);
    issue_time_ = 0;
  }

  /// A fetch takes `spent`: the next one by age waits so long that the share is kept.
  void cost(std::uint64_t spent) {
    pause_ = config_.share > 0
                 ? static_cast<std::uint64_t>(static_cast<double>(spent) / config_.share)
                 : ~std::uint64_t{0};
  }

 private:
  Config config_;
  std::uint64_t last_ = 0, pause_ = 0, issue_time_ = 0;
};

}  // namespace hob::mpi
