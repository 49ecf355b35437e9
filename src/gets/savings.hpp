// What a window's hits have saved in time, estimated from waits that were measured in the same run.
// Pure: knows neither MPI nor the cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "gets/hit_cost.hpp"
#include "pay/price_range.hpp"
#include "pay/sampled.hpp"

namespace hob::gets {

/// Times are ticks of one clock. Not thread safe.
class Savings {
 public:
  static constexpr std::uint64_t kSmall = 1024;  ///< bytes: up to here, latency is all

  struct Config {
    /// A wait that takes longer, for so many bytes, is late: its target computes, or has no core.
    std::uint64_t late = ~std::uint64_t{0};
    double late_per_byte = 0;
    /// All targets are near: waits for large gets are for bytes that were not touched before, and
    /// say nothing of later ones.
    bool one_node = false;
  };

  /// Gets that were waited for together.
  struct Wait {
    std::uint64_t gets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t issue = 0;  ///< spent in the calls that issued them
    std::uint64_t spent = 0;  ///< in these, and waiting
  };

  /// What hits have spared, and what they took.
  struct Counts {
    std::uint64_t trips = 0;        ///< flushes, locks and waits that had nothing to wait for
    std::uint64_t hits = 0;         ///< gets served from the cache
    std::uint64_t bytes = 0;        ///< served so
    std::uint64_t ahead_bytes = 0;  ///< fetched without being asked for
    /// Gets that are missing go out in batches: what one of many would take without. 0: they do
    /// not, or it is not known.
    double native_each = 0;
  };

  Savings(const Config& config, const HitCost& hit) : config_(config), hit_(hit) {}

  void waited(const Wait& wait) noexcept;

  /// Waits that were measured since the window was made say enough about prices.
  bool enough() const { return timely_ >= kEnough; }

  /// The median wait for one small get; 0: too few were measured.
  std::uint64_t typical_trip() const { return static_cast<std::uint64_t>(lone_price().usual); }

  /// What the program would have waited without the hits, less what the hits took. Of the gets
  /// before a wait that was spared, one counts as a wait, and each of the others as what one more
  /// takes among many.
  /// Unknown where too few waits were measured.
  pay::SavedRange estimate(const Counts& counts) const;

 private:
  static constexpr std::size_t kSamples = 31;
  static constexpr double kNear = 4;  ///< hits that a get takes from a near target, at most

  using Waits = pay::Sampled<Wait, kSamples>;

  bool late(const Wait& wait) const;
  template <class Ticks>
  pay::PriceRange price(const Waits& waits, Ticks ticks) const;
  pay::PriceRange lone_price() const;
  pay::PriceRange burst_price(const pay::PriceRange& lone) const;
  pay::PriceRange byte_price(const pay::PriceRange& lone) const;

  static constexpr std::uint64_t kEnough = 8;

  Config config_;
  std::uint64_t timely_ = 0;  ///< waits
  std::reference_wrapper<const HitCost> hit_;
  Waits lone_;    ///< of one small get each
  Waits bursts_;  ///< of several small ones
  Waits large_;
};

}  // namespace hob::gets
