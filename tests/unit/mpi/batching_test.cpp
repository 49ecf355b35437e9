// Batches on the fake library: what reaches it, in which order, and who hears of its errors
// (docs/consistency.md, "Batches").
#include "mpi/rma/batch/batching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "fake_mpi.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/datatype/layouts.hpp"
#include "mpi/progress/batched.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/served.hpp"
#include "mpi/rma/backend/native_backend.hpp"
#include "mpi/rma/batch/indexed.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 64;

class Batches : public testing::Test {
 protected:
  void SetUp() override { begin({.forced = true}); }
  void TearDown() override { end(); }

  void begin(const Batching::Options& options) {
    MPI_Win_allocate(kWords * sizeof(std::int64_t), sizeof(std::int64_t), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base_, &win_);
    DisplacementUnits units;
    units.assign(PerRank(sizeof(std::int64_t)));
    ExposedSizes exposed;
    exposed.assign(PerRank(kWords * sizeof(std::int64_t)));
    for (int rank = 1; rank < fake::kWorldSize; ++rank)
      for (int i = 0; i < kWords; ++i) store(rank, i, initial(rank, i));
    library_ = std::make_unique<NativeBackend>(win_);
    batches_ = std::make_unique<Batching>(
        *library_, Batching::WindowContext{.handle = win_, .rank = 0, .size = fake::kWorldSize},
        units, exposed, options);
    into_.fill(-1);
    // The first operation finds out that there is something to see; the lock is seen after it.
    EXPECT_EQ(get(1, 0, 0), MPI_SUCCESS);
    EXPECT_EQ(batches_->synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
    EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
    into_.fill(-1);
    fake::reset();
  }
  void end() {
    fake::reset();
    batches_.reset();
    MPI_Win_free(&win_);
  }

  static std::int64_t initial(int rank, int i) { return 1000 * rank + i; }
  void store(int rank, int i, std::int64_t value) {
    std::memcpy(fake::memory(win_, rank).data() + i * 8, &value, sizeof value);
  }
  std::int64_t at(int rank, int i) {
    std::int64_t value = 0;
    std::memcpy(&value, fake::memory(win_, rank).data() + i * 8, sizeof value);
    return value;
  }
  int get(int rank, int place, std::size_t into) {
    return batches_->issue(rma::Op::get(&into_[into], 1, MPI_INT64_T, rank, place, 1, MPI_INT64_T));
  }
  int put(int rank, int place, std::int64_t value) {
    return batches_->issue(rma::Op::put(&value, 1, MPI_INT64_T, rank, place, 1, MPI_INT64_T));
  }
  MPI_Request request_get(int rank, int place, std::size_t into) {
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_EQ(batches_->issue(rma::Op::get(&into_[into], 1, MPI_INT64_T, rank, place, 1,
                                           MPI_INT64_T, &request)),
              MPI_SUCCESS);
    return request;
  }
  bool is_complete(MPI_Request* request) {
    int flag = 0;
    EXPECT_EQ(requests::test(request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
    return flag != 0;
  }
  /// Scattered, so that they are no block.
  void get_some(int rank, int count) {
    for (int i = 0; i < count; ++i)
      EXPECT_EQ(get(rank, 2 * i, static_cast<std::size_t>(i)), MPI_SUCCESS);
  }

  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  std::unique_ptr<NativeBackend> library_;
  std::unique_ptr<Batching> batches_;
  std::array<std::int64_t, kWords> into_{};
};

TEST_F(Batches, ManyGetsBecomeOne) {
  get_some(1, 10);
  EXPECT_EQ(fake::calls("Get"), 0U);
  EXPECT_EQ(into_[0], -1);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Get"), 1U);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(into_[static_cast<std::size_t>(i)], initial(1, 2 * i));
  EXPECT_EQ(batches_->stats().operations, 10U);
  EXPECT_EQ(batches_->stats().batches, 1U);
}

TEST_F(Batches, EachCompletingCallSendsThem) {
  using Call = int (*)(Batching&);
  const std::array<Call, 5> calls{
      [](Batching& b) { return b.synchronise(rma::Sync::flush(1)); },
      [](Batching& b) { return b.synchronise(rma::Sync::flush_all()); },
      [](Batching& b) { return b.synchronise(rma::Sync::flush_local(1)); },
      [](Batching& b) { return b.synchronise(rma::Sync::flush_local_all()); },
      [](Batching& b) { return b.synchronise(rma::Sync::fence(0)); }};
  for (std::size_t k = 0; k < calls.size(); ++k) {
    into_.fill(-1);
    get_some(1, 5);
    EXPECT_EQ(calls[k](*batches_), MPI_SUCCESS);
    EXPECT_EQ(into_[4], initial(1, 8)) << "call " << k;
  }
}

// MPICH 4 returns from its flush of all targets before operations with indexed types are complete.
TEST_F(Batches, AFlushOfAllTargetsFlushesEachWhoseBatchesBringSomething) {
  get_some(1, 5);
  EXPECT_EQ(put(2, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(fake::calls("Win_flush_all"), 1U);
}

TEST_F(Batches, ACallThatBlocksLeavesNoneWaiting) {
  static Batching* waiting = nullptr;
  waiting = batches_.get();
  auto* const before = batched::waiting.send.exchange([](bool all) { waiting->send_waiting(all); });
  EXPECT_EQ(put(1, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(put(1, 2, 8), MPI_SUCCESS);
  batched::before_call(true);
  EXPECT_EQ(fake::calls("Put"), 1U);
  batched::waiting.send = before;
}

// Whoever is given the type may look it up, as short puts over TCP do.
TEST_F(Batches, NothingIsKnownOfATypeWhoseHandleIsFree) {
  batch::OperationBuffer buffer;
  auto* const place = reinterpret_cast<std::byte*>(into_.data());
  buffer.add(0, sizeof(std::int64_t), place);
  buffer.add(24, sizeof(std::int64_t), place + sizeof(std::int64_t));
  MPI_Datatype handle = MPI_DATATYPE_NULL;
  {
    const IndexedType type(buffer, 0, MPI_INT64_T, sizeof(std::int64_t));
    handle = type.get();
    fake::fail("Type_get_contents", MPI_ERR_TYPE);  // the fake does not say how it was made
    layout_of(handle);
    fake::reset();
    layout_of(handle);
    EXPECT_EQ(fake::calls("Type_get_envelope"), 0U) << "it is known";
  }
  layout_of(handle);  // the library may have given it to another type
  EXPECT_GT(fake::calls("Type_get_envelope"), 0U);
  forget_layout(handle);
}

// The library refuses a batch: its operations said that all was well.
TEST_F(Batches, AnErrorOfABatchIsWhatTheNextCompletionAtItsTargetReturns) {
  fake::fail("Get", MPI_ERR_RMA_RANGE);
  get_some(1, 5);
  EXPECT_EQ(put(2, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(2)), MPI_SUCCESS) << "another target's";
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(into_[0], -1) << "nothing has come";
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS) << "it is reported once";
  get_some(1, 5);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[4], initial(1, 8));
}

TEST_F(Batches, ACompletionOfAllTargetsReturnsTheErrorOfOne) {
  fake::fail("Get", MPI_ERR_RMA_RANGE);
  get_some(1, 5);
  EXPECT_EQ(put(2, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(at(2, 0), 7) << "the others' are complete";
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
}

TEST_F(Batches, ABatchThatFailsBeforeItsCompletionIsToldByIt) {
  fake::fail("Put", MPI_ERR_RMA_RANGE);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(put(1, 2 * i, i), MPI_SUCCESS);
  batches_->send_waiting(true);
  EXPECT_EQ(fake::calls("Put"), 1U);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(put(1, 2 * i, i), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(at(1, 2), 1) << "the second batch arrived";
}

TEST_F(Batches, ATypeThatCannotBeMadeIsAnError) {
  fake::fail("Type_create_hindexed_block", MPI_ERR_OTHER);
  get_some(1, 5);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_ERR_INTERN);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
}

TEST_F(Batches, AFlushThatFailsBringsNothing) {
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(get(1, static_cast<int>(2 * i), 10 - i), MPI_SUCCESS);  // no one block at the origin
  fake::fail("Win_flush", MPI_ERR_RMA_SYNC);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(into_[10], -1);
  EXPECT_EQ(put(1, 20, 5), MPI_SUCCESS);
  EXPECT_EQ(put(1, 30, 5), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[10], initial(1, 0)) << "the library had it";
}

// Others may wait for operations on this process.
TEST_F(Batches, LocalFlushesEnterTheLibraryNowAndThen) {
  end();
  begin({.forced = true, .progress_ns = 0});
  EXPECT_EQ(put(1, 0, 5), MPI_SUCCESS);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(batches_->synchronise(rma::Sync::flush_local(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush_local"), 3U);
  EXPECT_EQ(fake::calls("Put"), 0U);
}

TEST_F(Batches, AnOperationOnALocationOfAnotherKindGoesAfterIt) {
  EXPECT_EQ(put(1, 3, 77), MPI_SUCCESS);
  EXPECT_EQ(put(1, 5, 78), MPI_SUCCESS);
  EXPECT_EQ(get(1, 5, 0), MPI_SUCCESS);
  EXPECT_EQ(get(1, 9, 1), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[0], 78);
  EXPECT_EQ(into_[1], initial(1, 9));
  EXPECT_EQ(batches_->stats().closed, 1U);
}

TEST_F(Batches, TheLaterPutToOnePlaceStays) {
  for (int i = 0; i < 5; ++i) EXPECT_EQ(put(1, 3, i), MPI_SUCCESS);
  EXPECT_EQ(put(1, 6, 9), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(at(1, 3), 4);
  EXPECT_EQ(fake::calls("Put"), 1U);
  EXPECT_EQ(batches_->stats().combined, 4U);
}

TEST_F(Batches, ABufferMayBeUsedAgainAfterALocalFlushThatSendsNothing) {
  std::int64_t value = 5;
  for (int i = 0; i < 4; ++i) {
    batches_->issue(rma::Op::put(&value, 1, MPI_INT64_T, 1, 2 * i, 1, MPI_INT64_T));
    EXPECT_EQ(batches_->synchronise(rma::Sync::flush_local(1)), MPI_SUCCESS);
    value = 99;
  }
  EXPECT_EQ(fake::calls("Put"), 0U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(at(1, 0), 5);
  EXPECT_EQ(at(1, 2), 99);
}

TEST_F(Batches, WhatTheLibraryMightRefuseGoesOutAtOnce) {
  EXPECT_EQ(get(1, kWords, 0), MPI_SUCCESS);  // beyond the window: the fake does not mind
  EXPECT_EQ(fake::calls("Get"), 1U);
}

TEST_F(Batches, NothingIsGatheredWhereNoEpochIsKnown) {
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  get_some(1, 3);
  EXPECT_EQ(fake::calls("Get"), 1U) << "the library says whether there is one";
}

TEST_F(Batches, BatchesThatWaitAreCountedUntilTheyAreSent) {
  const int before = batched::waiting.number.load();
  get_some(1, 3);
  EXPECT_EQ(put(2, 0, 1), MPI_SUCCESS);
  EXPECT_EQ(batched::waiting.number.load(), before + 2);
  batches_->send_waiting(true);
  EXPECT_EQ(batched::waiting.number.load(), before);
  EXPECT_EQ(fake::calls("Put") + fake::calls("Get"), 2U);
}

TEST_F(Batches, MoreThanTheBoundAreCompleted) {
  end();
  begin({.outstanding = 4});
  for (int i = 0; i < 12; ++i) EXPECT_EQ(get(1, i, 0), MPI_SUCCESS);  // so few are not batched
  EXPECT_EQ(fake::calls("Get"), 12U);
  EXPECT_EQ(fake::calls("Win_flush"), 2U);
  EXPECT_EQ(batches_->stats().completions, fake::calls("Win_flush"));
}

/// Puts that are not cheap, on a window that samples what they take natively, if `samples`.
class NativeSamples : public Batches {
 protected:
  void start(bool samples) {
    end();
    begin({.samples = samples});
    fake::during("Put", [] {
      const std::uint64_t end = ticks() + ticks_in(2 * tuning::batching::kCheapNs);
      while (ticks() < end) relax();
    });
  }
  void puts(int count) {
    for (int i = 0; i < count; ++i) {
      values_[static_cast<std::size_t>(i)] = 100 + i;
      EXPECT_EQ(batches_->issue(rma::Op::put(&values_[static_cast<std::size_t>(i)], 1, MPI_INT64_T,
                                             1, i, 1, MPI_INT64_T)),
                MPI_SUCCESS);
    }
  }
  std::array<std::int64_t, kWords> values_{};
  static constexpr int kLeast = static_cast<int>(tuning::batching::kLeast);
};

TEST_F(NativeSamples, TheFirstOfABurstAreCompletedByThemselves) {
  start(true);
  puts(kLeast);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{kLeast});
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  puts(2 * kLeast);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{kLeast}) << "the others are batched";
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{kLeast + 1});
  EXPECT_EQ(fake::calls("Win_flush"), 2U);
  for (int i = 0; i < 2 * kLeast; ++i) EXPECT_EQ(at(1, i), 100 + i);
  puts(2 * kLeast);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{2 * kLeast + 1}) << "a burst that would be batched";
  EXPECT_EQ(batches_->stats().completions, 0U);
}

TEST_F(NativeSamples, NotWhereNobodyAsks) {
  start(false);
  puts(2 * kLeast);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  puts(2 * kLeast);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{kLeast + 2});
  EXPECT_EQ(fake::calls("Win_flush"), 2U);
}

TEST_F(NativeSamples, OnlyWhereAFlushIsAllowedForAllThatIsKnown) {
  start(true);
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  MPI_Win_lock_all(0, win_);  // while tracking is off
  puts(2 * kLeast);
  EXPECT_EQ(fake::calls("Win_flush"), 0U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  const std::uint64_t before = fake::calls("Win_flush");
  puts(kLeast);
  EXPECT_EQ(fake::calls("Win_flush"), before + 1) << "the program's has shown that it is locked";
}

TEST_F(NativeSamples, InTheFirstFlushWhereNothingIsKnownBefore) {
  start(true);
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  MPI_Win_lock_all(0, win_);  // while tracking is off
  puts(kWords);               // some at first, since nobody knows that there are many, and a batch
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{kLeast});
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), std::uint64_t{2 * kLeast + 1});
  EXPECT_EQ(fake::calls("Win_flush"), 3U) << "before the sample, its own, and the program's";
  for (int i = 0; i < kWords; ++i) EXPECT_EQ(at(1, i), 100 + i);
}

TEST_F(NativeSamples, InAFlushTheLibrarysErrorsAreTheProgramsToHear) {
  start(true);
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  MPI_Win_lock_all(0, win_);
  puts(kWords);
  fake::fail("Put", MPI_ERR_RMA_RANGE);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
}

TEST_F(NativeSamples, NotBesideAnythingElse) {
  start(true);
  EXPECT_EQ(get(1, 0, 0), MPI_SUCCESS);
  puts(2 * kLeast);
  EXPECT_EQ(fake::calls("Win_flush"), 0U);
}

TEST_F(NativeSamples, TheirErrorIsThatOfTheNextCompletion) {
  start(true);
  fake::fail("Win_flush", MPI_ERR_RMA_RANGE);
  puts(kLeast);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
}

TEST_F(Batches, BatchesCountInTheBoundToo) {
  end();
  begin({.forced = true, .most = 8, .outstanding = 2 * tuning::batching::kPriceOfBatch});
  for (int i = 0; i < 8 * 12; ++i) EXPECT_EQ(get(1, i % kWords, 0), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Get"), 12U);
  EXPECT_EQ(fake::calls("Win_flush"), 4U);
}

/// So many operations that their batches take several times the bound.
constexpr int kVeryMany = 1 << 19;

TEST_F(Batches, WhatIsHeldIsBoundedWhateverTheOperation) {
  end();
  begin({.forced = true, .most = 32});
  std::uint64_t held = 0;
  const auto repeat = [&](auto operation) {
    const std::uint64_t flushes = fake::calls("Win_flush");
    for (int i = 0; i < kVeryMany; ++i) {
      ASSERT_EQ(operation(i % kWords), MPI_SUCCESS);
      held = std::max(held, batches_->held_bytes());
    }
    EXPECT_GT(fake::calls("Win_flush"), flushes);
  };
  const std::int64_t value = 1;
  std::int64_t result = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  repeat([&](int at) { return get(1, at, 0); });
  repeat([&](int at) { return put(1, at, value); });
  repeat([&](int at) {
    return batches_->issue(rma::Op::put(&value, 1, MPI_INT64_T, 1, at, 1, MPI_INT64_T, &request));
  });
  repeat([&](int at) {
    return batches_->issue(
        rma::Op::accumulate(&value, 1, MPI_INT64_T, 1, at, 1, MPI_INT64_T, MPI_SUM, &request));
  });
  repeat([&](int at) {
    return batches_->issue(rma::Op::fetch_and_op(&value, &result, MPI_INT64_T, 1, at, MPI_SUM));
  });
  EXPECT_LT(held, tuning::batching::kMostHeld + (1 << 16));
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
  EXPECT_EQ(batches_->held_bytes(), 0U);
  EXPECT_EQ(batches_->waiting_bytes(), 0U);
}

TEST_F(Batches, WhatIsHeldOfSeveralTargetsIsBoundedTogether) {
  end();
  begin({.forced = true, .most = 32});
  for (int i = 0; i < kVeryMany; ++i) ASSERT_EQ(get(1 + i % 3, i % kWords, 0), MPI_SUCCESS);
  EXPECT_LT(batches_->held_bytes(), tuning::batching::kMostHeld + (1 << 16));
  EXPECT_GT(fake::calls("Win_flush"), 0U);
}

// Between fences, no flush is allowed.
TEST_F(Batches, WhereNothingCanBeCompletedNothingMoreIsGathered) {
  end();
  begin({.forced = true, .most = 32});
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  for (int i = 0; i < kVeryMany; ++i) ASSERT_EQ(get(1, i % kWords, 0), MPI_SUCCESS);
  EXPECT_LT(batches_->held_bytes(), tuning::batching::kMostHeld + (1 << 16));
  EXPECT_EQ(fake::calls("Win_flush"), 0U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(batches_->held_bytes(), 0U);
}

TEST_F(Batches, OfManyThreadsNoneWaitsForTheFlushOfTheBound) {
  end();
  begin({.forced = true, .most = 8, .outstanding = tuning::batching::kPriceOfBatch});
  many_threads = true;  // the fake library looks for locks
  for (int i = 0; i < 64; ++i) EXPECT_EQ(get(1, i, 0), MPI_SUCCESS);
  many_threads = false;
  EXPECT_EQ(fake::calls("Win_flush"), 4U);
}

// Loads and stores

TEST_F(Batches, NothingWaitsForTheOwnRank) {
  const std::int64_t value = 3;
  std::int64_t result = 0;
  EXPECT_EQ(put(0, 0, value), MPI_SUCCESS);
  EXPECT_EQ(get(0, 0, 0), MPI_SUCCESS);
  EXPECT_EQ(batches_->issue(
                rma::Op::accumulate(&value, 1, MPI_INT64_T, 0, 1, 1, MPI_INT64_T, MPI_REPLACE)),
            MPI_SUCCESS);
  EXPECT_EQ(batches_->issue(rma::Op::fetch_and_op(&value, &result, MPI_INT64_T, 0, 2, MPI_SUM)),
            MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), 1U);
  EXPECT_EQ(fake::calls("Get"), 1U);
  EXPECT_EQ(fake::calls("Accumulate"), 1U);
  EXPECT_EQ(fake::calls("Fetch_and_op"), 1U);
}

TEST_F(Batches, NothingWaitsWhereTheProgramMayStore) {
  EXPECT_EQ(put(1, 0, 3), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), 0U);
  batches_->reached_by_stores(1);
  EXPECT_EQ(fake::calls("Put"), 1U);
  EXPECT_EQ(put(1, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), 2U);
  EXPECT_EQ(put(2, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), 2U);
  batches_->reached_by_stores(MPI_PROC_NULL);
  EXPECT_EQ(put(3, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Put"), 4U);
}

// Requests

TEST_F(Batches, AWaitForAGetCompletesItsBatch) {
  std::array<MPI_Request, 6> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = request_get(1, static_cast<int>(2 * i), i);
  EXPECT_EQ(fake::calls("Rget"), 0U);
  EXPECT_EQ(requests::wait(&all[3], MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into_[5], initial(1, 10)) << "they travel together";
  for (MPI_Request& request : all)
    EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Get"), 1U);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
}

TEST_F(Batches, AFlushCompletesRequestsToo) {
  std::array<MPI_Request, 5> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = request_get(1, static_cast<int>(2 * i), i);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[4], initial(1, 8));
  for (MPI_Request& request : all) EXPECT_TRUE(is_complete(&request));
  EXPECT_EQ(fake::calls("Rget"), 0U);
}

// A test must not block; nor may the batch spoil the buffer once the program uses it again.
TEST_F(Batches, AGetThatIsTestedIsIssuedAlone) {
  std::array<MPI_Request, 5> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = request_get(1, static_cast<int>(2 * i), i);
  batches_->send_waiting(true);
  while (!is_complete(&all[2])) {
  }
  EXPECT_EQ(fake::calls("Win_flush"), 0U);
  EXPECT_EQ(fake::calls("Rget"), 1U);
  EXPECT_EQ(into_[2], initial(1, 4));
  into_[2] = 77;
  for (MPI_Request& request : all)
    EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(into_[2], 77);
  EXPECT_EQ(into_[4], initial(1, 8));
  EXPECT_EQ(fake::calls("Rget"), 1U);
  MPI_Request next = request_get(1, 20, 6);
  EXPECT_EQ(fake::calls("Rget"), 2U) << "a program that tests is left alone";
  EXPECT_EQ(requests::wait(&next, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Batches, AnOpenBatchDoesNotFetchWhatWasTested) {
  std::array<MPI_Request, 2> all{request_get(1, 0, 0), request_get(1, 2, 1)};
  while (!is_complete(all.data())) {
  }
  into_[0] = 77;
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[0], 77);
  EXPECT_EQ(into_[1], initial(1, 2));
  EXPECT_EQ(requests::wait(&all[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST_F(Batches, ARequestThatIsFreedBringsItsBytes) {
  std::array<MPI_Request, 5> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = request_get(1, static_cast<int>(2 * i), i);
  for (MPI_Request& request : all) requests::find(request)->abandon(), requests::withdraw(request);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[4], initial(1, 8));
}

TEST_F(Batches, AWaitReturnsTheErrorOfItsBatch) {
  MPI_Request request = MPI_REQUEST_NULL;
  for (std::size_t i = 0; i < 5; ++i) request = request_get(1, static_cast<int>(2 * i), 10 - i);
  fake::fail("Win_flush", MPI_ERR_RMA_SYNC);
  EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  into_[6] = 77;
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(into_[6], 77) << "its buffer is the program's again";
  EXPECT_EQ(into_[10], initial(1, 0));
}

TEST_F(Batches, TheRequestOfAPutIsCompleteAtOnce) {
  std::int64_t value = 5;
  for (int i = 0; i < 4; ++i) {
    MPI_Request request = MPI_REQUEST_NULL;
    batches_->issue(rma::Op::put(&value, 1, MPI_INT64_T, 1, 2 * i, 1, MPI_INT64_T, &request));
    EXPECT_TRUE(requests::all_served(1, &request));
    EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    value = 99;
  }
  EXPECT_EQ(fake::calls("Put") + fake::calls("Rput"), 0U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(at(1, 0), 5);
  EXPECT_EQ(at(1, 6), 99);
}

TEST_F(Batches, OperationsWithRequestsAreGatheredInLockedEpochsOnly) {
  EXPECT_EQ(batches_->synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(get(1, 0, 0), MPI_SUCCESS);
  MPI_Request request = request_get(1, 2, 1);
  EXPECT_EQ(fake::calls("Rget"), 1U) << "the library says that this is wrong";
  EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/// One of the program's.
constexpr auto kOwnHandler = static_cast<MPI_Errhandler>(0x55000001);

MPI_Errhandler handler_of(MPI_Win win) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Win_get_errhandler(win, &handler);
  return handler;
}

void let_it_become_old() {
  const std::uint64_t end = ticks() + ticks_in(2 * tuning::batching::kOldNs);
  while (ticks() < end) relax();
}

TEST_F(Batches, AThreadBesideTheProgramSendsWhatIsOld) {
  EXPECT_EQ(put(1, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(put(1, 2, 8), MPI_SUCCESS);
  let_it_become_old();
  const std::uint64_t begun = ticks();
  EXPECT_EQ(put(2, 0, 9), MPI_SUCCESS);
  batches_->send_without_handlers();
  // On a busy machine it may be.
  if (ticks() - begun < ticks_in(tuning::batching::kOldNs))
    EXPECT_EQ(fake::calls("Put"), 1U) << "that to rank 2 is not old";
  else
    EXPECT_GE(fake::calls("Put"), 1U);
  get_some(1, 5);
  let_it_become_old();
  batches_->send_without_handlers();
  EXPECT_EQ(fake::calls("Get"), 1U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
  EXPECT_EQ(into_[4], initial(1, 8));
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 0U);
}

TEST_F(Batches, AnErrorBesideTheProgramReachesItsHandlerInItsNextCall) {
  MPI_Win_set_errhandler(win_, kOwnHandler);
  fake::fail("Get", MPI_ERR_RMA_RANGE);
  fake::during("Get", [&] { EXPECT_EQ(handler_of(win_), MPI_ERRORS_RETURN); });
  get_some(1, 5);
  let_it_become_old();
  batches_->send_without_handlers();
  fake::during("Get", {});
  EXPECT_EQ(handler_of(win_), kOwnHandler);
  EXPECT_EQ(put(2, 0, 7), MPI_SUCCESS);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(2)), MPI_SUCCESS) << "another target's";
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 0U);
  batches_->synchronise(rma::Sync::flush(1));
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 1U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush(1)), MPI_SUCCESS) << "it is reported once";
  fake::fail("Get", MPI_ERR_RMA_RANGE);
  get_some(1, 5);
  let_it_become_old();
  batches_->send_without_handlers();
  batches_->synchronise(rma::Sync::flush_all());
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 2U);
  EXPECT_EQ(batches_->synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
}

}  // namespace
}  // namespace hob::mpi
