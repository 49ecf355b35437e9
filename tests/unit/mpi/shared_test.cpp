// Blocks in the log of a node. The other ranks of the node do nothing, so what this process finds
// there is what it put there itself and its own small cache has lost.
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"

namespace hob::mpi {
namespace {

constexpr int kTarget = 1;
constexpr int kBlock = 1024 / sizeof(int);  ///< words of a block
constexpr int kBlocks = 64;

class Shared : public testing::Test {
 protected:
  void SetUp() override {
    settings::Settings& s = context().settings;
    s.cache_share = true;
    s.cache_size = s.cache_max = 1024;  // a block
    s.cache_adapt = false;
    s.readahead = "1K";
    fake::ranks_of_node(2);
  }
  void TearDown() override {
    if (win_ != MPI_WIN_NULL) {
      MPI_Win_unlock_all(win_);
      MPI_Win_free(&win_);
    }
    fake::ranks_of_node(1);
    fake::reset();
    context().settings = before_;
    context().longest_get = std::numeric_limits<std::uint64_t>::max();
  }

  /// After a first get: whatever is fetched from now on may be shared with this process.
  void open() {
    int* base = nullptr;
    MPI_Win_allocate(kBlocks * kBlock * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &base, &win_);
    there_ = reinterpret_cast<int*>(fake::memory(win_, kTarget).data());
    std::iota(there_, there_ + kBlocks * kBlock, 0);
    MPI_Win_lock_all(0, win_);
    EXPECT_EQ(read(kBlocks - 1, 0), (kBlocks - 1) * kBlock);
    fake::reset();
  }

  void get(int block, int word, int& value) const {
    MPI_Get(&value, 1, MPI_INT, kTarget, block * kBlock + word, 1, MPI_INT, win_);
  }
  int read(int block, int word) const {
    int value = -1;
    get(block, word, value);
    MPI_Win_flush(kTarget, win_);
    return value;
  }
  /// Makes the process's own cache lose what was fetched before.
  void lose() const {
    for (int block = 32; block < kBlocks - 1; ++block) read(block, 0);
  }
  /// Gets that reach the library where `word` of these blocks is read.
  std::uint64_t gets_of(int first, int end, int word) const {
    const std::uint64_t before = fake::calls("Get");
    for (int block = first; block < end; ++block)
      EXPECT_EQ(read(block, word), block * kBlock + word);
    return fake::calls("Get") - before;
  }

  const settings::Settings before_ = context().settings;
  MPI_Win win_ = MPI_WIN_NULL;
  int* there_ = nullptr;
};

TEST_F(Shared, WhatNobodyAskedForIsServed) {
  open();
  EXPECT_EQ(gets_of(0, 16, 0), 16U);
  lose();
  EXPECT_EQ(gets_of(0, 16, 100), 0U);
}

TEST_F(Shared, NotWhatWasUnderWayInAnOwnWrite) {
  open();
  int value = -1;
  const int other = 77;
  get(0, 0, value);
  MPI_Put(&other, 1, MPI_INT, kTarget, 100, 1, MPI_INT, win_);
  MPI_Win_flush(kTarget, win_);
  EXPECT_EQ(value, 0);
  read(1, 0);
  lose();
  EXPECT_EQ(read(0, 100), 77);
}

TEST_F(Shared, NotWhatWasUnderWayInAnAcquire) {
  open();
  int value = -1;
  get(0, 0, value);
  fake::during("Win_flush", [&] { there_[100] = 77; });
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_flush(kTarget, win_);
  fake::during("Win_flush", nullptr);
  there_[100] = 78;
  read(1, 0);
  lose();
  EXPECT_EQ(read(0, 100), 78);
}

TEST_F(Shared, NotWhatIsOlderThanAnAcquire) {
  open();
  gets_of(0, 16, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  there_[100] = 77;
  read(kBlocks - 1, 0);
  lose();
  EXPECT_EQ(read(0, 100), 77);
}

// A share of nothing is one fetch.
TEST_F(Shared, OldBlocksAreFetchedAgainWithinTheBudget) {
  context().settings.poll_ms = 1e-6;  // all are old at the next get
  context().settings.poll_share = 0;
  open();
  gets_of(0, 16, 0);
  lose();
  std::uint64_t fetched = 0;
  for (int block = 0; block < 16; ++block) fetched += gets_of(block, block + 1, 100);
  EXPECT_EQ(fetched, 1U);
}

TEST_F(Shared, NoBlocksWhereNothingIsFetchedAheadAnyMore) {
  open();
  gets_of(0, 16, 0);
  lose();
  fake::fail("Get", MPI_ERR_OTHER);  // of a block: the program's own get is still given on
  EXPECT_EQ(read(20, 0), 20 * kBlock);
  EXPECT_EQ(gets_of(0, 16, 100), 16U);
}

TEST_F(Shared, BlocksAreNoLongerThanTheLibraryBears) {
  context().settings.readahead = "64K";
  context().settings.cache_size = context().settings.cache_max = 1 << 20;
  context().longest_get = 16000;
  fake::take_longest_get();
  open();
  gets_of(0, 32, 0);
  EXPECT_EQ(fake::take_longest_get(), 4096U);
}

}  // namespace
}  // namespace hob::mpi
