// Post, start, complete and wait of windows that ghosts serve: who is notified of what, and who
// waits for whom.
#include "mpi/rma/ghost/pscw.hpp"

#include <gtest/gtest.h>

#include "ghost_job.hpp"

namespace hob::mpi {
namespace {

class PostStart : public test::GhostJob {
 protected:
  using Notified = std::vector<std::pair<int, std::uint32_t>>;

  void SetUp() override {
    GhostJob::SetUp();
    other_ = fake::group_of({test::kThere});
    self_ = fake::group_of({test::kHere});
  }
  void TearDown() override {
    real::Group_free(&other_);
    real::Group_free(&self_);
    GhostJob::TearDown();
  }
  /// What another rank does while this process waits for it.
  void while_it_waits(std::function<void()> happens) {
    waits_ = 0;
    fake::during("Iprobe", [this, happens] {
      if (++waits_ == 3) happens();
    });
  }
  int waits_ = 0;
  MPI_Group other_ = MPI_GROUP_NULL, self_ = MPI_GROUP_NULL;
};

TEST_F(PostStart, AnAccessEpochWaitsForThePostAndTellsItsEnd) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS)
      << "start itself waits for nobody";
  EXPECT_EQ(fake::calls("Iprobe"), 0U);
  while_it_waits([&] { notify(test::kThere, kPost); });
  const std::int64_t value = 4;
  EXPECT_EQ(window.issue(rma::Op::put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_GE(waits_, 3) << "an operation waits until its target has posted";
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_EQ(word_there(0), 4) << "complete at the target before it is notified";
  EXPECT_EQ(take_notified(), (Notified{{test::kThere, kComplete}}));
}

TEST_F(PostStart, AnEpochWithoutOperationsWaitsForItsPostAtTheEnd) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  while_it_waits([&] {
    EXPECT_TRUE(take_notified().empty());
    notify(test::kThere, kPost);
  });
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_GE(waits_, 3);
  EXPECT_EQ(take_notified(), (Notified{{test::kThere, kComplete}}));
}

TEST_F(PostStart, WithNocheckNobodyPostsAndCompletesAreToldAllTheSame) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, MPI_MODE_NOCHECK)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_EQ(take_notified(), (Notified{{test::kThere, kComplete}}));
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, MPI_MODE_NOCHECK)), MPI_SUCCESS);
  EXPECT_TRUE(take_notified().empty());
  notify(test::kThere, kComplete);
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_SUCCESS);
}

TEST_F(PostStart, AnExposureEpochPostsAndWaitsForTheCompletes) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_SUCCESS);
  EXPECT_EQ(take_notified(), (Notified{{test::kThere, kPost}}));
  while_it_waits([&] { notify(test::kThere, kComplete); });
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_SUCCESS);
  EXPECT_GE(waits_, 3);
}

TEST_F(PostStart, ATestIsTrueOnceAllHaveCompleted) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_SUCCESS);
  int flag = -1;
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  notify(test::kThere, kComplete);
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_ERR_RMA_SYNC) << "the epoch has ended";
}

TEST_F(PostStart, PostsThatComeEarlyServeOneEpochEach) {
  GhostBackend& window = this->window();
  notify(test::kThere, kPost);
  notify(test::kThere, kPost);
  for (int epoch = 0; epoch < 2; ++epoch) {
    EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
    EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  }
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  while_it_waits([&] { notify(test::kThere, kPost); });
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_GE(waits_, 3) << "the third epoch has a post of its own";
}

TEST_F(PostStart, MessagesOfOtherWindowsCountForThese) {
  GhostBackend& window = this->window(7);
  notify(test::kThere, kPost, 8);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  while_it_waits([&] { notify(test::kThere, kPost, 7); });
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_GE(waits_, 3);
}

TEST_F(PostStart, TheProcessItselfIsToldWithoutMessages) {
  GhostBackend& window = this->window();
  EXPECT_EQ(window.synchronise(rma::Sync::post(self_, 0)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::start(self_, 0)), MPI_SUCCESS);
  const std::int64_t value = 2;
  EXPECT_EQ(window.issue(rma::Op::put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_SUCCESS);
  EXPECT_EQ(word_here(1), 2);
  EXPECT_EQ(fake::calls("Send"), 0U);
}

TEST_F(PostStart, TheTargetWaitsForTheLastOperationsSoTheyNeedNoAnswer) {
  GhostBackend& window = counting_window();
  keep_answers();  // none is waited for
  notify(test::kThere, kPost);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  const std::int64_t value = 3;
  for (MPI_Aint at = 0; at < 5; ++at)
    EXPECT_EQ(window.issue(rma::Op::put(&value, 1, MPI_LONG, 1, at, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_EQ(window.issue(rma::Op::accumulate(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM)),
            MPI_SUCCESS);
  EXPECT_EQ(server().stats().messages, 0U) << "one message for all of them";
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_EQ(server().stats().messages, 1U);
  EXPECT_EQ(take_notified(), (Notified{{test::kThere, kComplete}}));
  EXPECT_EQ(take_operations(), 6U);
  EXPECT_EQ(target_there().counted.load(), 6U);
  EXPECT_EQ(word_there(0), 6);
}

TEST_F(PostStart, WhatFetchesOrDoesNotFitIsAnswered) {
  GhostBackend& window = counting_window();
  word_there(7) = 70;
  notify(test::kThere, kPost);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  std::int64_t fetched = 0;
  const std::int64_t value = 3;
  const std::vector<std::int64_t> many(kWords, 9);
  EXPECT_EQ(window.issue(rma::Op::put(many.data(), kWords, MPI_LONG, 1, 0, kWords, MPI_LONG)),
            MPI_SUCCESS);
  EXPECT_EQ(window.issue(rma::Op::put(&value, 1, MPI_LONG, 1, 5, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_EQ(window.issue(rma::Op::get(&fetched, 1, MPI_LONG, 1, 7, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  EXPECT_EQ(fetched, 9);
  EXPECT_EQ(word_there(kWords - 1), 9);
  EXPECT_EQ(take_operations(), target_there().counted.load());
}

TEST_F(PostStart, AnExposureEpochEndsWhenAllThatItWasToldOfIsThere) {
  GhostBackend& window = counting_window();
  int flag = -1;
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_SUCCESS);
  notify(test::kThere, kComplete, 7, 2);
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  target_here().counted = 1;
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  while_it_waits([&] { target_here().counted = 2; });
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_SUCCESS);
  EXPECT_GE(waits_, 3);
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_SUCCESS);
  notify(test::kThere, kComplete, 7, 1);
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 0) << "each epoch has operations of its own";
  target_here().counted = 3;
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_SUCCESS);
  EXPECT_EQ(flag, 1);
}

TEST_F(PostStart, MemoryThatGhostsMayFailToReachIsAnswered) {
  GhostBackend& window = this->window();
  notify(test::kThere, kPost);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, 0)), MPI_SUCCESS);
  target_there().size = 0;
  const std::int64_t value = 3;
  EXPECT_EQ(window.issue(rma::Op::put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_ERR_OTHER);
  EXPECT_EQ(take_operations(), 0U);
}

TEST_F(PostStart, EpochsThatAreOpenOrAreNotAreErrors) {
  GhostBackend& window = this->window();
  int flag = 0;
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::test(&flag)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, MPI_MODE_NOCHECK)), MPI_SUCCESS);
  EXPECT_EQ(window.synchronise(rma::Sync::start(other_, MPI_MODE_NOCHECK)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_SUCCESS)
      << "both kinds of epochs may be open at once";
  EXPECT_EQ(window.synchronise(rma::Sync::post(other_, 0)), MPI_ERR_RMA_SYNC);
  EXPECT_EQ(window.synchronise(rma::Sync::complete()), MPI_SUCCESS);
  notify(test::kThere, kComplete);
  EXPECT_EQ(window.synchronise(rma::Sync::wait()), MPI_SUCCESS);
}

}  // namespace
}  // namespace hob::mpi
