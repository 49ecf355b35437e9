// Gets of what phases like the present one have read: how they are issued, and what happens when
// they arrive (docs/consistency.md, "Recalled").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "batch/operation_buffer.hpp"
#include "cache/cache.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/rma/cache/ahead.hpp"
#include "mpi/rma/cache/get_issuer.hpp"
#include "recall/recall.hpp"
#include "recall/room.hpp"

namespace hob::mpi {

/// Of one window. Not thread safe. No function throws.
class RecallGets {
 public:
  /// Whose gets they are.
  class Owner {
   public:
    virtual TargetState& target_of(int rank) = 0;

   protected:
    ~Owner() = default;
  };

  struct Config {
    int window = 0;                   ///< counts the windows of this process
    int rank = 0;                     ///< of this process in the window's group
    bool indexed = false;             ///< as few gets with indexed datatypes
    bool judged = true;               ///< by what phases take with recalled places and without
    std::uint64_t longest_fetch = 0;  ///< bytes that one get may fetch unasked
    PollGuard::Config age{};          ///< of places that are asked for the first time
  };

  /// What belongs to the window. All of it outlives the object.
  struct Parts {
    Owner& owner;
    Backend& backend;
    Backend& carrier;    ///< behind everything that holds operations back
    recall::Room& room;  ///< shared with other windows
    Ahead* ahead;        ///< null: nothing is fetched ahead
    GetIssuer& issuer;
    cache::Cache& cache;
    const DisplacementUnits& units;
    const Coherence& coherence;
    const NodeSharing& sharing;
    const TrackingState& tracking;
    GetsUnderWay& under_way;
    gets::Learning& learning;
    gets::KeptCopies& kept;
    GetStats& stats;
  };

  RecallGets(const Config& config, const Parts& parts)
      : config_(config),
        parts_(parts),
        memory_({.least_each = tuning::gets::kLeastRecalledNs * ticks_per_nanosecond(),
                 .judged = config.judged},
                parts.room),
        guard_(config.age) {
    parts.issuer.know_recall(memory_);
  }
  RecallGets(const RecallGets&) = delete;
  RecallGets& operator=(const RecallGets&) = delete;

  /// Whether an epoch that this process has opened reaches all targets.
  void reaches_all(bool all) { reaches_all_ = all; }

  /// Whether first_hit() is to be called.
  bool records() const {
    return memory_.recording() && !ended_ && parts_.coherence.mode() == Mode::automatic &&
           !parts_.sharing.on();
  }
  /// The first hit of bytes that were fetched ahead.
  void first_hit(int target, std::uint64_t displacement, std::uint64_t bytes) {
    if (memory_.recording_fetched_ahead())
      memory_.missed(static_cast<std::uint32_t>(target), displacement, bytes);
  }

  /// A place was recalled that now is longer than it was. To fetch the ends of many such places one
  /// by one may take longer than blocks that bring several of them: its hit becomes a miss.
  void drop_if_short(const TargetState& t, cache::Lookup& hit);

  /// A get that is missing: issues it together with places of its target that are recalled. False:
  /// it was not issued, though others may have been.
  bool issue(const LookedUp& asked);

  /// After a get was looked up and answered, and `issued` or served without an error: what the
  /// record has to know of it. Fetches places beside one with a request that is missing.
  void looked_up(const LookedUp& asked, bool issued, bool requested);
  /// Whether that has anything to do: not for most hits.
  bool concerns(const cache::Lookup& hit) const {
    if (hit.block != 0 && hit.tag == 0 && hit.kind == cache::Hit::full)
      return hit.consecutive <= 1 && memory_.recording();
    return hit.tag != 0 || hit.block != 0 ||
           (hit.kind != cache::Hit::full && hit.kind != cache::Hit::pending_full);
  }

  /// The first hit of a recalled place with this tag.
  void used(std::uint64_t tag) {
    const std::uint64_t bytes = memory_.used(tag);
    if (bytes == 0) return;
    ++parts_.stats.recall_used;
    parts_.stats.recall_used_bytes += bytes;
  }

  /// What of the get under way with this index brings the bytes of a hit on a pending entry, or
  /// null: it brings others.
  const gets::RecalledPlace* place_of(std::uint32_t index, const CacheableGet& wanted,
                                      const cache::Lookup& hit) const;

  /// Recalled places have arrived.
  void finish(PendingGet& pending);

  /// Whether most of what the program reads in this phase is recalled.
  bool reads_recalled() const { return memory_.reads_recalled(); }

  /// Bytes recalled so long ago that their first get fetches them again.
  bool too_old(std::uint64_t known_at, std::uint64_t now) const {
    return guard_.due(1, known_at, now);
  }
  /// Bytes that were recalled before this are too old at `now`; 0: none are.
  std::uint64_t oldest(std::uint64_t now) const { return guard_.oldest(now); }
  void refetch_begins(std::uint64_t now) { guard_.begin(now); }
  void refetch_arrived(std::uint64_t now) { guard_.arrived(now); }
  /// It has changed with no acquire in between: nothing is recalled any more.
  void end();

  /// The program waited for gets, or would have waited without Hob.
  void completed() { memory_.completed(); }
  /// So many ticks of this phase were spent on waits and on taking in what arrived.
  void spent(std::uint64_t time) { memory_.spent(static_cast<double>(time)); }
  /// A wait for the gets of a target, and for nothing else, has taken so long.
  void learn_prices(const TargetState& t, std::uint64_t waited);

  /// `block_changes`: of the sizes of blocks that are fetched ahead, so far.
  void phase_ended(std::uint64_t block_changes) {
    memory_.phase_ended(block_changes != changes_before_);
    changes_before_ = block_changes;
  }
  const std::vector<recall::PhasePoint>& phases() const { return memory_.phases(); }

  std::uint64_t memory_bytes() const {
    return sizeof(*this) + memory_.memory_bytes() + own_pool_.memory_bytes() +
           buffer_.memory_bytes();
  }

 private:
  struct Cause;
  struct Piece;
  struct TakenUp;
  using Places = std::span<const std::uint32_t>;
  using Range = cache::Readahead::Range;

  bool may_recall(const CacheableGet& wanted, const Get& get) const;
  bool may_recall_beside(const LookedUp& asked) const;
  recall::Prices prices() const;
  void recall_like(Cause& cause);
  std::uint64_t bytes_of(Places places, const CacheableGet* own) const;
  Range hull_of(Places places, const CacheableGet* own) const;
  Places places_within(Places places, std::uint64_t most) const;
  bool may_span(int rank, const recall::Place& first, const Range& range, std::uint64_t most) const;
  std::uint64_t unit_of(int rank) const;
  std::optional<Piece> piece_of(int rank, Places places, const Cause& cause,
                                const recall::Prices& prices) const;
  std::size_t issue_piece(int rank, Places places, Cause& cause, const recall::Prices& prices);
  TakenUp take_up(const Piece& piece, const CacheableGet& wanted, AheadFetch& fetch);
  std::uint32_t select(AheadFetch& fetch, const Piece& piece, const CacheableGet& wanted,
                       bool was_empty);
  void reserve(AheadFetch& fetch, int rank, std::uint32_t cookie);
  bool send(const Piece& piece, PendingGet& pending, std::unique_ptr<AheadFetch> fetch,
            bool requested);
  int issue_places(int rank, const AheadFetch& fetch, const Range& range, MPI_Request* request);
  void drop(AheadFetch& fetch, cache::EntryId own);
  void finish_old(TargetState& t);
  /// Readahead's, where there is one: memory that was written to before is quicker than new one.
  AheadPool& pool() { return parts_.ahead ? parts_.ahead->pool : own_pool_; }

  Config config_;
  Parts parts_;
  recall::Recall memory_;
  double issue_ticks_ = tuning::gets::kIssueNs * ticks_per_nanosecond();  ///< of a get, no wait
  double in_burst_ = 0;  ///< of a get of several with one wait, its share of this; 0: not measured
  /// Of one with an indexed datatype, and its wait, without what its bytes take.
  double scattered_ =
      tuning::gets::kScatteredLatencies * tuning::gets::kFirstLatencyNs * ticks_per_nanosecond();
  std::uint64_t changes_before_ = 0;  ///< this phase
  bool ended_ = false;                ///< for good
  bool reaches_all_ = false;          ///< an epoch is open for all targets
  PollGuard guard_;
  AheadPool own_pool_;
  batch::OperationBuffer buffer_;  ///< of the get that is being made
};

}  // namespace hob::mpi
