// What the glue keeps of a process is in objects, of which the process has one each: a test can
// make it twice, and what one of them learns the other does not.
#include "mpi/core/state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "fake_mpi.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/state.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/requests/state.hpp"
#include "mpi/rma/state.hpp"
#include "mpi/rma/untracked_windows.hpp"

namespace hob::mpi {
namespace {

/// Of a process.
struct Glue {
  Acquires acquires;
  AllWindows all_windows;
  UntrackedWindows untracked_windows;
  direct::Slots slots;
  requests::State requests;
  requests::Registry registry;
  p2p::FastPath fast_path;
  p2p::Matching matching;
  OwnProgress progress;
  overlap_thread::Watched watched;
  batched::Waiting waiting;
};

class GlueTwice : public testing::Test {
 protected:
  static MPI_Win window(int number) { return static_cast<MPI_Win>(0x20000000 + number); }

  // Large: not on the stack.
  const std::unique_ptr<Glue> one_ = std::make_unique<Glue>(), other_ = std::make_unique<Glue>();
};

TEST_F(GlueTwice, WhatOneProcessLearnsTheOtherDoesNot) {
  const std::uint64_t before = acquires.count;
  EXPECT_EQ(one_->acquires.add("MPI_Barrier"), 1U);
  EXPECT_EQ(one_->acquires.add("MPI_Recv"), 2U);
  EXPECT_STREQ(one_->acquires.last.load(), "MPI_Recv");
  EXPECT_EQ(other_->acquires.count.load(), 1U);
  EXPECT_STREQ(other_->acquires.last.load(), "");
  EXPECT_EQ(acquires.count.load(), before) << "nor does this one";
}

TEST_F(GlueTwice, EachTimesItsOwnWaits) {
  one_->all_windows.timed.set(3);
  other_->all_windows.timed.set(1);
  EXPECT_TRUE(one_->all_windows.timed.passes());
  EXPECT_FALSE(other_->all_windows.timed.passes());
  EXPECT_TRUE(one_->all_windows.timed.passes());
  EXPECT_FALSE(one_->all_windows.timed.passes());
}

TEST_F(GlueTwice, EachCountsCallsOnItsOwnWindows) {
  std::array<std::uint64_t, 2> puts{};
  Glue* const both[] = {one_.get(), other_.get()};
  for (std::size_t i = 0; i < 2; ++i)
    both[i]->untracked_windows.put({.window = window(1), .puts = &puts[i]});
  // A window that comes later does not take its place.
  one_->untracked_windows.put({.window = window(2)});
  const auto put = [](Glue& glue) {
    return counted(glue.untracked_windows.of(window(1)), window(1), &UntrackedWindow::puts);
  };
  EXPECT_TRUE(put(*one_));
  EXPECT_TRUE(put(*one_));
  EXPECT_TRUE(put(*other_));
  EXPECT_EQ(puts, (std::array<std::uint64_t, 2>{2, 1}));
  one_->untracked_windows.forget_all();
  EXPECT_FALSE(put(*one_));
  EXPECT_TRUE(put(*other_));
}

TEST_F(GlueTwice, EachKnowsItsOwnRequests) {
  const auto handle = static_cast<MPI_Request>(0x98000001);
  one_->registry.table.at(handle_bits(handle)).cookie = 7;
  one_->requests.vain_polls.note(1, &handle, 0);
  EXPECT_EQ(one_->registry.table.find(handle_bits(handle))->cookie, 7U);
  EXPECT_TRUE(one_->requests.vain_polls.are(1, &handle));
  EXPECT_EQ(other_->registry.table.find(handle_bits(handle)), nullptr);
  EXPECT_FALSE(other_->requests.vain_polls.are(1, &handle));
}

TEST(Threads, AreAtRestWhileNothingElseHasAnythingToDo) {
  const int before = concerns.parts_tracking.exchange(1);
  many_threads = true;
  EXPECT_FALSE(threads_at_rest(all_concerns())) << "before MPI has started";
  concerns.threads_alone = true;
  EXPECT_TRUE(threads_at_rest(all_concerns()));
  EXPECT_FALSE(at_rest(all_concerns()));
  {
    const UsesAcquires window;
    EXPECT_FALSE(threads_at_rest(all_concerns())) << "what waits show is to be noted";
  }
  EXPECT_TRUE(threads_at_rest(all_concerns()));
  concerns.calls_announced = true;
  EXPECT_FALSE(threads_at_rest(all_concerns()));
  concerns.calls_announced = concerns.threads_alone = false;
  concerns.parts_tracking = before;
  many_threads = false;
}

TEST_F(GlueTwice, EachGrantsItsOwnFastPath) {
  one_->fast_path = {.comm = MPI_COMM_WORLD, .blocking = 1, .exchanges = 1};
  EXPECT_TRUE(one_->fast_path.exchange(MPI_COMM_WORLD));
  EXPECT_TRUE(one_->fast_path.receive(1, 0, MPI_COMM_WORLD));
  EXPECT_FALSE(one_->fast_path.exchange(MPI_COMM_WORLD));
  EXPECT_FALSE(one_->fast_path.receive(1, 0, MPI_COMM_WORLD));
  EXPECT_FALSE(one_->fast_path.receive(1, 0, MPI_COMM_WORLD)) << "below none there is none";
  EXPECT_FALSE(one_->fast_path.start(1, 0, MPI_COMM_WORLD));
  EXPECT_FALSE(one_->fast_path.start(p2p::FastPath::kLong, 0, MPI_COMM_WORLD));
  EXPECT_FALSE(other_->fast_path.receive(1, 0, MPI_COMM_WORLD));
}

}  // namespace
}  // namespace hob::mpi
