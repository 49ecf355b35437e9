// The parts of Hob: when each has its turn, and communicators that end.
#include "mpi/lifecycle/parts.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "fake_mpi.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/progress/pollers.hpp"
#include "mpi/progress/progress.hpp"

namespace hob::mpi {
namespace {

std::ptrdiff_t place_of(std::string_view name) {
  const auto all = parts();
  for (const Part& part : all)
    if (part.name == name) return &part - all.data();
  ADD_FAILURE() << "no part is called " << name;
  return -1;
}

TEST(Parts, MemoryOfQueuesIsToldToAHeaterThatIsThere) {
  EXPECT_LT(place_of("heater"), place_of("point-to-point"));
}

TEST(Parts, WhatRunsByItselfStopsBeforeAnythingElseEnds) {
  for (const Part& part : parts())
    EXPECT_FALSE(part.stop && part.finish) << part.name << ": which of the two is first?";
  EXPECT_TRUE(parts()[static_cast<std::size_t>(place_of("overlap"))].stop);
}

TEST(Parts, GhostsAreDismissedWhileMessagesStillAdvance) {
  EXPECT_LT(place_of("point-to-point"), place_of("ghosts"));
  EXPECT_LT(place_of("ghosts"), place_of("progress"));
}

TEST(Parts, RequestsGoBackBeforeGhostsLeave) {
  EXPECT_GT(place_of("requests"), place_of("ghosts"));  // ends come backwards
}

TEST(Parts, ThreadsComeToMatchingAfterTheOverlapThreadIsGone) {
  EXPECT_GT(place_of("overlap"), place_of("point-to-point"));  // likewise
}

class EndingCommunicator : public testing::Test {
 protected:
  void SetUp() override {
    mode_ = p2p::takeover().mode;
    p2p::takeover().mode = p2p::Takeover::Mode::always;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    fake::reset();
  }
  void TearDown() override { p2p::takeover().mode = mode_; }

  MPI_Comm comm_ = MPI_COMM_NULL;

 private:
  p2p::Takeover::Mode mode_{};
};

TEST_F(EndingCommunicator, ItsChannelIsForgotten) {
  int flag = 0;
  MPI_Iprobe(1, 5, comm_, &flag, MPI_STATUS_IGNORE);
  ASSERT_TRUE(p2p::known_channel(comm_));
  const MPI_Comm before = comm_;
  EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
  EXPECT_FALSE(p2p::known_channel(before));
}

TEST_F(EndingCommunicator, OneThatIsDisconnectedIsForgottenToo) {
  int flag = 0;
  MPI_Iprobe(1, 5, comm_, &flag, MPI_STATUS_IGNORE);
  ASSERT_TRUE(p2p::known_channel(comm_));
  const MPI_Comm before = comm_;
  EXPECT_EQ(MPI_Comm_disconnect(&comm_), MPI_SUCCESS);
  EXPECT_FALSE(p2p::known_channel(before)) << "the next one may have its handle";
}

TEST_F(EndingCommunicator, WhatHobHasOfItIsStillReceivedIfTheLibraryKeepsIt) {
  int value = 0, sent = 42;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, 1, 5, comm_, &request);
  fake::arrive(2, 7, comm_, &sent, sizeof sent);
  fake::arrive(1, 5, comm_, &sent, sizeof sent);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  ASSERT_EQ(p2p::matching.queued.load(), 1u);  // the other one, in Hob's queue
  fake::fail("Comm_free", MPI_ERR_OTHER);
  MPI_Comm same = comm_;
  EXPECT_EQ(MPI_Comm_free(&same), MPI_ERR_OTHER);
  EXPECT_TRUE(p2p::known_channel(comm_));
  EXPECT_EQ(MPI_Recv(&value, 1, MPI_INT, 2, 7, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(value, 42);
  EXPECT_EQ(MPI_Comm_free(&comm_), MPI_SUCCESS);
}

int polled = 0;

TEST(Pollers, APollWithinAPollDoesNothing) {
  static const bool once = (add_poller({.advance =
                                            [] {
                                              ++polled;
                                              advance();
                                            }}),
                            true);
  ASSERT_TRUE(once);
  polled = 0;
  advance();
  EXPECT_EQ(polled, 1);
}

TEST(Pollers, TheLibrarysCallbackPollsOnlyWhileSomethingIsUnderWay) {
  polled = 0;
  advance_from_library();
  EXPECT_EQ(polled, 0);
  under_way();
  advance_from_library();
  none_under_way();
  EXPECT_EQ(polled, 1);
}

}  // namespace
}  // namespace hob::mpi
