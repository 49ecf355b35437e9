// What batches of one kind of operation have saved in time. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "pay/price_range.hpp"
#include "pay/sampled.hpp"

namespace hob::batch {

/// Operations that went out in batches, times what one takes natively less what it takes in a
/// batch. Both include their share of the completion, which is most of what a message costs that
/// its target answers. Times are ticks of one clock. Not thread safe.
class Saving {
 public:
  struct Config {
    /// Operations that take longer natively met a target that computes, or has no core.
    std::uint64_t late = ~std::uint64_t{0};
  };

  Saving() : Saving(Config{}) {}
  explicit Saving(const Config& config) : config_(config) {}

  /// One operation was issued natively, which took so long; its completion is not included.
  void issued(std::uint64_t ticks) {
    issue_ =
        issue_ == 0 ? static_cast<double>(ticks) : std::min(issue_, static_cast<double>(ticks));
  }

  /// So many were issued natively and completed, in `ticks` altogether.
  void natively(std::uint64_t operations, std::uint64_t ticks) {
    constexpr std::uint64_t kTogether = 8;  // take as long as one, where a target is late
    if (operations == 0 || ticks > config_.late * (1 + operations / kTogether)) return;
    native_.add(static_cast<double>(ticks) / static_cast<double>(operations));
  }

  /// So many went out in batches and were completed, in `ticks` altogether.
  void in_batches(std::uint64_t operations, std::uint64_t ticks) {
    if (operations != 0) batch_.add(static_cast<double>(ticks) / static_cast<double>(operations));
  }

  /// What one takes natively; 0: not known.
  double native_price() const { return ends(native_).usual; }

  /// So many went out in batches, whether that was timed or not.
  void batched(std::uint64_t operations) { batched_ += operations; }

  /// `most` is 0 where only issuing was timed: more was saved, and it is not known how much.
  pay::SavedRange estimate() const {
    const pay::PriceRange batch = ends(batch_);
    pay::PriceRange native = ends(native_);
    if (!native.known && issue_ != 0) native = {issue_, issue_, 0, true};
    if (!batch.known || !native.known) return {};
    const auto saved = [&](double natively) {
      return std::max(0.0, natively - batch.usual) * static_cast<double>(batched_);
    };
    return {saved(native.least), saved(native.usual), saved(native.most), true};
  }

 private:
  static constexpr std::size_t kSamples = 31;
  using Prices = pay::Sampled<double, kSamples>;

  /// Each sample is the average of many operations: one is enough.
  static pay::PriceRange ends(const Prices& prices) {
    const auto kept = prices.kept();
    if (kept.empty()) return {};
    std::array<double, kSamples> sorted{};
    std::copy(kept.begin(), kept.end(), sorted.begin());
    const auto some = std::span(sorted).first(kept.size());
    if (const pay::PriceRange range = pay::price_range(some); range.known) return range;
    std::sort(some.begin(), some.end());
    return {some.front(), some[(some.size() - 1) / 2], some.back(), true};
  }

  Config config_;
  double issue_ = 0;  ///< the least; 0: not known
  Prices native_, batch_;
  std::uint64_t batched_ = 0;
};

/// When operations that would go out in a batch are issued natively instead, to learn what that
/// takes: within a share of the time. Not thread safe; a race costs one sample more.
class SampleBudget {
 public:
  explicit constexpr SampleBudget(double share) : share_(share) {}

  /// `lived`: ticks since the beginning. The first sample is free.
  bool allows(std::uint64_t lived) const {
    return static_cast<double>(spent_) <= share_ * static_cast<double>(lived);
  }
  void spend(std::uint64_t ticks) { spent_ += ticks; }

 private:
  double share_;
  std::uint64_t spent_ = 0;
};

}  // namespace hob::batch
