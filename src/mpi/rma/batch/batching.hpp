// Many small operations as few: docs/batching.md.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <unordered_map>

#include "base/published.hpp"
#include "batch/saving.hpp"
#include "batch/trial.hpp"
#include "gets/batched_gets.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/backend/backend.hpp"
#include "mpi/rma/backend/displacement_units.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/batch/batched_get.hpp"
#include "mpi/rma/batch/batches.hpp"
#include "mpi/rma/batch/operation.hpp"
#include "pay/backoff.hpp"
#include "pay/price_range.hpp"

namespace hob::mpi {

/// What the report says about the batches of one window.
struct BatchStats {
  std::uint64_t operations = 0;   ///< batched
  std::uint64_t combined = 0;     ///< of these, part of another one
  std::uint64_t batches = 0;      ///< operations of the library that they became
  std::uint64_t closed = 0;       ///< batches that went out for the sake of a location or a type
  std::uint64_t completions = 0;  ///< flushes of Hob's own, for the bounds
  pay::SavedRange saved{};        ///< ticks
};

/// A backend in front of another one: batches small operations and gives them on as
/// few, before whatever completes them. Thread safe.
class Batching final : public Backend, public BatchOwner {
 public:
  struct Options {
    /// Always batches, whatever it costs, and batches of no more than `most`.
    bool forced = false;
    std::uint32_t most = 4096;
    /// Of a batch, with its datatype: of gets and puts; of accumulates and fetching operations.
    std::uint64_t most_bytes = tuning::batching::kMostBytes;
    std::uint64_t most_atomic_bytes = tuning::batching::kMostMessageBytes;
    /// A program that flushes locally enters the library so often at least, in ns.
    double progress_ns = 20'000;
    /// Now and then measures what operations take natively.
    bool samples = true;
    /// Operations to one target that the library may hold; 0: any number.
    std::uint64_t outstanding = 0;
  };

  struct WindowContext {
    MPI_Win handle = MPI_WIN_NULL;
    int rank = 0, size = 0;
    bool bounded = true;  ///< `exposed` says what the targets show
  };

  Batching(Backend& next, const WindowContext& window, DisplacementUnits units,
           ExposedSizes exposed, const Options& options)
      : next_(next),
        window_(window),
        units_(std::move(units)),
        exposed_(std::move(exposed)),
        options_(options) {
    savings_.fill(batch::Saving({.late = ticks_in(tuning::batching::kLateNs)}));
  }
  ~Batching() override;

  const gets::BatchedGets& batched_gets() const { return batched_gets_; }

  BatchStats stats();

  /// Bytes of Hob's memory in batches that wait, and in those that the library has.
  std::uint64_t waiting_bytes();
  std::uint64_t held_bytes();

  /// The program has asked where the memory of `target` is (all: < 0): from now on, it may reach it
  /// by loads and stores, whose order to its operations it may know, so that none waits.
  void reached_by_stores(int target);

  /// A wait was sampled while tracking is off, `waits` of which this one stands for; `operations`
  /// have been issued on the window in all. True: from now on, the window's operations must be
  /// seen.
  bool retry(std::uint64_t operations, std::uint64_t waits);

  /// Sends batches that are old, or all of them.
  void send_waiting(bool all);

  /// Sends batches that are old. The library's errors reach the window's error handler in the
  /// program's next call that completes operations to the same target.
  void send_without_handlers();

  int complete_batch_of(BatchedGet& get) override;
  void issue_alone(BatchedGet& get) override;

  int issue(const rma::Op& op) override;
  int synchronise(const rma::Sync& sync) override;
  void closing() override;
  void staying() override { next_.staying(); }
  void keep_bounds(int target) override;

 private:
  /// The lock, around an operation; after it, keep_bounds().
  class Bounded {
   public:
    Bounded(Batching& batches, int target) : batches_(batches), target_(target) {
      batches_.lock_.lock();
    }
    /// What the program's functions throw that the library calls passes through.
    ~Bounded() noexcept(false) {
      batches_.lock_.unlock();
      if (HOB_UNLIKELY(batches_.batched_gets_.full.get()) && std::uncaught_exceptions() == 0)
        batches_.keep_bounds(target_);
    }
    Bounded(const Bounded&) = delete;
    Bounded& operator=(const Bounded&) = delete;

   private:
    Batching& batches_;
    int target_;
  };

  /// The operations since the last completion, by kind.
  struct Interval {
    std::uint64_t operations = 0, batched = 0, timed = 0;
    std::uint64_t ticks = 0;  ///< in the library's calls
    /// The time of the first one with a request, which the program may wait for anywhere; 0: none.
    std::uint64_t requested = 0;
  };

  bool only_counts() {
    if (HOB_LIKELY(only_counting_.get())) return !time_to_retry();
    return false;
  }
  bool time_to_retry() {
    const std::uint64_t left = until_retry_.get();
    until_retry_.set(left - 1);
    if (HOB_LIKELY(left > 1)) return false;
    only_counting_.set(false);
    return true;
  }
  void stop_tracking();
  void start_tracking();

  BatchTarget* at(int target);
  bool is_open(const BatchTarget& t) const { return all_locked_ || t.epoch == epoch_; }
  bool is_locked(const BatchTarget& t) const {
    return all_locked_ || (t.locked && t.epoch == epoch_);
  }
  SmallOperation described(const rma::Op& op) const;
  std::byte* describe(const TypedBuffer& buffer, const rma::Op& op, SmallOperation& small) const;
  bool worthwhile(BatchTarget& t, const SmallOperation& op);
  bool is_sampled(const SmallOperation& op) const {
    return sample_.on && sample_.target == op.target && sample_.kind == op.kind;
  }
  bool takes_samples() const;
  bool may_sample() const;
  void learn_native(BatchKind kind, std::uint64_t operations, std::uint64_t ticks);
  void sample_in_flush(int target);
  bool is_worth_a_sample(const BatchTarget& t, const OpenBatch& open, int target) const;
  void begin_sample(BatchTarget& t, const SmallOperation& op);
  void continue_sample(BatchTarget& t, const SmallOperation& op);
  void complete_sample();
  bool joins(const rma::Op& op);
  void note_batched(BatchKind kind, bool requested);
  void expect_more(const SmallOperation& small, const rma::Op& op);
  void append(OpenBatch& open, std::uint64_t begin, std::uint64_t bytes, std::byte* place,
              const std::byte* data);
  static void lower(OpenBatch& open, std::uint64_t begin, MPI_Aint disp, std::int64_t low);
  bool may_have_request(const BatchTarget& t, const SmallOperation& op);
  bool add_to_batch(const SmallOperation& small, const rma::Op& op);
  bool has_room(const OpenBatch& open, std::size_t slot, std::uint64_t bytes) const;
  void make_room(BatchTarget& t, const SmallOperation& op, bool& combined);
  void add(BatchTarget& t, const SmallOperation& op);
  static bool combine_with(OpenBatch& open, std::uint32_t number, const SmallOperation& op);
  void order(BatchTarget& t, const SmallOperation& op, bool joins);
  void track(OpenBatch& open);
  int native(const SmallOperation& small, const rma::Op& op);

  void send(BatchTarget& t, int target, std::size_t slot);
  void send_all_of(BatchTarget& t, int target);
  void send_everything();
  int issue_batch(const OpenBatch& open, SentBatch& sent, int target);
  int issue_indexed(const OpenBatch& open, SentBatch& sent, int target);
  static BatchedGet** requested_as(SentBatch& sent, std::uint32_t number);
  static void discard(BatchTarget& t, BatchedGet& get);
  int issue_singly(const OpenBatch& open, SentBatch& sent, int target);
  bool singly(const OpenBatch& open, const batch::OperationBuffer& buffer, int target) const;

  /// Whether a batch that was sent to a target brings something.
  static bool any_brings(const BatchTarget& t);

  /// Whether all operations to a target that are not complete only write: then a local flush
  /// ends nothing but the use of the program's buffers.
  static bool only_writes(const BatchTarget& t);
  void send_old(BatchTarget& t, int target, std::uint64_t now);
  int report_error(int error) const;
  int shows_lock(int target, int result);
  int free_buffers(BatchTarget& t, const rma::Sync& sync);
  int flush_each_and_all();
  int complete_one(const rma::Sync& sync);
  int complete_all(const rma::Sync& sync);
  int unlock(const rma::Sync& sync);
  int lock_all(const rma::Sync& sync);
  void finish(BatchTarget& t, std::uint64_t last, bool succeeded);
  struct KeptError {
    int error;
    bool unreported;  ///< by the program's error handler
  };
  KeptError settle(BatchTarget& t, std::uint64_t last, bool succeeded);
  void account(std::uint64_t waited, bool timed);
  bool reaches_all() const { return all_locked_ || !many_threads; }
  bool too_much(const BatchTarget& t) const;
  void ask_for_completion(const BatchTarget& t);
  void complete_for_bound(int target);

  Backend& next_;
  WindowContext window_;
  DisplacementUnits units_;
  ExposedSizes exposed_;
  Options options_;

  ExclusiveSpin lock_;
  Published<bool> only_counting_;  ///< operations go to the library, counted
  Published<bool> tracking_;       ///< one of parts_tracking: synchronisation is seen
  gets::BatchedGets batched_gets_;
  Published<std::uint64_t> until_retry_;
  pay::Backoff<> next_retry_{
      {.first = tuning::batching::kFirstPause, .longest = tuning::batching::kLongestPause}};
  std::uint64_t seen_operations_ = 0;  ///< retry()
  std::uint32_t idle_intervals_ = 0;

  std::unordered_map<int, BatchTarget> targets_;
  int last_rank_ = -1;
  BatchTarget* last_ = nullptr;
  BatchPool pool_;
  std::uint64_t epoch_ = 1;
  bool all_locked_ = false;
  bool all_reached_ = false;     ///< by loads and stores of the program, for all that is known
  Published<std::size_t> open_;  ///< batches
  std::uint64_t waiting_ = 0;    ///< bytes of their memory, about
  std::uint64_t held_ = 0;       ///< bytes of memory of batches that the library has
  std::uint64_t entered_ = 0;    ///< the library, by a local flush, at this time
  std::uint64_t sent_ = 0;
  std::array<Interval, kBatchKinds> interval_{};
  std::array<batch::Trial, kBatchKinds> trials_{};
  std::array<batch::Saving, kBatchKinds> savings_;
  /// A burst that begins natively, to learn what that takes.
  struct NativeSample {
    int target = 0;
    BatchKind kind = BatchKind::get;
    bool on = false;
    bool issued = false;  ///< all of it, which is to be completed
  };
  NativeSample sample_;
  BatchStats stats_;
  /// Gets with requests that are not batched any more, since the program tests them.
  std::uint64_t requests_skipped_ = 0;
  pay::Backoff<> next_skipped_{
      {.first = tuning::batching::kSkippedAfterTest, .longest = tuning::batching::kLongestPause}};
};

}  // namespace hob::mpi
