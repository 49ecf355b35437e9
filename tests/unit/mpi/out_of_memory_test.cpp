// A process that has come to its limit: every call is right, whichever allocation was the last that
// succeeded.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "fake_mpi.hpp"
#include "mpi/core/context.hpp"

namespace hob::mpi {
namespace {

constexpr int kWords = 256;

class OutOfMemoryOf : public testing::Test {
 protected:
  void TearDown() override { fake::reset(); }

  /// A window from beginning to end: everything is done, and right.
  static void one_window(bool atomics) {
    int* base = nullptr;
    MPI_Win win = MPI_WIN_NULL;
    ASSERT_EQ(MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                               &base, &win),
              MPI_SUCCESS);
    int* const there = reinterpret_cast<int*>(fake::memory(win, 1).data());
    std::iota(there, there + kWords, 1000);
    MPI_Win_lock_all(0, win);
    std::array<int, 40> values{};
    for (int i = 0; i < 40; ++i)
      MPI_Get(&values[static_cast<std::size_t>(i)], 1, MPI_INT, 1, i % 20, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
    for (int i = 0; i < 40; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], 1000 + i % 20);
    const int stored = 77;
    int got = -1, requested = -1;
    const std::int64_t added = 1;
    std::int64_t before = -1;
    MPI_Put(&stored, 1, MPI_INT, 1, 30, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
    MPI_Get(&got, 1, MPI_INT, 1, 30, 1, MPI_INT, win);
    MPI_Win_flush_all(win);
    EXPECT_EQ(got, 77);
    if (atomics) {
      MPI_Fetch_and_op(&added, &before, MPI_INT64_T, 1, 34, MPI_SUM, win);
      MPI_Win_flush_local(1, win);
      EXPECT_EQ(before, (std::int64_t{1035} << 32) + 1034);
    }
    std::array<MPI_Request, 2> requests{};
    MPI_Rget(&requested, 1, MPI_INT, 1, 32, 1, MPI_INT, win, requests.data());
    MPI_Rput(&stored, 1, MPI_INT, 1, 33, 1, MPI_INT, win, &requests[1]);
    EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(requested, 1032);
    MPI_Win_unlock_all(win);
    EXPECT_EQ(there[33], 77);
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }

  static void some_messages() {
    MPI_Comm comm = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    std::array<MPI_Request, 8> requests{};
    std::array<std::array<int, 2>, 8> in{};
    for (int i = 0; i < 8; ++i)
      MPI_Irecv(in[static_cast<std::size_t>(i)].data(), 1, pair, 1, i, comm,
                &requests[static_cast<std::size_t>(i)]);
    for (int i = 0; i < 8; ++i) {
      const std::array<int, 2> out{i, i + 100};
      const fake::detail::Sparing sparing;
      fake::arrive(1, i, comm, out.data(), sizeof out);
    }
    EXPECT_EQ(MPI_Waitall(8, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)][1], i + 100);
    const int word = 5;
    MPI_Request send = MPI_REQUEST_NULL;
    EXPECT_EQ(MPI_Isend(&word, 1, MPI_INT, 1, 3, comm, &send), MPI_SUCCESS);
    EXPECT_EQ(MPI_Wait(&send, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Type_free(&pair);
    EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  }
};

TEST_F(OutOfMemoryOf, AWindowEveryCallIsRight) {
  EXPECT_GT(fake::with_the_system_out_of_memory([] { one_window(true); }), 10);
}

TEST_F(OutOfMemoryOf, ABatchEveryCallIsRight) {
  const std::string before = context().settings.batch;
  context().settings.batch = "16";
  EXPECT_GT(fake::with_the_system_out_of_memory([] { one_window(false); }), 10);
  context().settings.batch = before;
}

TEST_F(OutOfMemoryOf, MessagesEveryCallIsRight) {
  fake::with_the_system_out_of_memory(some_messages);
}

TEST_F(OutOfMemoryOf, WithoutTheReserveALibrarysCallTakesItsPlace) {
  fake::with_each_allocation_failing(some_messages);
}

}  // namespace
}  // namespace hob::mpi
