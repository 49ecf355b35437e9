#include "batch/trial.hpp"

#include <gtest/gtest.h>

namespace hob::batch {
namespace {

TEST(Trial, GathersWhereABatchCostsLessThanIssuingAlone) {
  Trial trial;
  trial.issued_natively(1000);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(trial.batches());
    trial.complete(true, 64, 64 * 100);
  }
}

TEST(Trial, ComparesWhereThatIsNotCertain) {
  Trial trial;
  trial.issued_natively(50);
  for (std::uint32_t i = 0; i < Trial::kBursts; ++i) {
    ASSERT_TRUE(trial.batches());
    trial.complete(true, 64, 64 * 100);
  }
  for (std::uint32_t i = 0; i < Trial::kBursts; ++i) {
    ASSERT_FALSE(trial.batches());
    trial.complete(false, 64, 64 * 1000);
  }
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(trial.batches());
    trial.complete(true, 64, 64 * 100);
  }
}

TEST(Trial, RestsWhereItLosesAndTriesAgain) {
  Trial trial;
  trial.issued_natively(50);
  std::uint64_t batched = 0;
  std::uint64_t bursts = 0;
  for (; bursts < 100'000; ++bursts) {
    if (trial.batches()) ++batched;
    trial.complete(trial.batches(), 64, 64 * (trial.batches() ? 100 : 60));
  }
  EXPECT_LT(batched, 64u);
  EXPECT_GE(batched, 2 * Trial::kBursts);
}

TEST(Trial, ARiseOfTheBatchPriceIsSeen) {
  Trial trial;
  trial.issued_natively(200);
  for (int i = 0; i < 10; ++i) trial.complete(true, 64, 64 * 100);
  int more = 0;
  while (trial.batches() && more < 1000) {
    trial.complete(true, 64, 64 * 1000);
    ++more;
  }
  EXPECT_LT(more, 10);
}

TEST(Trial, WhatWasNotTimedSaysNothing) {
  Trial trial;
  for (int i = 0; i < 100; ++i) trial.complete(true, 64, 0);
  EXPECT_TRUE(trial.batches());
}

TEST(Trial, BurstsThatTheMachineHeldUpAreNoReasonToCompare) {
  Trial trial;
  trial.issued_natively(1000);
  for (int i = 0; i < 100; ++i) {
    const bool held_up = i % 4 != 3;
    trial.complete(true, 10, held_up ? 10 * 1'000'000 : 10 * 100);
    ASSERT_TRUE(trial.batches());
  }
}

TEST(Trial, WhatALoadedMachineAddsIsNoPriceOfABatch) {
  Trial trial;
  trial.issued_natively(1000);
  for (int i = 0; i < 100; ++i) {
    trial.complete(true, 10, i % 4 == 3 ? 10 * 1'000'000 : 10 * 100);
    EXPECT_EQ(trial.batch_price(), 100);
  }
}

}  // namespace
}  // namespace hob::batch
