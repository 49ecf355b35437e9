// When more may be fetched than was asked for, as seen by the library.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 64 * 1024;
constexpr int kRead = 1000;
constexpr auto kNoLimit = std::numeric_limits<std::uint64_t>::max();

class AheadOf : public testing::Test {
 protected:
  void TearDown() override {
    fake::unified_memory(true);
    context().settings.readahead = "auto";
    context().longest_get = kNoLimit;
  }

  /// Gets that reach the library where every word of the first ones is read once, in order.
  static std::size_t gets_in_order() {
    int* base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    int* there = reinterpret_cast<int*>(fake::memory(win, 1).data());
    std::iota(there, there + kWords, 5);
    MPI_Win_lock_all(0, win);
    fake::reset();
    for (int word = 0; word < kRead; ++word) {
      int value = -1;
      MPI_Get(&value, 1, MPI_INT, 1, word, 1, MPI_INT, win);
      MPI_Win_flush(1, win);
      EXPECT_EQ(value, word + 5);
    }
    const std::size_t calls = fake::calls("Get");
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    return calls;
  }
};

TEST_F(AheadOf, UnifiedMemoryBlocksAreFetched) { EXPECT_LT(gets_in_order(), kRead / 2u); }

TEST_F(AheadOf, SeparateMemoryNothingIs) {
  fake::unified_memory(false);
  EXPECT_EQ(gets_in_order(), static_cast<std::size_t>(kRead));
}

// Where MPICH breaks answers that are longer than one piece (workarounds/long_replies.hpp).
TEST_F(AheadOf, BlocksAreNoLongerThanTheLibraryBears) {
  context().settings.readahead = "64K";
  fake::take_longest_get();
  EXPECT_LT(gets_in_order(), kRead / 2u);
  EXPECT_EQ(fake::take_longest_get(), 65536u);
  context().longest_get = 16000;
  EXPECT_LT(gets_in_order(), kRead / 2u);
  EXPECT_EQ(fake::take_longest_get(), 4096u);
}

/// A window over memory with a page that cannot be read; the other ranks' are alike.
class AheadOfPages : public AheadOf {
 protected:
  static constexpr std::size_t kPage = 4096, kPages = 64;

  void SetUp() override {
    context().settings.readahead = "64K";
    base_ =
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(base_, MAP_FAILED);
  }
  void TearDown() override {
    ::munmap(base_, kPages * kPage);
    AheadOf::TearDown();
  }
  void open(std::size_t from, int unit = 1) {
    MPI_Win_create(static_cast<char*>(base_) + from, static_cast<MPI_Aint>(kPages * kPage - from),
                   unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win_);
    MPI_Win_lock_all(0, win_);
    fake::take_longest_get();
  }
  std::uint64_t longest_get_for(MPI_Aint displacement) {
    char value = 0;
    MPI_Get(&value, 1, MPI_CHAR, 1, displacement, 1, MPI_CHAR, win_);
    MPI_Win_flush(1, win_);
    return fake::take_longest_get();
  }
  void close() {
    MPI_Win_unlock_all(win_);
    MPI_Win_free(&win_);
  }

  void* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

TEST_F(AheadOfPages, OrdinaryMemoryIsReadInBlocks) {
  open(0);
  EXPECT_EQ(longest_get_for(5 * kPage), 65536u);
  close();
}

TEST_F(AheadOfPages, WherePagesCannotBeReadAGetReadsItsOwn) {
  ::mprotect(static_cast<char*>(base_) + 3 * kPage, kPage, PROT_NONE);
  open(0);
  EXPECT_EQ(longest_get_for(5 * kPage + 77), kPage);
  close();
}

TEST_F(AheadOfPages, PagesAreThoseOfTheMemory) {
  ::mprotect(static_cast<char*>(base_) + 3 * kPage, kPage, PROT_NONE);
  open(2048);
  EXPECT_EQ(longest_get_for(5 * kPage + 77), 2048u) << "the page's second half";
  EXPECT_EQ(longest_get_for(5 * kPage + 2049), 2048u) << "the next one's first";
  close();
}

// A process whose own setting is off has not looked where its memory begins: others must not take
// it for memory that begins at a page.
TEST_F(AheadOfPages, OfAProcessThatDoesNotLookAGetReadsNoMoreThanItAsksFor) {
  context().settings.readahead = "off";
  const Readable readable = readable_of(static_cast<char*>(base_) + 2048, kPage, false);
  ExposedSizes sizes;
  sizes.assign(PerRank(kPages * kPage), PerRank(readable));
  const auto range = sizes.around(1, 5 * kPage + 77, 8, 1);
  EXPECT_EQ(range.begin, 5 * kPage + 77);
  EXPECT_EQ(range.end, 5 * kPage + 85);
}

TEST_F(AheadOfPages, NoElementBeginsInThePageBefore) {
  ::mprotect(static_cast<char*>(base_) + 3 * kPage, kPage, PROT_NONE);
  constexpr int kUnit = 24;
  open(0, kUnit);
  const MPI_Aint element = 5 * kPage / kUnit + 1;  // the first one that begins in page 5
  EXPECT_LE(longest_get_for(element), 2048u) << "a block of the whole page would begin before it";
  close();
}

TEST_F(AheadOfPages, SharedMemoryIsReadInBlocksOnceItIsThere) {
  ::munmap(base_, kPages * kPage);
  base_ =
      ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  open(0);
  EXPECT_EQ(longest_get_for(5 * kPage), kPage);
  close();
  std::memset(base_, 1, kPages * kPage);
  open(0);
  EXPECT_EQ(longest_get_for(5 * kPage), 65536u);
  close();
}

// A block may begin within an element: what lies before is fetched as well.
TEST_F(AheadOf, ElementsThatBeginBeforeABlockCount) {
  constexpr int kUnit = 24;
  context().settings.readahead = "4K";
  context().longest_get = 8192;
  int* base = nullptr;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Win_allocate(kWords * sizeof(int), kUnit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock_all(0, win);
  fake::take_longest_get();
  char there[kUnit];
  const int across = 8192 / kUnit;  // two blocks, of which the first begins at no element
  MPI_Get(there, kUnit, MPI_CHAR, 1, across, kUnit, MPI_CHAR, win);
  MPI_Win_flush(1, win);
  EXPECT_EQ(fake::take_longest_get(), static_cast<std::uint64_t>(kUnit));
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

}  // namespace
}  // namespace hob::mpi
