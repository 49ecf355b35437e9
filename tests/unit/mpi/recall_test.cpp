// What phases like the present one have read, fetched again at its beginning: how many gets reach
// the library, and what the program reads (docs/consistency.md, "Recalled").
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "batch/operation_buffer.hpp"
#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"
#include "mpi/rma/batch/indexed.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

class Recalled : public testing::Test {
 protected:
  void SetUp() override {
    context().settings.recall = "always";  // what a loaded machine measures decides nothing
    context().settings.readahead = "off";
    context().mpi_version = "MPICH Version: 5.0";
    have_made_a_type();
    make_window();
  }
  /// The first one of a process is dear.
  static void have_made_a_type() {
    batch::OperationBuffer buffer;
    buffer.add(0, 8, nullptr);
    buffer.add(16, 8, nullptr);
    EXPECT_TRUE(IndexedType(buffer, 0, MPI_BYTE, 1).good());
  }
  void make_window() {
    MPI_Win_allocate(words_ * static_cast<MPI_Aint>(sizeof(int)), sizeof(int), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base_, &win_);
    write_all(0);
    fake::reset();
  }
  void TearDown() override {
    fake::reset();
    MPI_Win_free(&win_);
    EXPECT_EQ(fake::open_requests(), requests_before_);
    context().settings = settings_before_;
    context().mpi_version = version_before_;
  }

  static int value(int rank, int version, int at) {
    return rank * 1'000'000 + version * 10'000 + at;
  }
  int* there(int rank) { return reinterpret_cast<int*>(fake::memory(win_, rank).data()); }
  void write_all(int version) {
    version_ = version;
    for (int rank = 1; rank < fake::kWorldSize; ++rank)
      std::iota(there(rank), there(rank) + words_, value(rank, version, 0));
  }
  /// Others write, and say so.
  void next_phase() {
    write_all(version_ + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    fake::reset();
  }

  void get(int rank, int at, int words, int* into) {
    EXPECT_EQ(MPI_Get(into, words, MPI_INT, rank, at, words, MPI_INT, win_), MPI_SUCCESS);
  }
  void expect_read(int rank, int at, int words = 1) {
    std::vector<int> got(static_cast<std::size_t>(words), -1);
    get(rank, at, words, got.data());
    EXPECT_EQ(MPI_Win_flush(rank, win_), MPI_SUCCESS);
    for (int i = 0; i < words; ++i)
      EXPECT_EQ(got[static_cast<std::size_t>(i)], value(rank, version_, at + i)) << at + i;
  }
  /// Places of two targets, in turn.
  void read_both(int places) {
    for (int i = 0; i < places; ++i) expect_read(1 + i % 2, 100 * i);
  }
  const GetStats& stats() { return find_window(win_)->cached->stats(); }

  const settings::Settings settings_before_ = context().settings;
  const std::string version_before_ = context().mpi_version;
  int words_ = 4096;
  int* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
  int version_ = 0;
  std::size_t requests_before_ = fake::open_requests();
};

TEST_F(Recalled, FromTheThirdPhaseOnTheyAreOneGetForEachTarget) {
  MPI_Win_lock_all(0, win_);
  expect_read(1, 0);  // who has read nothing yet is not looked at
  MPI_Win_unlock_all(win_);
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 5; ++phase) {
    next_phase();
    read_both(20);
    if (phase == 1) continue;  // some at first, more as they are used
    EXPECT_EQ(fake::calls("Get"), phase == 0 ? 20U : 2U) << "one for each target";
  }
  EXPECT_EQ(stats().recalled, stats().recall_used);
  MPI_Win_unlock_all(win_);
}

TEST_F(Recalled, WhereNobodySawThatAllTargetsAreReachedEachBeginsWithItsFirstGet) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 5; ++phase) {
    next_phase();
    read_both(20);
    if (phase >= 2) {
      EXPECT_EQ(fake::calls("Get"), 2U);
    }
  }
  MPI_Win_unlock_all(win_);
}

/// Blocks that readahead fetches around the first miss bring some of the places.
TEST_F(Recalled, WhatABlockBringsIsNotFetchedTwice) {
  context().settings.readahead = "1K";
  MPI_Win_free(&win_);
  make_window();
  MPI_Win_lock_all(0, win_);
  const int places[] = {0, 20, 100, 1000, 2000, 3000};
  for (int phase = 0; phase < 5; ++phase) {
    next_phase();
    const std::uint64_t before = stats().recalled;
    for (const int at : places) {
      int got = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&got, 1, MPI_INT, 1, at, 1, MPI_INT, win_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      EXPECT_EQ(got, value(1, version_, at));
    }
    if (phase >= 2) {
      EXPECT_EQ(fake::calls("Rget"), 2U);
      EXPECT_EQ(stats().recalled - before, 3U);
    }
  }
  MPI_Win_unlock_all(win_);
  requests_before_ = fake::open_requests();  // handles of requests that were served are kept
}

TEST_F(Recalled, ALockReachesItsOwnTargetAlone) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 3; ++phase) {
    next_phase();
    read_both(20);
  }
  MPI_Win_unlock_all(win_);
  // What a fence may begin ends with a lock.
  MPI_Win_fence(0, win_);
  write_all(version_ + 1);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win_);
  fake::reset();
  expect_read(1, 0);
  EXPECT_EQ(fake::calls("Get"), 1U);
  expect_read(1, 200);
  EXPECT_EQ(fake::calls("Get"), 1U);
  MPI_Win_unlock(1, win_);
}

TEST_F(Recalled, AnAcquireDropsWhatIsHereAndWhatIsUnderWay) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 3; ++phase) {
    next_phase();
    read_both(20);
  }
  next_phase();
  expect_read(1, 0);  // the others of this target are here
  next_phase();
  expect_read(1, 200);
  next_phase();
  int first = -1;
  get(1, 0, 1, &first);  // the others are under way
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(first, value(1, version_, 0));
  write_all(version_ + 1);
  expect_read(1, 200);
  MPI_Win_unlock_all(win_);
}

TEST_F(Recalled, AnOwnWriteDropsWhatItOverlaps) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 3; ++phase) {
    next_phase();
    read_both(20);
  }
  next_phase();
  int first = -1, second = -1;
  const int mine = -7;
  get(1, 0, 1, &first);  // the others are under way
  MPI_Put(&mine, 1, MPI_INT, 1, 200, 1, MPI_INT, win_);
  MPI_Win_flush(1, win_);
  get(1, 200, 1, &second);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(second, mine);
  fake::reset();
  expect_read(1, 400);
  EXPECT_EQ(fake::calls("Get"), 0U) << "what it does not overlap is here";
  MPI_Put(&mine, 1, MPI_INT, 1, 400, 1, MPI_INT, win_);
  MPI_Win_flush(1, win_);
  get(1, 400, 1, &second);
  MPI_Win_flush(1, win_);
  EXPECT_EQ(second, mine);
  MPI_Win_unlock_all(win_);
}

TEST_F(Recalled, NothingIsWhileOwnWritesAreUnderWay) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 3; ++phase) {
    next_phase();
    read_both(20);
  }
  next_phase();
  const int mine = -7;
  int first = -1;
  MPI_Put(&mine, 1, MPI_INT, 1, 4000, 1, MPI_INT, win_);
  fake::reset();
  get(1, 0, 1, &first);
  EXPECT_EQ(fake::calls("Get"), 1U);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Rget(&first, 1, MPI_INT, 1, 200, 1, MPI_INT, win_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(fake::calls("Get") + fake::calls("Rget"), 2U);
  MPI_Win_flush(1, win_);
  MPI_Win_unlock_all(win_);
}

/// Of a place whose first bytes the program fetches, the rest is recalled, which may begin behind
/// the next place.
TEST_F(Recalled, PlacesThatOverlapAreAllFound) {
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 3; ++phase) {
    next_phase();
    expect_read(1, 0, 25);
    expect_read(1, 12, 25);
    for (int i = 1; i < 10; ++i) expect_read(1, 300 * i);
  }
  next_phase();
  std::vector<int> a(20, -1), b(25, -1);
  get(1, 0, 20, a.data());
  get(1, 12, 25, b.data());  // under way
  EXPECT_EQ(fake::calls("Get"), 1U);
  MPI_Win_flush(1, win_);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(a[static_cast<std::size_t>(i)], value(1, version_, i));
  for (int i = 0; i < 25; ++i)
    EXPECT_EQ(b[static_cast<std::size_t>(i)], value(1, version_, 12 + i));
  for (int i = 1; i < 10; ++i) expect_read(1, 300 * i);
  EXPECT_EQ(fake::calls("Get"), 1U);
  MPI_Win_unlock_all(win_);
}

/// Bytes that nobody had asked for say that somebody writes, not that the program polls.
TEST_F(Recalled, OldBytesThatChangedEndItAlsoWhereTheyAreAskedForByRequest) {
  context().settings.poll_ms = 0.001;
  context().settings.poll_share = 1;
  MPI_Win_free(&win_);
  make_window();
  MPI_Win_lock_all(0, win_);
  for (int phase = 0; phase < 30 && stats().recall_changed == 0; ++phase) {
    next_phase();
    for (int i = 0; i < 10; ++i) {
      int got = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Rget(&got, 1, MPI_INT, 1, 100 * i, 1, MPI_INT, win_, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      if (i != 0) continue;
      MPI_Win_flush(1, win_);                  // the others have been recalled
      if (phase > 3) write_all(version_ + 1);  // nobody says so
      const std::uint64_t now = ticks();
      while (ticks() - now < ticks_in(1e6)) continue;  // they age
    }
  }
  EXPECT_GT(stats().recall_changed, 0U);
  EXPECT_EQ(find_window(win_)->cached->mode(), Mode::automatic);
  MPI_Win_unlock_all(win_);
}

/// What is waited for together is one get, too, where that takes less than several.
TEST_F(Recalled, RowsBetweenTwoFencesAreOneGetOfTheStretch) {
  context().settings.readahead = "auto";
  MPI_Win_free(&win_);
  make_window();
  MPI_Win_fence(0, win_);
  constexpr int kRow = 512;
  std::vector<int> rows(std::size_t{2} * kRow, -1);
  for (int phase = 0; phase < 8; ++phase) {
    write_all(version_ + 1);
    MPI_Win_fence(0, win_);
    fake::reset();
    for (int row = 0; row < 2; ++row) get(1, 3000 * row, kRow, rows.data() + kRow * row);
    MPI_Win_fence(0, win_);
    if (phase >= 2) {
      EXPECT_EQ(fake::calls("Get"), 1U) << phase;
    }
    for (int i = 0; i < 2 * kRow; ++i)
      EXPECT_EQ(rows[static_cast<std::size_t>(i)],
                value(1, version_, 3000 * (i / kRow) + i % kRow));
  }
  EXPECT_GT(stats().recall_used, 4U);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
}

/// Phases are compared by all that they spend in gets: also where a library works in the call, and
/// the wait is short.
TEST_F(Recalled, WhatIssuingTakesCountsInPhasesWithoutRecallingToo) {
  context().settings.readahead = "auto";
  MPI_Win_free(&win_);
  make_window();
  MPI_Win_fence(0, win_);
  constexpr int kPhases = 100, kRow = 256;
  std::vector<int> row(kRow, -1);
  fake::during("Get", [] {
    const std::uint64_t start = ticks();
    while (ticks() - start < ticks_in(1e5)) continue;
  });
  for (int phase = 0; phase < kPhases; ++phase) {
    write_all(version_ + 1);
    MPI_Win_fence(0, win_);
    for (int place = 0; place < 3; ++place) get(1, 1000 * place, kRow, row.data());
    MPI_Win_fence(0, win_);
  }
  EXPECT_GT(stats().recall_used, 2U * 70) << "of three places each; some phases are compared";
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
}

/// A stretch longer than one get may be comes in several, which are waited for together.
TEST_F(Recalled, ALongStretchIsAFewGets) {
  context().settings.readahead = "auto";
  MPI_Win_free(&win_);
  words_ = 1 << 18;
  make_window();
  MPI_Win_lock_all(0, win_);
  constexpr int kRow = 4096, kRows = 64;
  for (int phase = 0; phase < 5; ++phase) {
    next_phase();
    for (int row = 0; row < kRows; ++row) expect_read(1, kRow * row, kRow - 64);
    if (phase >= 2) {
      EXPECT_GE(fake::calls("Get"), 2U) << phase;
      EXPECT_LE(fake::calls("Get"), 4U) << phase;
    }
  }
  MPI_Win_unlock_all(win_);
}

/// Also where what the program asks for first is the beginning of a run of places.
TEST_F(Recalled, ARunOfPlacesIsOneGet) {
  context().settings.readahead = "auto";
  MPI_Win_free(&win_);
  make_window();
  MPI_Win_fence(0, win_);
  std::vector<int> run(1024, -1);
  for (int phase = 0; phase < 2; ++phase) {
    write_all(version_ + 1);
    MPI_Win_fence(0, win_);
    fake::reset();
    for (int at = 0; at < 1024; at += 128) get(1, at, 128, run.data() + at);
    MPI_Win_fence(0, win_);
    if (phase == 1) {
      EXPECT_EQ(fake::calls("Get"), 1U);
    }
    for (int i = 0; i < 1024; ++i)
      EXPECT_EQ(run[static_cast<std::size_t>(i)], value(1, version_, i));
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win_);
}

/// They wait for nothing that is recalled.
TEST_F(Recalled, FlushesOfTheOwnRankAreTheLibrarysAloneHereToo) {
  EXPECT_TRUE(find_window(win_)->cached->own_rank().flushes_alone.load());
}

/// A lock that is held back goes before the get that recalls.
TEST_F(Recalled, InsideALockTheGroupIsOneGet) {
  for (int phase = 0; phase < 6; ++phase) {
    write_all(version_ + 1);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win_);
    fake::reset();
    for (int i = 0; i < 5; ++i) expect_read(1, 100 * i);
    MPI_Win_unlock(1, win_);
    if (phase >= 2) {
      EXPECT_EQ(fake::calls("Get"), 1U) << phase;
    }
  }
}

}  // namespace
}  // namespace hob::mpi
