// What the members of a window report to each other in collective calls: who was written to. So
// copies may outlive such a call (docs/consistency.md, "What no process wrote").
#pragma once

#include <cstdint>
#include <span>

#include "cache/cache.hpp"
#include "gets/hot_lookup.hpp"
#include "gets/kept_copies.hpp"
#include "gets/learning.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/cache/own_rank.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "validation/changes.hpp"
#include "validation/edges.hpp"

namespace hob::mpi {

/// Of one window whose gets are cached. Thread safe. No function throws.
class WriteReports {
 public:
  /// Whose gets they are. It holds the lock while it is called.
  class Owner : public gets::KeptCopies::Dropper {
   public:
    /// Tracking of the window begins, or ends if nothing depends on it.
    virtual void turn_tracking_on() = 0;
    virtual void try_turn_tracking_off() = 0;
    /// The phase of reading ends, though copies are kept.
    virtual void phase_ended() = 0;
    /// Ticks that a get takes, as far as anybody knows.
    virtual double typical_trip() const = 0;

   protected:
    ~Owner() = default;
  };

  /// What belongs to the window. All of it outlives the object.
  struct Parts {
    Owner& owner;
    ExclusiveSpin& lock;
    gets::HotLookup& hot;
    cache::Cache& cache;
    Coherence& coherence;
    TrackingState& tracking;
    TargetTable& targets;
    OwnRank& own_rank;
    gets::KeptCopies& kept;
    GetStats& stats;
  };

  /// `rank`: of this process in the window's group.
  WriteReports(int rank, const Parts& parts) : rank_(rank), parts_(parts) {}

  /// Copies may outlive collective calls. Before the window's first operation. `exposed`: what its
  /// targets show. Writes of this process are seen `from_the_start`, or from its first get or from
  /// when some process asks for copies to be kept: a process that only reaches its own memory pays
  /// nothing.
  void expect(const ExposedSizes& exposed, bool from_the_start);

  /// Adds to `changes` what this process has written to the window, known to its members as
  /// `window`, since the last call, and what may be under way. Before a call that reports it.
  /// Writes that were not seen until now will be.
  void notify(std::uint64_t window, validation::Changes& changes);

  /// In place of that where no member would keep anything: tracking of a window that is not read
  /// any more ends.
  void notify_nothing();

  /// Whether copies that outlive collective calls are worth `cost` ticks for each that reports
  /// writes: they have saved more, or it is not known yet.
  bool gains_by_keeping(double cost);

  /// Whether it would gain by knowing what the edges of its targets are, since copies of them may
  /// be in doubt. `always`: whatever that takes.
  bool wants_edges(bool always);

  /// `changes` is what all members have written before they made the collective call that was this
  /// process's acquire after number `before`: everything else is still true, but for edges that are
  /// in doubt. `shown`: the edges, where members have shown them in this call.
  void keep_unchanged(std::uint64_t window, const validation::Changes& changes,
                      std::span<const validation::ShownEdges> shown, std::uint64_t before);

 private:
  double cost_to_begin() const;
  bool reused() const;

  int rank_;
  Parts parts_;
};

}  // namespace hob::mpi
