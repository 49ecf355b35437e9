// When more may be fetched than was asked for, as seen by the library.
#include <gtest/gtest.h>

#include <numeric>

#include "fake_mpi.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 64 * 1024;
constexpr int kRead = 1000;

class AheadOf : public testing::Test {
 protected:
  void TearDown() override { fake::unified_memory(true); }

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

}  // namespace
}  // namespace hob::mpi
