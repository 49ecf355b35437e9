#include "batch/burst.hpp"

#include <gtest/gtest.h>

namespace hob::batch {
namespace {

TEST(Burst, GathersALongOneFromTheLimitOn) {
  Burst burst;
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(burst.batches(16));
  EXPECT_TRUE(burst.batches(16));
}

TEST(Burst, GathersFromTheStartAfterALongOne) {
  Burst burst;
  for (int i = 0; i < 20; ++i) burst.batches(16);
  burst.complete();
  EXPECT_TRUE(burst.batches(16));
  burst.complete();
  EXPECT_FALSE(burst.batches(16));
}

TEST(Burst, CompletionsWithoutOperationsSayNothing) {
  Burst burst;
  for (int i = 0; i < 20; ++i) burst.batches(16);
  burst.complete();
  burst.complete();
  EXPECT_TRUE(burst.batches(16));
}

/// Of 10,000 operations: `at_once` are issued before the program waits for their requests, which
/// ends a burst where some are batched. How many are batched.
int batched_of(Burst& burst, int at_once) {
  int all = 0;
  for (int i = 0; i < 10'000; i += at_once) {
    std::size_t now = 0;
    for (int k = 0; k < at_once; ++k) now += burst.batches(16) ? 1 : 0;
    if (now != 0) burst.complete_by_wait(now, 16);
    all += static_cast<int>(now);
  }
  return all;
}

TEST(Burst, WhatIsWaitedForOneByOneIsGatheredEverMoreRarely) {
  Burst burst;
  EXPECT_LE(batched_of(burst, 1), 12);
}

TEST(Burst, WhatIsWaitedForTogetherIsGathered) {
  Burst burst;
  EXPECT_GE(batched_of(burst, 64), 9'900);
  EXPECT_GE(batched_of(burst, 20), 9'900);
}

TEST(Burst, AWaitTellsWhetherItsBatchWasWorthIt) {
  Burst burst;
  EXPECT_FALSE(burst.complete_by_wait(3, 16));
  EXPECT_TRUE(burst.complete_by_wait(4, 16));
}

TEST(Burst, AFlushEndsTheDelay) {
  Burst burst;
  batched_of(burst, 1);
  burst.complete();
  for (int i = 0; i < 20; ++i) burst.batches(16);
  EXPECT_TRUE(burst.batches(16));
}

/// Of 10,000 writes, each of which ends the batch that it is in, how many are batched.
int written_of(Burst& burst, bool awaited) {
  int all = 0;
  for (int i = 0; i < 10'000; ++i) {
    if (!burst.batches(16)) continue;
    ++all;
    burst.sent(1, awaited, 16);
  }
  return all;
}

TEST(Burst, WritesThatAreSentOneByOneAreBatchedOnlyWhereTheirRequestsAreWaitedFor) {
  Burst burst, awaited;
  EXPECT_LE(written_of(burst, false), 48);
  EXPECT_GE(written_of(awaited, true), 9'900);
}

TEST(Burst, AShortBatchNowAndThenIsTheEndOfALongOne) {
  Burst burst;
  for (int i = 0; i < 20; ++i) burst.batches(16);
  for (int i = 0; i < 100; ++i) {
    burst.sent(i % 2 == 0 ? 64 : 1, false, 16);
    EXPECT_TRUE(burst.batches(16));
  }
}

}  // namespace
}  // namespace hob::batch
