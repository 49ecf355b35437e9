// Windows that ghosts serve: which operations go to whom, when they are complete, and what errors
// programs hear.
#include "mpi/rma/ghost/ghost_backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <thread>

#include "ghost_job.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {
namespace {

class GhostWindows : public test::GhostJob {
 protected:
  static int put(GhostBackend& window, const std::int64_t& value, int target, MPI_Aint at,
                 MPI_Request* request = nullptr) {
    return window.issue(rma::Op::put(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, request));
  }
  static int get(GhostBackend& window, std::int64_t& value, int target, MPI_Aint at,
                 MPI_Request* request = nullptr) {
    return window.issue(rma::Op::get(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, request));
  }
  /// What Hob's poller does while the program waits or tests.
  static void take_answers() {
    const GhostHold hold;
    ghost_client->progress();
  }
  /// So many puts to the other rank, each completed.
  static void put_and_flush(GhostBackend& window, int times) {
    const std::int64_t value = 5;
    for (int i = 0; i < times; ++i) {
      EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
      EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
    }
  }
  /// A window over a network that moves data without its target's processor, with a ghost so slow
  /// that what can go natively does: two puts have shown it, and their calls are forgotten.
  GhostBackend& native_window() {
    ghost_client->world.network_moves = true;
    GhostBackend& window = this->window();
    EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
    fake::during("Isend", [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    put_and_flush(window, 2);
    EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
    forget_calls();
    return window;
  }
  /// With a request where the network, as tests before this one may have left it, wants that.
  static std::uint64_t native_puts() { return fake::calls("Put") + fake::calls("Rput"); }
  static int add(GhostBackend& window, const std::int64_t& value, int target, MPI_Aint at) {
    return window.issue(rma::Op::accumulate(&value, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM));
  }
};

TEST_F(GhostWindows, MemoryOfTheNodeIsReachedWithoutMessages) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  const std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 0, 3), MPI_SUCCESS);
  EXPECT_EQ(word_here(3), 5) << "at once";
  EXPECT_EQ(add(window, value, 0, 3), MPI_SUCCESS);
  EXPECT_EQ(word_here(3), 10);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Isend"), 0U);
  EXPECT_EQ(fake::calls("Put"), 0U) << "the library's window is not used";
}

TEST_F(GhostWindows, OtherNodesAreReachedByOneMessageForManyOperations) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_EXCLUSIVE, 1, 0)), MPI_SUCCESS);
  std::array<std::int64_t, 20> values;
  std::iota(values.begin(), values.end(), 1);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(put(window, values[i], 1, static_cast<MPI_Aint>(i)), MPI_SUCCESS);
  EXPECT_EQ(add(window, values[9], 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_SUCCESS);
  EXPECT_EQ(word_there(0), 11);
  for (std::size_t i = 1; i < values.size(); ++i)
    EXPECT_EQ(word_there(i), static_cast<std::int64_t>(i) + 1);
  EXPECT_EQ(server().stats().messages, 2U) << "the operations, and the end of the epoch";
  EXPECT_EQ(target_there().lock.load(), 0U) << "the ghost has taken the lock, and given it back";
}

TEST_F(GhostWindows, WhatIsFetchedIsThereAfterTheFlush) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  word_there(1) = 10;
  word_there(2) = 20;
  std::int64_t one = 0, old = 0, swapped = 0;
  const std::int64_t four = 4, twenty = 20, ninety = 90;
  EXPECT_EQ(get(window, one, 1, 1), MPI_SUCCESS);
  EXPECT_EQ(window.issue(rma::Op::fetch_and_op(&four, &old, MPI_LONG, 1, 1, MPI_SUM)), MPI_SUCCESS);
  EXPECT_EQ(window.issue(rma::Op::compare_and_swap(&ninety, &twenty, &swapped, MPI_LONG, 1, 2)),
            MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(one, 10);
  EXPECT_EQ(old, 10);
  EXPECT_EQ(swapped, 20);
  EXPECT_EQ(word_there(1), 14);
  EXPECT_EQ(word_there(2), 90);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, LargeDataTravelInMessagesOfTheirOwn) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  std::vector<std::int64_t> there(kWords), back(kWords);
  std::iota(there.begin(), there.end(), 1);
  EXPECT_EQ(window.issue(rma::Op::put(there.data(), kWords, MPI_LONG, 1, 0, kWords, MPI_LONG)),
            MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::flush_all()), MPI_SUCCESS);
  EXPECT_EQ(word_there(kWords - 1), static_cast<std::int64_t>(kWords));
  EXPECT_EQ(window.issue(rma::Op::get(back.data(), kWords, MPI_LONG, 1, 0, kWords, MPI_LONG)),
            MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::flush_local(1)), MPI_SUCCESS);
  EXPECT_EQ(back, there);
  EXPECT_GE(server().stats().transfers, 2U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, ARequestIsCompleteWhenItsAnswerIsHere) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  word_there(5) = 55;
  keep_answers();
  std::int64_t value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(get(window, value, 1, 5, &request), MPI_SUCCESS);
  int flag = -1;
  EXPECT_EQ(requests::test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  answer();
  take_answers();
  EXPECT_EQ(requests::test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(value, 55);
  EXPECT_EQ(ghost_client->operations, 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, TheNullProcessTakesEverythingAndHasNothing) {
  GhostBackend& window = this->window();
  std::int64_t value = 3;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0)), MPI_SUCCESS);
  EXPECT_EQ(get(window, value, MPI_PROC_NULL, 0), MPI_SUCCESS);
  EXPECT_EQ(put(window, value, MPI_PROC_NULL, 0, &request), MPI_SUCCESS);
  int flag = 0;
  EXPECT_EQ(requests::test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(MPI_PROC_NULL)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(MPI_PROC_NULL)), MPI_SUCCESS);
  EXPECT_EQ(value, 3);
  EXPECT_EQ(fake::calls("Isend"), 0U);
}

TEST_F(GhostWindows, WrongArgumentsAreErrorsOfTheWindow) {
  GhostBackend& window = this->window();
  std::int64_t value = 0;
  EXPECT_EQ(put(window, value, 2, 0), MPI_ERR_RANK);
  EXPECT_EQ(put(window, value, -7, 0), MPI_ERR_RANK);
  EXPECT_EQ(window.issue(rma::Op::put(&value, -1, MPI_LONG, 1, 0, 1, MPI_LONG)), MPI_ERR_COUNT);
  EXPECT_EQ(put(window, value, 1, kWords), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(put(window, value, 0, -1), MPI_ERR_RMA_RANGE);
  EXPECT_EQ(window.issue(rma::Op::accumulate(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_OP_NULL)),
            MPI_ERR_OP);
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_SHARED, 2, 0)), MPI_ERR_RANK);
  EXPECT_EQ(window.synchronise(rma::Sync::lock(12345, 1, 0)), MPI_ERR_LOCKTYPE);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(2)), MPI_ERR_RANK);
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 9U);
}

TEST_F(GhostWindows, LocksThatDoNotFitAreErrorsOfSynchronisation) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_SHARED, 1, 0)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_SHARED, 1, 0)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, AnExclusiveLockOfTheNodeIsTakenAtOnceAndOthersWhenTheyAreNeeded) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_EXCLUSIVE, 0, 0)), MPI_SUCCESS);
  EXPECT_EQ(target_here().lock.load(), ghost::Target::kWriter);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(0)), MPI_SUCCESS);
  EXPECT_EQ(target_here().lock.load(), 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_EXCLUSIVE, 1, 0)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_SUCCESS);
  EXPECT_EQ(server().stats().operations, 0U) << "an epoch that does nothing asks nobody";
}

TEST_F(GhostWindows, AFenceThatEndsNothingWaitsForNobody) {
  GhostBackend& window = this->window();
  const std::int64_t value = 8;
  EXPECT_EQ(window.synchronise(rma::Sync::fence(MPI_MODE_NOPRECEDE)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_fence"), 0U);
  EXPECT_EQ(target_here().fences.load(), 1U) << "what others see of it";
  target_there().fences = 1;  // its owner has come
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(word_there(0), 8);
  EXPECT_EQ(fake::calls("Win_fence"), 1U);
  EXPECT_EQ(ghost_client->fences.calls, 2U);
  EXPECT_EQ(ghost_client->fences.synchronisations, 1U);
}

TEST_F(GhostWindows, NothingReachesATargetBeforeItsOwnersFence) {
  GhostBackend& window = this->window();
  const std::int64_t value = 8;
  EXPECT_EQ(window.synchronise(rma::Sync::fence(MPI_MODE_NOPRECEDE)), MPI_SUCCESS);
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  fake::during("Iprobe", [&] {
    EXPECT_EQ(word_there(0), 0) << "its owner is not there yet";
    target_there().fences = 1;
    while (server().advance()) {
    }
  });
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(word_there(0), 8);
}

TEST_F(GhostWindows, MemoryOutOfReachIsAnErrorOfTheCallThatCompletes) {
  GhostBackend& window = this->window();
  const std::int64_t value = 1;
  target_there().size = 0;  // what the ghost finds, where this process believes otherwise
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_ERR_OTHER);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS) << "once";
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::flush_all()), MPI_ERR_OTHER);
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_ERR_OTHER);
}

TEST_F(GhostWindows, ARequestOutOfReachFailsWhenItIsAskedFor) {
  GhostBackend& window = this->window();
  target_there().size = 0;
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  std::int64_t value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  ghost_client->open_windows.push_back(window.handle);
  EXPECT_EQ(get(window, value, 1, 0, &request), MPI_SUCCESS);
  take_answers();
  EXPECT_EQ(requests::wait(&request, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  EXPECT_EQ(fake::calls("Win_call_errhandler"), 1U);
  window.synchronise(rma::Sync::unlock_all());
}

TEST_F(GhostWindows, OnlyMemoryOfTheNodeHasAnAddressHere) {
  GhostBackend& window = this->window();
  MPI_Aint size = -1, unit = -1;
  void* base = nullptr;
  EXPECT_TRUE(window.query(0, &size, &unit, &base));
  EXPECT_EQ(base, &word_here(0));
  EXPECT_EQ(size, static_cast<MPI_Aint>(kWords * 8));
  EXPECT_EQ(unit, 8);
  EXPECT_TRUE(window.query(1, &size, &unit, &base));
  EXPECT_EQ(base, nullptr);
  EXPECT_EQ(size, 0);
  EXPECT_FALSE(window.query(2, &size, &unit, &base));
}

TEST_F(GhostWindows, SegmentsOfTheOtherNodesMemoryHaveGhostsOfTheirOwn) {
  context().settings.ghost_binding = "segment";
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(0)), MPI_SUCCESS);
  const std::int64_t value = 6;
  EXPECT_EQ(put(window, value, 1, kWords - 1), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(word_there(kWords - 1), 6);
  context().settings.ghost_binding = "rank";
}

TEST_F(GhostWindows, NativePutsAreFlushedBeforeAGhostIsAsked) {
  GhostBackend& window = native_window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  const std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U);
  EXPECT_EQ(fake::calls("Win_lock_all"), 0U) << "the library's epoch is open";
  EXPECT_EQ(fake::calls("Isend"), 0U);
  EXPECT_EQ(add(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(fake::calls("Isend"), 1U);
  EXPECT_EQ(put(window, value, 1, 4), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U) << "not beside what the ghost does";
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(put(window, value, 1, 4), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 2U);
  EXPECT_EQ(fake::calls("Win_unlock_all"), 0U);
  window.closing();
  EXPECT_EQ(fake::calls("Win_unlock_all"), 1U);
}

TEST_F(GhostWindows, NothingGoesNativelyBeforeItsLockIsHeld) {
  GhostBackend& window = native_window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_EXCLUSIVE, 1, 0)), MPI_SUCCESS);
  const std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::flush(1)), MPI_SUCCESS);
  EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U);
  EXPECT_EQ(fake::calls("Win_flush"), 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(put(window, value, 0, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U) << "the own node's memory needs nobody";
}

TEST_F(GhostWindows, AFenceEndsTheLibrarysEpochOfLocks) {
  GhostBackend& window = native_window();
  EXPECT_EQ(window.synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_unlock_all"), 1U);
  std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U);
  EXPECT_EQ(window.synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_flush"), 1U);
  EXPECT_EQ(fake::calls("Win_unlock_all"), 2U);
  EXPECT_EQ(get(window, value, 1, 4096), MPI_ERR_RMA_RANGE) << "outside";
  EXPECT_EQ(fake::calls("Get"), 0U);
  EXPECT_EQ(get(window, value, 1, 3, nullptr), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Get"), 1U);
  EXPECT_EQ(window.synchronise(rma::Sync::fence(0)), MPI_SUCCESS);
  EXPECT_EQ(fake::calls("Win_unlock_all"), 3U);
}

TEST_F(GhostWindows, ThreadsHaveGhostsAlone) {
  GhostBackend& window = native_window();
  ghost_client->many_threads = true;
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  const std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 1, 3), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, ATargetWhoseNetworkAnswersATrialIsReachedNatively) {
  ghost_client->world.network_moves = true;
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  put_and_flush(window, 1);
  EXPECT_EQ(fake::calls("Win_lock_all"), 0U) << "to compare with";
  put_and_flush(window, 1);
  EXPECT_EQ(fake::calls("Rget"), 1U);
  EXPECT_EQ(fake::calls("Win_lock_all"), 1U) << "the library's epoch";
  EXPECT_EQ(native_puts(), 0U);
  put_and_flush(window, 1);
  EXPECT_EQ(native_puts(), 1U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, ANetworkThatMovesDataIsGivenContiguousOnes) {
  GhostBackend& window = native_window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  MPI_Datatype pair = fake::vector_type(2, 1, 2, MPI_INT64_T);
  const std::int64_t two[]{6, 7};
  const std::int64_t value = 5;
  EXPECT_EQ(put(window, value, 1, 4), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U);
  EXPECT_EQ(window.issue(rma::Op::put(two, 2, MPI_INT64_T, 1, 10, 1, pair)), MPI_SUCCESS);
  EXPECT_EQ(native_puts(), 1U) << "by the ghost";
  EXPECT_EQ(fake::calls("Win_flush"), 1U) << "after what went natively";
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
  EXPECT_EQ(word_there(10), 6);
  EXPECT_EQ(word_there(12), 7);
  MPI_Type_free(&pair);
}

TEST_F(GhostWindows, ANetworkThatNeedsTheTargetIsNotTried) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::lock_all(MPI_MODE_NOCHECK)), MPI_SUCCESS);
  put_and_flush(window, 20);
  EXPECT_EQ(fake::calls("Rget"), 0U);
  EXPECT_EQ(native_puts(), 0U);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock_all()), MPI_SUCCESS);
}

TEST_F(GhostWindows, AClosingWindowHasSeenItsLocksReleased) {
  GhostBackend& window = this->window();
  ghost_client->open_windows.push_back(window.handle);
  const std::int64_t value = 6;
  EXPECT_EQ(window.synchronise(rma::Sync::lock(MPI_LOCK_EXCLUSIVE, 1, 0)), MPI_SUCCESS);
  EXPECT_EQ(put(window, value, 1, 0), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::unlock(1)), MPI_SUCCESS);
  window.closing();
  EXPECT_EQ(target_there().lock.load(), 0U);
  EXPECT_TRUE(ghost_client->open_windows.empty());
}

}  // namespace
}  // namespace hob::mpi
