// Copies that outlive a collective call, since its members report who wrote
// (docs/consistency.md, "What no process wrote"). Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/per_rank.hpp"
#include "cache/cache.hpp"
#include "gets/target_state.hpp"
#include "validation/changes.hpp"
#include "validation/edge_pacing.hpp"
#include "validation/edges.hpp"
#include "validation/gain.hpp"

namespace hob::gets {

/// Of one window. Times are ticks of one clock. Not thread safe.
class KeptCopies {
 public:
  /// What the members of a window said in one call.
  struct Report {
    std::uint64_t window;                           ///< the number that they know it by
    const validation::Changes& changes;             ///< who was written to
    std::span<const validation::ShownEdges> shown;  ///< edges, where they were shown
  };

  /// Drops copies for keep(): all of a target; the bytes [first, first + bytes) of one.
  class Dropper {
   public:
    virtual void drop_copies(int rank, TargetState& target) = 0;
    virtual void drop_bytes(int rank, std::uint64_t first, std::uint64_t bytes) = 0;

   protected:
    ~Dropper() = default;
  };

  /// The `cache` outlives the object.
  explicit KeptCopies(cache::Cache& cache) : cache_(cache) {}

  /// Copies may outlive collective calls from now on. `exposed`: bytes that the targets show.
  void expect(const PerRank& exposed) { exposed_ = exposed; }

  /// Bytes that a target shows; 0 where copies do not outlive collective calls.
  std::uint64_t exposed(int rank) const { return exposed_ ? exposed_->of(rank) : 0; }

  /// These bytes of a target are fetched.
  void fetches(int rank, TargetState& target, std::uint64_t first, std::uint64_t bytes) {
    if (exposed_ && validation::touches_edges(exposed_->of(rank), first, bytes))
      target.edges_fetched = 2;
  }

  /// When copies outlived a call last; 0: not since everything was dropped.
  std::uint64_t at() const { return at_; }
  /// When bytes fetched at that time were known to be true last.
  std::uint64_t known_at(std::uint64_t fetched) const { return std::max(fetched, at_); }
  /// Everything was dropped.
  void dropped() { at_ = 0; }

  /// Whether a first trial of keeping copies has begun.
  bool tried() const { return gain_.begun(); }
  /// Before a call that may report: see validation::Gain.
  bool gains(const validation::Gain::Call& call) { return gain_.asks(call); }
  /// Whether the process gains by being shown edges, since copies of them may be in doubt.
  /// `always`: however often it was.
  bool wants_edges(TargetTable& targets, bool always) const;
  /// Whether there were gets since this was asked last.
  bool read_since(std::uint64_t gets) { return std::exchange(gets_, gets) != gets; }

  enum class Outcome : std::uint8_t { nothing, kept, kept_in_part };

  /// After the call, in which everything but the copies that the report says not to be true is: has
  /// these dropped. `nothing`: all has to be dropped.
  Outcome keep(const Report& report, TargetTable& targets, Dropper& dropper, std::uint64_t now);

 private:
  void settle_edges(int rank, TargetState& target, const validation::ShownEdges* shown,
                    Dropper& dropper);

  cache::Cache& cache_;
  std::optional<PerRank> exposed_;
  std::uint64_t at_ = 0;
  std::uint64_t gets_ = 0;
  validation::Gain gain_;
  validation::EdgePacing pacing_;
};

}  // namespace hob::gets
