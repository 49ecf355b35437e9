// The gets of one window, served from a cache where MPI's rules allow it (paper III;
// docs/developers/cache.md).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "cache/cache.hpp"
#include "gets/completions.hpp"
#include "gets/wait_meter.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/rma/backend/operation_counts.hpp"
#include "mpi/rma/cache/block_gets.hpp"
#include "mpi/rma/cache/entered.hpp"
#include "mpi/rma/cache/own_rank.hpp"
#include "mpi/rma/cache/recall_gets.hpp"
#include "mpi/rma/cache/requested_gets.hpp"
#include "mpi/rma/cache/window_context.hpp"
#include "mpi/rma/cache/write_reports.hpp"
#include "report/trace.hpp"

namespace hob::mpi {

/// Cached gets of one window. Thread safe with MPI_THREAD_MULTIPLE. No function throws.
class CachedGets final : private RequestedGets::Owner,
                         private RecallGets::Owner,
                         private WriteReports::Owner {
 public:
  /// `backend`, `atomic_results`, where results of atomic reads are noted that may announce writes,
  /// and `issued`, the window's operations so far, outlive the object.
  CachedGets(const WindowContext& window, Backend& backend, Outstanding& atomic_results,
             const OperationCounts& issued, const GetOptions& options,
             std::unique_ptr<cache::Cache> cache, std::unique_ptr<DisplacementUnits> units);
  ~CachedGets();

  /// From now on, shares what it fetches with other ranks of the node. Before the first get.
  void share(std::unique_ptr<NodeLog> node_log) { sharing_.start(std::move(node_log)); }

  /// `batches` says whether gets go out in batches, and outlives the object. Before the first get.
  void know_batches(const gets::BatchedGets& batches) { issuer_.know_batches(batches); }
  /// From now on, reports waits for requests. `waits` outlives the object. Before the first get.
  void set_wait_meter(gets::WaitMeter& waits) { waits_ = &waits; }

  /// From now on, may fetch more than was asked for, within these sizes. Before the first get.
  void fetch_ahead(std::unique_ptr<ExposedSizes> exposed);
  /// From now on, the places that the last phases read are fetched at once when one like them
  /// begins, by `carrier`, which is behind everything that holds operations back and outlives the
  /// object. `indexed`: as few gets with indexed datatypes. After fetch_ahead(), before the first
  /// get.
  void recall(Backend& carrier, bool indexed, recall::Room& room);
  /// Whether an epoch that this process has opened reaches all targets.
  void reaches_all(bool all);
  /// The memory of all targets may be read as a whole, whatever was known of it before.
  void may_read_all();

  /// The whole of MPI_Get: serves it or issues it. Returns what MPI_Get would.
  int get(const Get& get);

  /// The whole of MPI_Get too, if it is like one that was served and nothing but hits came in
  /// between. False, and nothing done, for all others.
  bool get_again(const gets::HotLookup::Asked& get);
  /// The whole of MPI_Win_flush likewise.
  bool flush_again(int target);

  /// The whole of MPI_Rget. The program's buffer has the bytes when the request completes, and is
  /// not written from then on.
  int rget(const Get& get);

  /// A get from a target that is never looked up, which the caller issues, the `count`-th of its
  /// kind. Thread safe.
  void pass_by(int target, std::uint64_t count);

  /// What before_flush found out and after_flush needs.
  using FlushToken = gets::Completions::Token;

  /// A flush of the program, of one target or (target < 0) of all. True: nothing is outstanding
  /// there, and no call need be made.
  bool flush_skipped(int target);

  /// Around the library's flush or its kin. target < 0: all targets. local: only local completion
  /// is asked for, so that writes stay outstanding.
  FlushToken before_flush(int target, bool local);
  void after_flush(int target, const FlushToken& token, bool succeeded);

  /// The end of an epoch (unlock, unlock_all, complete, fence, ...), after the library's own call:
  /// all gets to the target (target < 0: to all) are complete. `waited`: ticks that the call took,
  /// 0 if they say nothing about this process's gets.
  /// `opens`: the call may have opened the next epoch.
  void epoch_closed(int target, bool succeeded, std::uint64_t waited = 0, bool opens = false);

  /// MPI_Win_lock(MPI_LOCK_SHARED, MPI_MODE_NOCHECK) of the own rank, and its end, which
  /// returns whether it is an acquire.
  void own_epoch_begins();
  bool own_epoch_ends();

  /// Gets to a target that were served from the cache so far. Thread safe.
  std::uint64_t hits(int target);
  /// The same for a lock of the target that is to be held back. None if an epoch may be open there,
  /// in which the lock would be an error, which the library finds. It is open from here on.
  std::optional<std::uint64_t> hits_if_closed(int target);

  /// An access epoch begins (target < 0: for all targets).
  void epoch_opened(int target);

  /// Which calls made the cache forget what it held.
  const DropCauses& drop_causes() const { return drop_causes_; }

  /// Ticks that hits and `locks` that were not sent have saved, estimated from measured waits.
  pay::SavedRange saved(std::uint64_t locks) const;

  /// A put, accumulate or atomic of this process is about to be issued to these bytes; in programs
  /// with several threads also after it was (`issued`).
  void own_write(int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type, bool issued);

  /// A write or atomic was given to the library for this target.
  void note_write(int target);

  /// With several threads, writes to the own rank are noted there in place of both.
  OwnRank& own_rank() { return own_rank_; }

  /// Copies that outlive a collective call.
  WriteReports& reports() { return reports_; }

  /// HOB_Invalidate, or an own write to memory that other windows may show too.
  void drop_all();
  void drop_target(int target);

  /// Nothing is looked up any more: the whole job is on one node, whose gets cost what hits cost.
  bool tracking_off_for_good() const { return tracking_.is_off_for_good(); }

  Mode mode() const { return coherence_.mode(); }
  const std::string& mode_reason() const { return coherence_.mode_reason(); }
  void set_mode(Mode mode, std::string reason);

  /// Null: nothing is fetched ahead, or recalled.
  const Ahead* ahead() const { return ahead_.get(); }
  const RecallGets* recalls() const { return recalls_.get(); }

  const GetStats& stats() const { return stats_; }
  const cache::Cache& cache() const { return *cache_; }
  std::size_t targets() const { return targets_.size(); }
  const std::vector<std::string>& failures() const { return verifier_.failures(); }
  /// Fetched in this window without being asked for. Thread safe.
  std::uint64_t ahead_bytes() {
    const std::lock_guard guard(lock_);
    return cache_->stats().ahead_bytes + stats_.recall_bytes;
  }
  std::uint64_t memory_bytes() const;

 private:
  using Purpose = PendingGet::Purpose;

  // plans.cpp: what is done about a get that was looked up
  class GetContext;
  class RequestContext;
  int answer(const LookedUp& asked);
  int answer(const LookedUp& asked, MadeRequest& made);
  template <class AnyContext>
  int answer(Plan plan, const AnyContext& context);
  bool carry_out(Plan plan, const GetContext& context, int& result);
  bool carry_out(Plan plan, const RequestContext& context, int& result);
  bool is_served(const LookedUp& asked) const;
  CacheableGet skipped(const Get& get, SkipReason why) {
    if (HOB_UNLIKELY(log::on(log::Level::debug))) log_skipped(get, why);
    return {};
  }
  void log_skipped(const Get& get, SkipReason why);

  // program_gets.cpp: what may be looked up
  TargetState& target(int rank);
  TargetState& target_of(int rank) override { return target(rank); }
  CacheableGet cacheable(const Get& get, TargetState& t);
  /// Whether only the cache would learn from the get: waits for requests are counted, too, and
  /// places are recorded, unless recalling them would spare no trip (TargetState::hides_trip()).
  bool may_leave(const Get& get, bool hidden) const {
    return !get.request && !sharing_.on() && (hidden || !(recalls_ && recalls_->records()));
  }
  int let_in(int target, std::unique_lock<ExclusiveSpin>& guard);
  int look_again(const Get& get, TargetState& t, const CacheableGet& wanted,
                 std::unique_lock<ExclusiveSpin>& guard, cache::Lookup& hit);
  bool is_watched(const CacheableGet& wanted) const {
    return ahead_ && HOB_UNLIKELY(ahead_->readahead.recording()) && wanted.contiguous &&
           !wanted.only_recorded;
  }
  void watch(const CacheableGet& wanted, const cache::Lookup& hit);
  bool rget_again(const Get& get);

  // serving.cpp, shared_gets.cpp: gets that are served, or wait for one that is under way
  bool serve_again(const gets::HotLookup::Asked& get);
  void expect_again(const LookedUp& asked, std::uint64_t now);
  void serve(const LookedUp& asked, std::uint64_t now);
  bool will_bring(const LookedUp& asked) const;
  bool serve_pending(const LookedUp& asked);
  bool serve_split(const LookedUp& asked);
  bool join(const LookedUp& asked, MadeRequest& made);
  void count_hit(const LookedUp& asked, std::uint64_t now);
  bool serve_shared(const Get& get, TargetState& t, const CacheableGet& wanted, int& result);
  int refetch_shared(const Get& get, TargetState& t, const CacheableGet& wanted,
                     std::uint64_t issued);
  bool issue_blocks(const Get& get, TargetState& t, const CacheableGet& wanted, bool aged = false) {
    return blocks_ && !wanted.only_recorded &&
           blocks_->issue(get, t, wanted, recalls_ && recalls_->reads_recalled(), aged);
  }
  bool old_ahead(const cache::Lookup& hit, std::uint64_t now) const;
  std::uint64_t known_at(const cache::Lookup& hit) const { return kept_.known_at(hit.fetched); }
  bool in_batch() const { return issuer_.in_batch(); }
  double typical_trip() const override;

  /// A hit is fetched again, or has been; `recalled`: no get had asked for it before.
  void refetch_begins(bool recalled, std::uint64_t now);
  void refetch_arrived(bool recalled, std::uint64_t now);
  void phase_ended() override {
    if (recalls_) recalls_->phase_ended(ahead_ ? ahead_->block_changes() : 0);
  }
  /// The mode is known or has changed.
  void settle_own_flushes() {
    own_rank_.flushes_alone.store(mode() != Mode::strict, std::memory_order_relaxed);
  }
  void completed_something() {
    if (recalls_) recalls_->completed();
  }
  void waited_in_phase(std::uint64_t waited) {
    if (recalls_) recalls_->spent(waited);
  }

  // completion.cpp: flushes, epochs, arrival of bytes
  void complete(TargetState& t, std::uint32_t last, bool succeeded);
  void finish(PendingGet& pending);
  void finish_fetch(PendingGet& pending);
  void store(const PendingGet& pending, const std::byte* packed);
  void finish_refetch(PendingGet& pending);
  void finish_verify(const PendingGet& pending);
  void get_arrived(PendingGet& pending, TargetState& t, bool awaited) override;
  void get_failed() override { drop_everything(); }
  void settle_assumed_writes(int rank, TargetState& t);

  // invalidation.cpp: what invalidates cached bytes
  void apply_acquires() {
    if (HOB_UNLIKELY(acquires.own_epochs_of_loads.load(std::memory_order_relaxed) != 0))
      count_acquire("MPI_Win_lock");
    if (HOB_UNLIKELY(coherence_.apply_acquires(acquires.count.load(std::memory_order_relaxed))))
      drop_for_acquire();
  }
  void drop_for_acquire();
  void drop_everything();
  void drop_copies(int rank, TargetState& t) override;
  void drop_bytes(int rank, std::uint64_t first, std::uint64_t bytes) override;
  void end_strict_epoch();
  void turn_tracking_on() override;
  bool may_turn_tracking_off();
  void try_turn_tracking_off() override {
    if (may_turn_tracking_off()) turn_tracking_off();
  }
  void turn_tracking_off();
  void turn_tracking_off_for_good();
  void call_in_vain(std::uint32_t calls = 1) {
    if (HOB_UNLIKELY(tracking_.useless(calls))) try_turn_tracking_off();
  }
  void record(report::TraceRecord what);

  WindowContext window_;
  Backend& backend_;
  const OperationCounts& issued_;
  GetOptions options_;
  std::unique_ptr<cache::Cache> cache_;
  std::unique_ptr<DisplacementUnits> units_;

  ExclusiveSpin lock_;
  gets::HotLookup hot_;
  Coherence coherence_;
  OwnEpoch own_epoch_;
  TrackingState tracking_;            ///< on: Hob sees all calls (wrapper.hpp)
  std::uint64_t settled_writes_ = 0;  ///< issued, all of them complete, when tracking ended last
  TargetTable targets_;
  GetsUnderWay under_way_;
  gets::Learning learning_;
  gets::Completions completions_;
  OwnRank own_rank_;
  RequestGroups request_groups_;
  gets::KeptCopies kept_;
  DropCauses drop_causes_;
  gets::ProgressPace progress_;
  NodeSharing sharing_;
  Verifier verifier_;
  gets::WaitMeter* waits_ = nullptr;
  std::uint32_t logged_ = 0;  ///< skip reasons, as bits, that were logged
  GetStats stats_;
  UsesAcquires uses_acquires_;

  GetIssuer issuer_;
  WriteReports reports_;
  std::unique_ptr<Ahead> ahead_;         ///< null: nothing is fetched ahead
  std::optional<BlockGets> blocks_;      ///< none: likewise
  std::unique_ptr<RecallGets> recalls_;  ///< null: nothing is recalled
  RequestedGets requested_;  ///< the last: requests that outlive the window know it until it ends
};

}  // namespace hob::mpi
