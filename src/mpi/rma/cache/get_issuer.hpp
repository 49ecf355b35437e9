// Gets that go to the library: how they are issued, and which are taken up, so that their bytes are
// kept or compared when they have arrived.
#pragma once

#include <cstdint>

#include "gets/batched_gets.hpp"
#include "gets/hot_lookup.hpp"
#include "gets/kept_copies.hpp"
#include "gets/learning.hpp"
#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/backend/displacement_units.hpp"
#include "mpi/rma/backend/outstanding.hpp"
#include "mpi/rma/cache/ahead.hpp"
#include "mpi/rma/cache/cacheable_get.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/cache/node_sharing.hpp"
#include "mpi/rma/cache/own_epoch.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "recall/recall.hpp"

namespace hob::mpi {

/// Of one window. Not thread safe. No function throws.
class GetIssuer {
 public:
  struct Config {
    int rank = 0;                        ///< of this process in the window's group
    bool atomic_reads_are_gets = false;  ///< what they return announces no writes
  };
  /// What belongs to the window. All of it outlives the object.
  struct Parts {
    Backend& backend;
    Outstanding& atomic_results;  ///< where results are noted that may announce writes
    cache::Cache& cache;
    const DisplacementUnits& units;
    const Coherence& coherence;
    const NodeSharing& sharing;
    gets::HotLookup& hot;
    OwnEpoch& own_epoch;
    GetsUnderWay& under_way;
    gets::Learning& learning;
    gets::KeptCopies& kept;
    GetStats& stats;
  };

  GetIssuer(const Config& config, const Parts& parts) : config_(config), parts_(parts) {}

  /// `batches` says whether gets go out in batches, and outlives the object. Before the first get.
  void know_batches(const gets::BatchedGets& batches) { batches_ = &batches; }
  /// From now on, `ahead` learns of trips. It outlives the object. Before the first get.
  void know_ahead(Ahead& ahead) { ahead_ = &ahead; }

  /// From now on, `memory` learns how long the library's calls take. Likewise.
  void know_recall(recall::Recall& memory) { recall_ = &memory; }

  const gets::BatchedGets& batches() const { return *batches_; }
  bool in_batch() const { return HOB_UNLIKELY(batches_->batched.get()); }

  /// Gives a get to the library. Its bytes are the program's alone.
  int issue(const Get& get, TargetState& t);
  /// Issues a get whose bytes are kept when they have arrived.
  int fetch(const Get& get, TargetState& t, const CacheableGet& wanted);
  /// A hit of the first bytes: issues a get of the others, with this result. False if their
  /// displacement cannot be expressed in the target's unit.
  bool fetch_tail(const LookedUp& asked, int& result);
  /// Fetches a hit again, straight into the program's buffer, to see whether it changed.
  /// `pending` describes it.
  int refetch(const Get& get, TargetState& t, PendingGet pending);
  /// Fetches a hit as well, to compare.
  void verify(const LookedUp& asked);

  /// Whether a call that issues one for this target is timed.
  bool times(const TargetState& t) const { return ahead_ || HOB_UNLIKELY(t.profile.sampling()); }
  /// A get of `asked` bytes was missing, and one of `bytes` was issued for it.
  void missed(const TargetState& t, std::uint64_t asked, std::uint64_t bytes) {
    measure_hit_cost();
    parts_.learning.missed(t, asked, in_batch());
    if (ahead_) ahead_->trip(bytes, asked, parts_.cache.stats().gets);
  }

 private:
  static constexpr gets::BatchedGets kNoBatches{};

  Config config_;
  Parts parts_;
  const gets::BatchedGets* batches_ = &kNoBatches;
  Ahead* ahead_ = nullptr;            ///< null: nothing is fetched ahead
  recall::Recall* recall_ = nullptr;  ///< null: nothing is recalled
};

}  // namespace hob::mpi
