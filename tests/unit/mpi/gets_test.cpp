// Gets of a window, as the program calls them: how many reach the library, in which order, and what
// the program reads, also when the library fails or takes its time.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/program_guard.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/spin.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/rma/cache/hit_cost.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 256;

class Gets : public testing::Test {
 protected:
  void SetUp() override { make_window(); }
  void make_window() {
    MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base_,
                     &win_);
    for (int rank = 1; rank < fake::kWorldSize; ++rank) fill(rank, 1000 * rank);
    MPI_Win_lock_all(0, win_);
    fake::reset();
  }
  void end_window() {
    fake::reset();
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }
  void TearDown() override {
    end_window();
    EXPECT_EQ(fake::open_requests(), requests_before_);
  }

  int* there(int rank) { return reinterpret_cast<int*>(fake::memory(win_, rank).data()); }
  void fill(int rank, int first) { std::iota(there(rank), there(rank) + kWords, first); }

  int read(int rank, int at) {
    int value = -1;
    EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, rank, at, 1, MPI_INT, win_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Win_flush(rank, win_), MPI_SUCCESS);
    return value;
  }

  int* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  std::size_t requests_before_ = fake::open_requests();
};

TEST_F(Gets, TheSecondOfAKindReachesNobody) {
  EXPECT_EQ(read(1, 7), 1007);
  EXPECT_EQ(fake::calls("Get"), 1u);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(read(1, 7), 1007);
  EXPECT_EQ(fake::calls("Get"), 1u);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);  // nothing is under way
}

/// ARMCI-MPI flushes every window that it has at each fence.
TEST_F(Gets, FlushesAfterAFlushOfAllAreTheLibrarysUntilSomethingIsIssued) {
  // Calls are followed, since another window is read from.
  EXPECT_EQ(read(1, 7), 1007);
  int* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock_all(0, win);
  const FlushedWindow& flushed = find_window(win)->flushed;
  const int value = 1;
  MPI_Put(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win);
  fake::reset();
  MPI_Win_flush_all(win);
  EXPECT_EQ(flushed.passed(), 0u);
  MPI_Win_flush_all(win);
  MPI_Win_flush(1, win);
  EXPECT_EQ(flushed.passed(), 2u);
  EXPECT_EQ(fake::calls("Win_flush_all"), 2u);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
  MPI_Put(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  EXPECT_EQ(flushed.passed(), 2u) << "something is to be completed";
  // A flush for the sake of a copy is not made.
  std::swap(win, win_);
  for (int i = 0; i < 3; ++i) read(1, 7);
  MPI_Win_flush_all(win_);
  fake::reset();
  read(1, 7);
  EXPECT_EQ(flushed.passed(), 2u);
  EXPECT_EQ(fake::calls("Win_flush"), 0u);
  std::swap(win, win_);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/// In a process of its own, where nothing was measured before.
TEST_F(Gets, WhatAHitTakesIsMeasuredWithTheFirstGetThatMisses) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto try_it = [&] {
    const double estimate = hit_cost().ticks();
    const int value = 1;
    MPI_Put(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win_);
    MPI_Win_flush(1, win_);
    if (hit_cost().ticks() != estimate) std::_Exit(2);
    for (int i = 0; i < 2; ++i) read(1, 7);  // the first is not kept: the write was not seen
    std::_Exit(hit_cost().ticks() == estimate ? 3 : 0);
  };
  EXPECT_EXIT(try_it(), testing::ExitedWithCode(0), "");
}

/// Gets of 16 KiB, without blocks around them.
class LargeGets : public testing::Test {
 protected:
  static constexpr int kPlaces = 1200;
  static constexpr int kPlaceWords = 4096;

  void SetUp() override {
    context().settings.readahead = "off";
    int* base = nullptr;
    MPI_Win_allocate(MPI_Aint{kPlaces} * kPlaceWords * sizeof(int), sizeof(int), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win_);
    int* const there = reinterpret_cast<int*>(fake::memory(win_, 1).data());
    std::iota(there, there + kPlaces * kPlaceWords, 5);
    MPI_Win_lock_all(0, win_);
    fake::reset();
  }
  void TearDown() override {
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
    context().settings.readahead = "auto";
  }
  void read(int place) {
    std::vector<int> into(kPlaceWords, -1);
    MPI_Get(into.data(), kPlaceWords, MPI_INT, 1, place * kPlaceWords, kPlaceWords, MPI_INT, win_);
    MPI_Win_flush(1, win_);
    ASSERT_EQ(into.front(), 5 + place * kPlaceWords);
    ASSERT_EQ(into.back(), 4 + (place + 1) * kPlaceWords);
  }
  /// Places in no order, another one for each i below 1,013: cubes modulo that prime all differ.
  static int scattered(int i) { return i * i % 1013 * i % 1013; }
  std::uint64_t left() const { return find_window(win_)->cached->stats().not_reused; }

  MPI_Win win_ = MPI_WIN_NULL;
};

TEST_F(LargeGets, ThatDoNotComeBackAreLeftToTheLibraryUntilTheyDo) {
  for (int i = 0; i < 1000; ++i) read(scattered(i));
  EXPECT_EQ(fake::calls("Get"), 1000u);
  EXPECT_GT(left(), 500u);
  EXPECT_LT(left(), 1000u - gets::OnceTrial::kLargeGets.trial);
  // Another phase of the program.
  for (int i = 0; i < 1024; ++i) read(7);
  fake::reset();
  for (int i = 0; i < 64; ++i) read(7);
  EXPECT_EQ(fake::calls("Get"), 0u);
}

TEST_F(LargeGets, WhosePlacesComeBackAreLookedUpAgain) {
  for (int i = 0; i < 1000; ++i) read(scattered(i));
  EXPECT_GT(left(), 0u);
  for (int pass = 0; pass < 4; ++pass)
    for (int place = 1000; place < 1200; ++place) read(place);
  fake::reset();
  for (int place = 1000; place < 1200; ++place) read(place);
  EXPECT_LT(fake::calls("Get"), 40u);
}

TEST_F(LargeGets, SmallOnesOfBurstsAreLeftToTheLibraryUntilTheyComeBack) {
  constexpr int kBurst = 8, kAll = kPlaces * kPlaceWords;
  const auto burst = [&](int number) {
    std::array<int, kBurst> into{};
    const auto place = [&](int i) { return (kBurst * number + i) * 389 % kAll; };
    for (int i = 0; i < kBurst; ++i) MPI_Get(&into[i], 1, MPI_INT, 1, place(i), 1, MPI_INT, win_);
    MPI_Win_flush(1, win_);
    for (int i = 0; i < kBurst; ++i) ASSERT_EQ(into[i], 5 + place(i));
  };
  constexpr int kTrial = gets::OnceTrial::kSmallGets.trial / kBurst;
  for (int i = 0; i < kTrial; ++i) burst(i);
  EXPECT_EQ(left(), 0u);
  for (int i = kTrial; i < 2 * kTrial; ++i) burst(i);
  EXPECT_GT(left(), 9u * gets::OnceTrial::kSmallGets.trial / 10);
  // Those of the trial, which were kept.
  for (int i = 0; i < kTrial; ++i) burst(i);
  fake::reset();
  for (int i = 0; i < kTrial; ++i) burst(i);
  EXPECT_EQ(fake::calls("Get"), 0u);
}

/// The same beside a record.
class RecordedLargeGets : public LargeGets {
 protected:
  static constexpr int kWords = 1 << 14;  // 64 KiB

  void SetUp() override {
    context().settings.recall = "auto";
    LargeGets::SetUp();
  }
  void TearDown() override {
    LargeGets::TearDown();
    context().settings.recall = "off";
  }
  void get(int place, std::vector<int>& into) {
    MPI_Get(into.data(), kWords, MPI_INT, 1, place * kPlaceWords, kWords, MPI_INT, win_);
  }
};

/// Of gets that wait for others' bytes, recalling spares nothing.
TEST_F(RecordedLargeGets, OfABurstAreLeftToTheLibrary) {
  std::vector<int> into(kWords);
  for (int round = 0; round < 4; ++round) {
    for (int burst = 0; burst < 16; ++burst) {
      for (int i = 0; i < 18; ++i) get(4 * ((burst * 18 + i) * 37 % 299), into);
      MPI_Win_flush(1, win_);
    }
    MPI_Win_sync(win_);
  }
  EXPECT_GT(left(), 100u);
}

/// While there is one, all ranks are on one node, and each get is as cheap as a hit, of which one
/// takes `hit` ticks.
class NearJob {
 public:
  explicit NearJob(double hit = 1e12) {
    context().settings.cache_bypass = context().one_node = true;
    measure_hit_cost();
    measured_ = cost_.ticks();
    cost_.set(hit, cost_.ticks_per_byte());
  }
  ~NearJob() {
    context().settings.cache_bypass = context().one_node = false;
    cost_.set(measured_, cost_.ticks_per_byte());
  }
  NearJob(const NearJob&) = delete;
  NearJob& operator=(const NearJob&) = delete;

 private:
  HitCost& cost_ = const_cast<HitCost&>(hit_cost());
  double measured_ = 0;
};

TEST_F(Gets, AFlushOfAWindowThatIsLeftAloneReachesTheLibrary) {
  end_window();
  auto near = std::make_unique<NearJob>();
  make_window();
  int value = 2007, hit = -1;
  MPI_Put(&value, 1, MPI_INT, 2, 7, 1, MPI_INT, win_);  // the next one will only be counted
  MPI_Win_flush(2, win_);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(2, 7), 2007);  // the first one is not kept
  MPI_Get(&hit, 1, MPI_INT, 2, 7, 1, MPI_INT, win_);        // served, and no flush follows
  CachedGets& cached = *find_window(win_)->cached;
  for (int i = 0; !cached.tracking_off_for_good() && i < 1000; ++i) {
    const int at = i * 37 % kWords;
    EXPECT_EQ(read(1, at), 1000 + at);
    MPI_Barrier(MPI_COMM_WORLD);  // nothing is served from the cache
  }
  near.reset();
  ASSERT_TRUE(cached.tracking_off_for_good());
  MPI_Put(&value, 1, MPI_INT, 2, 7, 1, MPI_INT, win_);
  fake::reset();
  all_windows.timed.left = 1;  // the next flush is one that Hob looks at
  MPI_Win_flush(2, win_);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
  MPI_Put(&value, 1, MPI_INT, 2, 9, 1, MPI_INT, win_);
  all_windows.timed.left = 1;
  MPI_Win_flush_all(win_);
  EXPECT_EQ(fake::calls("Win_flush_all"), 1u);
}

TEST_F(Gets, AWindowRestsWhileOnlyTheOwnMemoryIsRead) {
  EXPECT_EQ(read(1, 7), 1007);
  EXPECT_FALSE(tracking_off());
  const auto read_own = [&](int times) {
    for (int i = 0; i < times; ++i) {
      MPI_Request request = MPI_REQUEST_NULL;
      EXPECT_EQ(read(0, i % kWords), base_[i % kWords]);
      int value = -1;
      MPI_Rget(&value, 1, MPI_INT, 0, 3, 1, MPI_INT, win_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, base_[3]);
    }
  };
  const GetStats& stats = find_window(win_)->cached->stats();
  // A rest ends by time: on a slow machine one may end among these reads.
  bool rested = false;
  for (int attempt = 0; attempt < 20 && !rested; ++attempt) {
    read_own(2100);
    EXPECT_TRUE(tracking_off() || attempt > 0);
    const std::uint64_t seen = stats.gets, counted = find_window(win_)->uncached_own_gets;
    read_own(100);
    rested = stats.gets == seen && find_window(win_)->uncached_own_gets == counted + 200;
  }
  EXPECT_TRUE(rested);
  there(1)[7] = 5;  // what was kept is forgotten, and the next get is kept again
  EXPECT_EQ(read(1, 7), 5);
  fake::reset();
  EXPECT_EQ(read(1, 7), 5);
  EXPECT_EQ(fake::calls("Get"), 0u);
}

/// A hit that no flush followed, and a write that is only counted: the next flush is the library's.
TEST_F(Gets, AFlushOfAWindowThatRestsReachesTheLibrary) {
  EXPECT_EQ(read(1, 7), 1007);
  int value = -1;
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);  // a hit
  for (std::uint32_t i = 0; i < TrackingState::kPatience; ++i) read(0, 1);
  ASSERT_TRUE(tracking_off());
  for (int i = 0; i < 2; ++i) MPI_Put(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win_);
  fake::reset();
  all_windows.timed.left = 1;  // the next flush is one that Hob looks at
  MPI_Win_flush(1, win_);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
}

/// Gets from the own rank are not looked up, and the library may not have completed them.
TEST_F(Gets, AFlushOfAllAfterAGetOfTheOwnMemoryReachesTheLibrary) {
  EXPECT_EQ(read(1, 7), 1007);
  MPI_Win_flush_all(win_);  // until here, writes may have gone unseen
  int value = -1;
  fake::reset();
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);  // a hit
  MPI_Win_flush_all(win_);
  EXPECT_EQ(fake::calls("Win_flush_all"), 0u);
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Get(&value, 1, MPI_INT, 0, 7, 1, MPI_INT, win_);
  MPI_Win_flush_all(win_);
  EXPECT_EQ(fake::calls("Win_flush_all"), 1u);
  EXPECT_EQ(value, base_[7]);
}

TEST_F(Gets, NothingIsServedBeforeItHasArrived) {
  int first = -1, second = -1;
  MPI_Get(&first, 1, MPI_INT, 2, 3, 1, MPI_INT, win_);
  MPI_Get(&second, 1, MPI_INT, 2, 3, 1, MPI_INT, win_);
  there(2)[3] = 5;  // the library reads only at the flush
  MPI_Win_flush(2, win_);
  EXPECT_EQ(first, 5);
  EXPECT_EQ(second, 5);
}

TEST_F(Gets, AFlushOfOneTargetCompletesNoOther) {
  int one = -1, two = -1;
  MPI_Get(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win_);
  MPI_Get(&two, 1, MPI_INT, 2, 0, 1, MPI_INT, win_);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(one, 1000);
  there(2)[0] = 6;
  EXPECT_EQ(read(2, 0), 6);
  EXPECT_EQ(two, 6);
}

// MPICH takes MPI_PROC_NULL in calls that synchronise.
TEST_F(Gets, AFlushOfTheNullProcessCompletesNothing) {
  int value = -1;
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Win_flush(MPI_PROC_NULL, win_);
  MPI_Win_unlock(MPI_PROC_NULL, win_);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(value, 1007);
  EXPECT_EQ(read(1, 7), 1007);
}

// A library's own local flush may return before the bytes of gets are there (MPICH 4).
TEST_F(Gets, ALocalFlushWithGetsUnderWayIsAFullOne) {
  int value = -1;
  MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Win_flush_local(1, win_);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
  MPI_Get(&value, 1, MPI_INT, 1, 9, 1, MPI_INT, win_);
  MPI_Win_flush_local_all(win_);
  EXPECT_EQ(fake::calls("Win_flush_all"), 1u);
  EXPECT_EQ(fake::calls("Win_flush_local") + fake::calls("Win_flush_local_all"), 0u);
}

TEST_F(Gets, ABarrierEndsWhatWasFetched) {
  EXPECT_EQ(read(1, 7), 1007);
  fill(1, 5000);
  EXPECT_EQ(read(1, 7), 1007);  // no process can have said so
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(read(1, 7), 5007);
}

TEST_F(Gets, ACallbackThatHobCannotServeMayTell) {
  EXPECT_EQ(read(1, 7), 1007);
  fill(1, 5000);
  {
    ExclusiveSpin lock;  // of a part of Hob's
    const std::lock_guard guard(lock);
    const ProgramGuard callback;
  }
  EXPECT_EQ(read(1, 7), 5007);
}

TEST_F(Gets, TheReportNamesTheCallThatDroppedThem) {
  EXPECT_EQ(read(1, 7), 1007);
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(read(1, 7), 1007);
  MPI_Win_sync(win_);
  EXPECT_EQ(read(1, 7), 1007);
  MPI_Win_sync(win_);
  MPI_Win_sync(win_);  // nothing was fetched since
  EXPECT_EQ(read(1, 7), 1007);
  const auto causes = find_window(win_)->cached->drop_causes().rows();
  ASSERT_EQ(causes.size(), 2u);
  EXPECT_EQ(causes[0].call, "MPI_Barrier");
  EXPECT_EQ(causes[0].times, 1u);
  EXPECT_EQ(causes[0].bytes, sizeof(int));
  EXPECT_EQ(causes[1].call, "MPI_Win_sync");
  EXPECT_EQ(causes[1].times, 2u);
}

TEST_F(Gets, AnOwnPutEndsWhatItOverlaps) {
  EXPECT_EQ(read(1, 7), 1007);
  EXPECT_EQ(read(1, 8), 1008);
  const int value = 3;
  MPI_Put(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  MPI_Win_flush(1, win_);
  fake::reset();
  EXPECT_EQ(read(1, 7), 3);
  EXPECT_EQ(read(1, 8), 1008);
  EXPECT_EQ(fake::calls("Get"), 1u);
}

TEST_F(Gets, AnErrorIsTheProgramsAndNothingIsKept) {
  fake::fail("Get", MPI_ERR_OTHER);
  int value = -1;
  EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_), MPI_ERR_OTHER);
  EXPECT_EQ(read(1, 7), 1007);
  EXPECT_EQ(fake::calls("Get"), 2u);
}

TEST_F(Gets, ANullTypeIsTheLibrarysToRefuseWhileWaitsAreJudged) {
  gets::WaitMeter& waits = find_window(win_)->waits;
  while (!waits.measuring())
    static_cast<void>(waits.waited(ticks_in(1e9), ticks(), 1, [] { return std::uint64_t{0}; }));
  fake::fail("Get", MPI_ERR_TYPE);
  int value = -1;
  EXPECT_EQ(MPI_Get(&value, 1, MPI_DATATYPE_NULL, 1, 7, 1, MPI_INT, win_), MPI_ERR_TYPE);
  EXPECT_EQ(fake::calls("Type_size"), 0u) << "which ends the job, whatever the window's handler";
}

TEST_F(Gets, WhatAFailedFlushLeftIsNotKept) {
  fake::fail("Win_flush", MPI_ERR_OTHER);
  int value = -1;
  EXPECT_EQ(MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_flush(1, win_), MPI_ERR_OTHER);
  there(1)[7] = 9;
  EXPECT_EQ(read(1, 7), 9);
}

/// Gets of one place after the other, so that none is hit in a row.
class GetsInARow : public Gets {
 protected:
  void SetUp() override {
    Gets::SetUp();
    for (int round = 0; round < 3; ++round) read_all();
    fake::reset();
  }
  void read_all(int more = 0) {
    for (int at = 0; at < 9; ++at) EXPECT_EQ(read(1, at), 1000 + at + more);
  }
};

TEST_F(GetsInARow, AreCountedAsHits) {
  const GetStats before = find_window(win_)->cached->stats();
  const std::uint64_t hits = find_window(win_)->cached->hits(1);
  read_all();
  const GetStats& stats = find_window(win_)->cached->stats();
  EXPECT_EQ(stats.gets, before.gets + 9);
  EXPECT_EQ(stats.flushes, before.flushes + 9);
  EXPECT_EQ(stats.flushes_skipped, before.flushes_skipped + 9);
  EXPECT_EQ(find_window(win_)->cached->hits(1), hits + 9);
  EXPECT_EQ(fake::calls("Get"), 0u);
  EXPECT_EQ(fake::calls("Win_flush"), 0u);
}

TEST_F(GetsInARow, AreServedWithRequests) {
  const auto read_all_by_request = [&](int more) {
    for (int at = 0; at < 9; ++at) {
      int value = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&value, 1, MPI_INT, 1, at, 1, MPI_INT, win_, &request);
      EXPECT_NE(request, MPI_REQUEST_NULL);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 1000 + at + more);
    }
  };
  const GetStats before = find_window(win_)->cached->stats();
  fill(1, 2000);
  read_all_by_request(0);
  EXPECT_EQ(fake::calls("Rget"), 0u);
  EXPECT_EQ(find_window(win_)->cached->stats().gets, before.gets + 9);
  MPI_Barrier(MPI_COMM_WORLD);
  read_all_by_request(1000);
  requests_before_ = fake::open_requests();  // the handle of a served request is kept for the next
}

TEST_F(GetsInARow, EndWithAnAcquire) {
  fill(1, 2000);
  read_all();
  MPI_Barrier(MPI_COMM_WORLD);
  read_all(1000);
}

TEST_F(GetsInARow, EndWithAnOwnWrite) {
  const int value = 5000;
  MPI_Put(&value, 1, MPI_INT, 1, 4, 1, MPI_INT, win_);
  EXPECT_EQ(read(1, 5), 1005) << "not written";
  EXPECT_EQ(fake::calls("Win_flush"), 1u) << "the write is under way";
  EXPECT_EQ(read(1, 4), 5000);
}

TEST_F(GetsInARow, EndWithAGetThatIsMissing) {
  int value = -1, other = -1;
  MPI_Get(&value, 1, MPI_INT, 1, 4, 1, MPI_INT, win_);
  MPI_Get(&other, 1, MPI_INT, 2, 40, 1, MPI_INT, win_);
  MPI_Get(&value, 1, MPI_INT, 2, 40, 1, MPI_INT, win_);
  EXPECT_EQ(read(1, 5), 1005);
  EXPECT_EQ(fake::calls("Win_flush"), 0u);
  MPI_Win_flush(2, win_);
  EXPECT_EQ(fake::calls("Win_flush"), 1u);
  EXPECT_EQ(other, 2040);
  EXPECT_EQ(value, 2040);
}

TEST_F(GetsInARow, EndWithAChangeOfTheMode) {
  find_window(win_)->cached->set_mode(Mode::off, "a test");
  fill(1, 2000);
  read_all(1000);
}

TEST_F(GetsInARow, EndWithTheirDatatype) {
  MPI_Datatype type = fake::vector_type(1, 2, 2, MPI_INT);
  const auto read_two = [&](int at) {
    int got[2] = {-1, -1};
    MPI_Get(got, 1, type, 1, at, 1, type, win_);
    MPI_Win_flush(1, win_);
    EXPECT_EQ(got[0], 1000 + at);
    return got[1];
  };
  for (int i = 0; i < 40; ++i) EXPECT_EQ(read_two(i % 10), 1001 + i % 10);
  const MPI_Datatype before = type;
  MPI_Type_free(&type);
  type = fake::vector_type(1, 1, 1, MPI_INT);
  if (type == before) {
    EXPECT_EQ(read_two(3), -1) << "of the old type's length";
  }
  MPI_Type_free(&type);
}

TEST_F(GetsInARow, AreSeenByThreads) {
  many_threads = true;
  read_all();
  fill(1, 2000);
  std::thread([] { note_acquire("another thread"); }).join();
  read_all(1000);
  many_threads = false;
}

TEST_F(Gets, VectorsAreKeptByTheirLayout) {
  MPI_Datatype type = fake::vector_type(4, 1, 3, MPI_INT);
  int got[4] = {};
  MPI_Get(got, 4, MPI_INT, 1, 10, 1, type, win_);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(got[3], 1019);
  MPI_Type_free(&type);
  type = fake::vector_type(4, 1, 3, MPI_INT);  // another handle, the same layout
  fake::reset();
  std::fill(got, got + 4, -1);
  MPI_Get(got, 4, MPI_INT, 1, 10, 1, type, win_);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(got[1], 1013);
  EXPECT_EQ(fake::calls("Get"), 0u);
  MPI_Type_free(&type);
}

TEST_F(Gets, ATypeThatTheLibraryRefusesGoesToTheLibrary) {
  int got[4] = {};
  MPI_Datatype type = fake::vector_type(4, 1, 3, MPI_INT);
  MPI_Get(got, 4, MPI_INT, 1, 10, 1, type, win_);
  MPI_Win_flush(1, win_);
  MPI_Type_free(&type);
  type = fake::vector_type(4, 1, 3, MPI_INT);
  fake::reset();
  fake::fail("Pack", MPI_ERR_TYPE);  // not committed
  MPI_Get(got, 4, MPI_INT, 1, 10, 1, type, win_);
  EXPECT_EQ(fake::calls("Get"), 1u);
  MPI_Get(got, 4, MPI_INT, 1, 10, 1, type, win_);  // committed by now
  EXPECT_EQ(fake::calls("Get"), 1u);
  MPI_Win_flush(1, win_);
  MPI_Type_free(&type);
}

TEST_F(Gets, ARequestIsServedWhenItIsWaitedFor) {
  fake::hold_requests(2);
  int value = -1, flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Rget(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_, &request);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(flag, 0);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(value, 1007);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(Gets, NothingWritesToTheBufferAfterItsRequestWasWaitedFor) {
  end_window();
  const auto before = context().settings;
  context().settings.poll_ms = 0.001;  // a hit becomes due to be fetched again at any time
  context().settings.poll_share = 1;
  make_window();
  context().settings = before;
  EXPECT_EQ(read(1, 7), 1007);
  fake::reset();
  for (int i = 0; i < 20000; ++i) {
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    ASSERT_EQ(value, 1007) << "after " << i;
  }
  requests_before_ = fake::open_requests();  // the handle of a served request is kept for the next
  EXPECT_NE(fake::calls("Rget"), 0u);        // fetched again now and then
  EXPECT_EQ(fake::calls("Get"), 0u);         // which would be complete at the next flush only
  MPI_Win_flush(1, win_);
  EXPECT_EQ(find_window(win_)->cached->mode(), Mode::automatic);
}

// A program may wait for requests alone and never flush.
TEST_F(Gets, RequestsThatAreCompleteTakeNoMemory) {
  const auto fetch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);  // nothing is served from the cache
      int value = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(value, 1007);
    }
    return find_window(win_)->cached->memory_bytes();
  };
  const std::uint64_t before = fetch(100);
  EXPECT_LT(fetch(1000), before + 100 * sizeof(gets::PendingGet));
}

TEST_F(Gets, PollingByRequestEndsInModeStrictToo) {
  end_window();
  const auto before = context().settings;
  context().settings.cache = "strict";
  context().settings.poll_hits = 8;
  make_window();
  context().settings = before;
  int polls = 0;
  for (int value = -1; value != 5 && polls < 100; ++polls) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    there(1)[7] = 5;
  }
  requests_before_ = fake::open_requests();  // the handle of a served request is kept for the next
  EXPECT_LE(polls, 16);
}

// However the program waits, what it takes to fetch old hits again is known.
TEST_F(Gets, OldHitsAreFetchedAgainWithinTheShareHoweverTheProgramWaits) {
  const auto get = [&](MPI_Request* request) {
    static int value = -1;
    if (request)
      MPI_Rget(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_, request);
    else
      MPI_Get(&value, 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
  };
  const std::vector<std::function<void()>> ways{[&] {
                                                  get(nullptr);
                                                  MPI_Win_flush(1, win_);
                                                },
                                                [&] {
                                                  get(nullptr);
                                                  MPI_Win_flush_all(win_);
                                                },
                                                [&] {
                                                  MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK,
                                                               win_);
                                                  get(nullptr);
                                                  MPI_Win_unlock(1, win_);
                                                },
                                                [&] {
                                                  MPI_Request request = MPI_REQUEST_NULL;
                                                  get(&request);
                                                  MPI_Wait(&request, MPI_STATUS_IGNORE);
                                                }};
  for (std::size_t way = 0; way < ways.size(); ++way) {
    end_window();
    const auto before = context().settings;
    context().settings.poll_ms = 0;  // every hit is old
    context().settings.poll_share = 0;
    make_window();
    context().settings = before;
    for (int i = 0; i < 500; ++i) ways[way]();
    EXPECT_LE(find_window(win_)->cached->stats().refetches, 1u) << "way " << way;
  }
}

TEST_F(Gets, AnAtomicOperationEndsWhatWasFetched) {
  EXPECT_EQ(read(1, 7), 1007);
  std::int64_t one = 1, before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, 0, MPI_SUM, win_);
  MPI_Win_flush(1, win_);
  fill(1, 5000);
  EXPECT_EQ(read(1, 7), 5007);  // the process may have learned that somebody wrote
}

/// Fetching atomics that the wrapper alone counts while tracking is off are expected all the same
/// when it is on again.
TEST_F(Gets, AnAtomicOperationThatWasOnlyCountedEndsWhatWasFetchedAfterIt) {
  std::int64_t one = 1, before = 0;
  const auto fetch = [&](int target) {
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, win_);
  };
  ASSERT_TRUE(tracking_off());
  fetch(2);  // seen: the next one is counted
  all_windows.timed.left = 1 << 20;
  MPI_Win_flush(2, win_);  // not seen
  fetch(2);
  EXPECT_EQ(find_window(win_)->issued.atomics, 2u);
  EXPECT_EQ(read(1, 7), 1007);
  EXPECT_FALSE(tracking_off());
  MPI_Win_flush(2, win_);  // the second one's result may announce a write
  fill(1, 5000);
  EXPECT_EQ(read(1, 7), 5007);
  fill(1, 6000);
  MPI_Win_flush(2, win_);  // nothing arrives
  EXPECT_EQ(read(1, 7), 5007);
}

TEST_F(Gets, AnAtomicOperationToAnotherTargetIsSeenWhileHobSleeps) {
  std::int64_t one = 1, before = 0;
  for (const int target : {2, 2, 1, 1, 2})
    MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, win_);
  EXPECT_EQ(find_window(win_)->issued.atomics, 5u);
  EXPECT_EQ(read(1, 7), 1007);
  MPI_Win_flush(2, win_);
  fill(1, 5000);
  EXPECT_EQ(read(1, 7), 5007);
}

/// On one node a library may copy the bytes when the get is issued: no flush is needed to see that
/// it is quick.
TEST_F(Gets, WithRequestsThatAreCompleteAtOnceAWindowIsLeftAlone) {
  end_window();
  auto near = std::make_unique<NearJob>();
  make_window();
  CachedGets& cached = *find_window(win_)->cached;
  const auto get = [&](int at) {
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(&value, 1, MPI_INT, 1, at, 1, MPI_INT, win_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, 1000 + at);
  };
  for (int i = 0; i < 100; ++i) get(i * 37 % kWords);
  near.reset();
  EXPECT_TRUE(cached.tracking_off_for_good());
  EXPECT_TRUE(tracking_off());
  const auto before = find_window(win_)->uncached_gets;
  for (int i = 0; i < 10; ++i) get(i);
  EXPECT_EQ(find_window(win_)->uncached_gets, before + 10);
}

/// What is only counted is counted where it belongs, whichever of two windows comes.
TEST_F(Gets, TwoWindowsThatAreLeftAloneAreCountedApart) {
  end_window();
  auto near = std::make_unique<NearJob>();
  make_window();
  int* other_base = nullptr;
  MPI_Win other = MPI_WIN_NULL;
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other_base,
                   &other);
  MPI_Win_lock_all(0, other);
  const auto get = [](MPI_Win window, int at) {
    int value = -1;
    MPI_Get(&value, 1, MPI_INT, 1, at, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
  };
  for (int i = 0; i < 1000; ++i) {
    get(win_, i % kWords);
    get(other, i % kWords);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  near.reset();
  ASSERT_TRUE(tracking_off());
  const auto untracked = [](MPI_Win window) { return find_window(window)->uncached_gets; };
  const std::uint64_t before = untracked(win_), before_other = untracked(other);
  for (int i = 0; i < 10; ++i) {
    get(win_, i);
    get(other, i);
    get(other, i);
  }
  EXPECT_EQ(untracked(win_), before + 10);
  EXPECT_EQ(untracked(other), before_other + 20);
  MPI_Win_unlock_all(other);
  MPI_Win_free(&other);
  get(win_, 0);
  EXPECT_EQ(untracked(win_), before + 11);
}

/// Nor are its first gets slow where they touch pages for the first time.
TEST_F(Gets, WithRequestsThatTouchNewPagesAWindowIsLeftAlone) {
  end_window();
  auto near = std::make_unique<NearJob>(1e6 * ticks_per_nanosecond());
  make_window();
  CachedGets& cached = *find_window(win_)->cached;
  bool touched = false;
  fake::during("Rget", [&] {
    if (!std::exchange(touched, true)) std::this_thread::sleep_for(std::chrono::milliseconds(8));
  });
  for (int i = 0; i < 100; ++i) {
    touched = cached.tracking_off_for_good();
    int value = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Rget(&value, 1, MPI_INT, 1, i, 1, MPI_INT, win_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(value, 1000 + i);
  }
  fake::during("Rget", nullptr);
  near.reset();
  EXPECT_TRUE(cached.tracking_off_for_good());
}

TEST_F(Gets, WithoutMemoryTheyAreStillRight) {
  int round = 0;
  const int allocations = fake::with_each_allocation_failing([&] {
    fill(1, 100 * ++round);
    MPI_Barrier(MPI_COMM_WORLD);
    int values[3] = {-1, -1, -1}, tail[2] = {-1, -1};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Get(&values[0], 1, MPI_INT, 1, 7, 1, MPI_INT, win_);
    MPI_Rget(&values[1], 1, MPI_INT, 1, 20, 1, MPI_INT, win_, &request);
    MPI_Get(&values[2], 1, MPI_INT, 1, 7, 1, MPI_INT, win_);  // the same, under way
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(values[1], 100 * round + 20);
    MPI_Win_flush(1, win_);
    EXPECT_EQ(values[0], 100 * round + 7);
    EXPECT_EQ(values[2], 100 * round + 7);
    MPI_Get(tail, 2, MPI_INT, 1, 7, 2, MPI_INT, win_);  // more than is kept
    MPI_Put(&round, 1, MPI_INT, 1, 30, 1, MPI_INT, win_);
    MPI_Win_flush_all(win_);
    EXPECT_EQ(tail[1], 100 * round + 8);
    EXPECT_EQ(there(1)[30], round);
  });
  EXPECT_GT(allocations, 0);
}

}  // namespace
}  // namespace hob::mpi
