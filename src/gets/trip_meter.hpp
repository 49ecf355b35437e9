// How long gets take that go to the library, and who learns of it: the verdict on each target, the
// price of blocks, what hits save. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cache/cache.hpp"
#include "gets/copy_worth.hpp"
#include "gets/gets_under_way.hpp"
#include "gets/hit_cost.hpp"
#include "gets/poll_guard.hpp"
#include "gets/savings.hpp"
#include "gets/target_profile.hpp"
#include "gets/target_state.hpp"
#include "pay/price.hpp"

namespace hob::gets {

/// Of one window. Times are ticks of one clock. Not thread safe.
class TripMeter {
 public:
  struct Config {
    TargetProfile::Config profile{};
    /// Of the gets that one flush ends, this many say what blocks have to be cheaper than.
    std::size_t burst_samples = 4;
    int window = 0;  ///< for messages
    Savings::Config savings{};
  };

  /// Gets that are waited for together, of one target or several.
  struct Together {
    std::uint64_t gets = 0;
    std::uint64_t bytes = 0;
    std::uint64_t issue = 0;
  };

  /// All of them outlive the object. What is `under_way` and the `guard` are the window's.
  TripMeter(const Config& config, const HitCost& hit, const GetsUnderWay& under_way,
            PollGuard& guard, cache::Cache& cache)
      : config_(config),
        hit_(hit),
        under_way_(under_way),
        guard_(guard),
        cache_(cache),
        savings_(config.savings, hit) {}

  /// From now on, blocks may be fetched, which has this price.
  void set_block_cost(pay::Price& cost) { blocks_ = &cost; }

  /// The gets under way to a target took `waited` to arrive, after the program began to wait.
  /// `batched`: gets go out in batches. `whole`: this is the first wait for any of them.
  void learn(TargetState& target, std::uint64_t waited, bool batched, bool whole = true);

  /// A get with a request, which was complete when it was issued: its call took `spent`.
  void arrived_at_once(TargetState& target, int rank, std::uint64_t bytes, std::uint64_t spent) {
    if (target.profile.sampling()) measure(target, rank, bytes, spent);
  }

  /// Adds what is under way to a target.
  void add(Together& together, const TargetState& target) const;
  /// The program waited this long for these alone.
  void waited(const Together& together, std::uint64_t ticks) {
    savings_.waited({.gets = together.gets,
                     .bytes = together.bytes,
                     .issue = together.issue,
                     .spent = together.issue + ticks});
    if (savings_.enough()) guard_.settle();
    copies_.waited(together.gets, together.bytes, together.issue + ticks);
  }
  /// To keep so many bytes, CopyWorth::kLarge at least, took `ticks`.
  void stored(std::uint64_t bytes, std::uint64_t ticks);

  const TargetProfile::Config& profile() const { return config_.profile; }
  const Savings& savings() const { return savings_; }

 private:
  void measure(TargetState& target, int rank, std::uint64_t bytes, std::uint64_t spent);
  void measure(TargetState& target, const PendingGet& pending, std::uint64_t flush_ticks) {
    measure(target, pending.rank, pending.bytes, pending.issue_ticks + flush_ticks);
  }
  void measure_burst(TargetState& target, std::uint64_t flush_ticks);
  void measure_block_cost(const TargetState& target, std::uint64_t flush_ticks, bool batched);
  template <class Use>
  void sample_burst(const TargetState& target, std::size_t step, Use use) const;

  Config config_;
  const HitCost& hit_;
  const GetsUnderWay& under_way_;
  PollGuard& guard_;
  cache::Cache& cache_;
  pay::Price* blocks_ = nullptr;  ///< null: nothing is fetched ahead
  Savings savings_;
  CopyWorth copies_;
  std::uint32_t stored_ = 0;  ///< large gets
  bool copies_pay_ = true;    ///< for what a hit saves
};

}  // namespace hob::gets
