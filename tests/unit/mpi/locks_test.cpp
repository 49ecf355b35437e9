// Locks of a window, as the program calls them: which reach the library, and when.
#include <gtest/gtest.h>

#include <numeric>

#include "fake_mpi.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

using Names = std::vector<std::string>;
constexpr int kWords = 256;

class Locks : public testing::Test {
 protected:
  void SetUp() override {
    MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base_,
                     &win_);
    fill(1000);
    fake::reset();
  }
  void TearDown() override {
    fake::reset();
    MPI_Win_free(&win_);
  }

  void fill(int first) {
    int* there = reinterpret_cast<int*>(fake::memory(win_, 1).data());
    std::iota(there, there + kWords, first);
  }

  int read(int assertion, int at, int type = MPI_LOCK_SHARED) {
    int value = -1;
    EXPECT_EQ(MPI_Win_lock(type, 1, assertion, win_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, 1, at, 1, MPI_INT, win_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_unlock(1, win_), MPI_SUCCESS);
    return value;
  }

  /// What reached the library, but for what Hob calls for the progress of others.
  static Names sent() {
    Names names = fake::order();
    std::erase(names, "Request_get_status");
    return names;
  }

  int* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

TEST_F(Locks, WithNocheckEpochsOfHitsSendNothing) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  const std::uint64_t before = acquires.count.load();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  EXPECT_EQ(sent(), Names{});
  EXPECT_EQ(acquires.count.load(), before);
}

TEST_F(Locks, AMissSendsTheLockFirst) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  int value = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  EXPECT_EQ(sent(), Names{});
  MPI_Get(&value, 1, MPI_INT, 1, 8, 1, MPI_INT, win_);
  MPI_Win_unlock(1, win_);
  EXPECT_EQ(value, 1008);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Get", "Win_unlock"}));
}

TEST_F(Locks, AWriteSendsTheLockFirst) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  const int value = 5;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  MPI_Put(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Win_unlock(1, win_);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Put", "Win_unlock"}));
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 5);
}

TEST_F(Locks, AFlushSendsTheLockFirst) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  MPI_Win_flush(1, win_);
  MPI_Win_unlock(1, win_);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Win_flush", "Win_unlock"}));
}

TEST_F(Locks, ACheckedSharedLockIsSentAndIsAnAcquire) {
  EXPECT_EQ(read(0, 7), 1007);
  fill(5000);  // under somebody's exclusive lock
  fake::reset();
  EXPECT_EQ(read(0, 7), 5007);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Get", "Win_unlock"}));
}

TEST_F(Locks, WhereEachGetHasALockNothingIsKeptButNowAndThen) {
  for (int i = 0; i < 4096; ++i) ASSERT_EQ(read(0, i % kWords), 1000 + i % kWords);
  EXPECT_EQ(find_window(win_)->cached->stats().short_lived, 4096 - ReuseTrial::kTrial);
  // Another phase of the program: what it asks for again is served once a trial has come.
  for (std::uint32_t i = 0; i < ReuseTrial::kPause; ++i) ASSERT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  for (int i = 0; i < 64; ++i) ASSERT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  EXPECT_EQ(fake::calls("Get"), 0u);
}

// MPI_Win_lock inside lock_all, or a second one, is an error, which the library finds.
TEST_F(Locks, ALockIsNotHeldBackInAnotherEpoch) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  EXPECT_EQ(MPI_Win_lock_all(0, win_), MPI_SUCCESS);
  fake::reset();
  fake::fail("Win_lock", MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock_all(win_), MPI_SUCCESS);
  // Its end was seen.
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  EXPECT_EQ(sent(), Names{});
  EXPECT_EQ(MPI_Win_fence(0, win_), MPI_SUCCESS);
  fake::reset();
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  EXPECT_EQ(fake::calls("Win_lock"), 1u);
  MPI_Win_unlock(1, win_);
}

TEST_F(Locks, ALockIsNotHeldBackInAnEpochThatBeganWhileHobSlept) {
  EXPECT_EQ(MPI_Win_lock_all(0, win_), MPI_SUCCESS);
  int value = -1;
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Win_flush(1, win_);
  fake::reset();
  fake::fail("Win_lock", MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_unlock_all(win_), MPI_SUCCESS);
}

TEST_F(Locks, ALockIsNotHeldBackWhereOneWasSent) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  MPI_Win_flush(1, win_);  // sends it
  fake::reset();
  fake::fail("Win_lock", MPI_ERR_RMA_SYNC);
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_), MPI_ERR_RMA_SYNC);
  MPI_Win_unlock(1, win_);
}

// A lock may wait for a process that waits for another thread of this one: nothing of Hob's is
// locked meanwhile, which the fake library sees to.
TEST_F(Locks, OfManyThreadsNoneWaitsForALockThatIsSent) {
  many_threads = true;
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  EXPECT_EQ(sent(), Names{});
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 8), 1008);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Get", "Win_unlock"}));
  fake::reset();
  int value = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_);
  MPI_Rget(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_unlock(1, win_);
  EXPECT_EQ(value, 1009);
  EXPECT_EQ(fake::calls("Win_lock"), 1u);
  many_threads = false;
}

TEST_F(Locks, AnExclusiveLockIsAlwaysSent) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7, MPI_LOCK_EXCLUSIVE), 1007);
  EXPECT_EQ(fake::calls("Win_lock"), 1u);
  EXPECT_EQ(fake::calls("Win_unlock"), 1u);
}

TEST_F(Locks, ALockOfTheOwnRankIsSentAndIsAnAcquire) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  const std::uint64_t before = acquires.count.load();
  MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win_);
  MPI_Win_unlock(0, win_);
  EXPECT_EQ(sent(), (Names{"Win_lock", "Win_unlock"}));
  EXPECT_GT(acquires.count.load(), before);
}

TEST_F(Locks, ALockOfTheOwnRankForGetsIsNoAcquire) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  const std::uint64_t before = acquires.count.load();
  for (int i = 0; i < 3; ++i) {
    int own = -1;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win_);
    MPI_Get(&own, 1, MPI_INT, 0, i, 1, MPI_INT, win_);
    MPI_Win_unlock(0, win_);
    EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  }
  EXPECT_EQ(acquires.count.load(), before);
  EXPECT_EQ(fake::calls("Get"), 3u);
  EXPECT_EQ(fake::calls("Win_lock"), 3u);
}

// MPI lets a process see others' puts by loads of its own memory under such a lock.
TEST_F(Locks, ALoadUnderALockOfTheOwnRankMayTellBeforeAndAfterItsEnd) {
  int now = 1007;
  for (const bool inside : {true, false}) {
    EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), now);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win_);
    fill(now + 993);  // and a flag in this process's memory, which it loads
    now += 1000;
    if (inside) {
      EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), now);
    }
    MPI_Win_unlock(0, win_);
    EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), now);
  }
}

TEST_F(Locks, AnExclusiveLockOfTheOwnRankIsAnAcquire) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  const std::uint64_t before = acquires.count.load();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, MPI_MODE_NOCHECK, win_);
  EXPECT_GT(acquires.count.load(), before);
  MPI_Win_unlock(0, win_);
}

TEST_F(Locks, TheErrorOfALockThatWasHeldBackIsTheGets) {
  EXPECT_EQ(read(MPI_MODE_NOCHECK, 7), 1007);
  fake::reset();
  fake::fail("Win_lock", MPI_ERR_OTHER);
  int value = -1;
  EXPECT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win_), MPI_SUCCESS);
  EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, 1, 8, 1, MPI_INT, win_), MPI_ERR_OTHER);
  EXPECT_EQ(fake::calls("Get"), 0u);
}

TEST_F(Locks, WaitsForGetsAreNoAcquires) {
  MPI_Win_lock_all(0, win_);
  const std::uint64_t before = acquires.count.load();
  fake::reset();
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 64; ++i) {
      int value = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&value, 1, MPI_INT, 1, i, 1, MPI_INT, win_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 1000 + i);
      MPI_Rget(&value, 1, MPI_INT, 0, i, 1, MPI_INT, win_, &request);  // the own rank
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  EXPECT_EQ(acquires.count.load(), before);
  EXPECT_GT(fake::calls("Rget"),
            3 * 64u);  // all of the own rank's, of the other's at most one each
  EXPECT_LE(fake::calls("Rget"), 64u + 3 * 64u);
  MPI_Win_unlock_all(win_);
}

}  // namespace
}  // namespace hob::mpi
