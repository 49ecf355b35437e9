// What batches are said to have saved.
#include "batch/saving.hpp"

#include <gtest/gtest.h>

namespace hob::batch {
namespace {

TEST(BatchSaving, NothingIsKnownWithoutBothPrices) {
  Saving saving;
  saving.batched(1000);
  EXPECT_FALSE(saving.estimate().known);
  saving.in_batches(1000, 100'000);
  EXPECT_FALSE(saving.estimate().known);
  saving.natively(16, 16'000);
  EXPECT_TRUE(saving.estimate().known);
}

TEST(BatchSaving, CompletionIsPartOfThePrice) {
  Saving saving;
  saving.issued(500);
  saving.batched(1000);
  saving.in_batches(1000, 100'000);
  EXPECT_EQ(saving.estimate().usual, 400'000) << "the least, as long as nothing else is known";
  EXPECT_EQ(saving.estimate().most, 0);
  saving.natively(16, 16 * 1100);
  EXPECT_EQ(saving.estimate().usual, 1'000'000);
  EXPECT_EQ(saving.native_price(), 1100);
}

TEST(BatchSaving, SamplesThatDifferAreARange) {
  Saving saving;
  saving.batched(100);
  saving.in_batches(100, 10'000);
  for (const unsigned each : {600, 1100}) saving.natively(16, 16 * each);
  const pay::SavedRange saved = saving.estimate();
  EXPECT_EQ(saved.least, 50'000);
  EXPECT_EQ(saved.usual, 50'000);
  EXPECT_EQ(saved.most, 100'000);
}

TEST(BatchSaving, LateTargetsAreNoPrice) {
  Saving saving({.late = 100'000});
  saving.issued(500);
  saving.batched(100);
  saving.in_batches(100, 10'000);
  saving.natively(16, 4'000'000);
  EXPECT_EQ(saving.estimate().usual, 40'000);
}

TEST(BatchSaving, NothingWhereBatchesAreDearer) {
  Saving saving;
  saving.batched(100);
  saving.in_batches(100, 100'000);
  saving.natively(16, 16 * 900);
  EXPECT_TRUE(saving.estimate().known);
  EXPECT_EQ(saving.estimate().most, 0);
}

TEST(SampleBudget, TheFirstIsFreeAndTheOthersWithinAShare) {
  SampleBudget budget(0.01);
  EXPECT_TRUE(budget.allows(0));
  budget.spend(100);
  EXPECT_FALSE(budget.allows(9'999));
  EXPECT_TRUE(budget.allows(10'000));
}

}  // namespace
}  // namespace hob::batch
