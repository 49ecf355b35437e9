// What hits are said to have saved.
#include "gets/savings.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "gets/request_groups.hpp"

namespace hob::gets {
namespace {

class Saved : public testing::Test {
 protected:
  void lone(int waits, std::uint64_t spent, std::uint64_t issue = 0) {
    for (int i = 0; i < waits; ++i)
      savings.waited({.gets = 1, .bytes = 8, .issue = issue, .spent = spent});
  }
  void bursts(int waits, std::uint64_t gets, std::uint64_t spent) {
    for (int i = 0; i < waits; ++i)
      savings.waited({.gets = gets, .bytes = 8 * gets, .spent = spent});
  }
  void large(int waits, std::uint64_t bytes, std::uint64_t spent) {
    for (int i = 0; i < waits; ++i) savings.waited({.gets = 1, .bytes = bytes, .spent = spent});
  }

  HitCost hit{50, 0};
  Savings savings{{.late = 100'000, .late_per_byte = 10}, hit};
};

TEST_F(Saved, NothingIsKnownOfTooFewWaits) {
  EXPECT_FALSE(savings.estimate({.trips = 1000, .hits = 1000}).known);
  EXPECT_EQ(savings.typical_trip(), 0u);
  lone(2, 1000);
  EXPECT_FALSE(savings.estimate({.trips = 1000, .hits = 1000}).known);
  lone(1, 1000);
  EXPECT_TRUE(savings.estimate({.trips = 1000, .hits = 1000}).known);
}

TEST_F(Saved, NorOfFewThatAreFarApart) {
  for (const unsigned spent : {1000, 5000, 70'000}) lone(1, spent);
  EXPECT_FALSE(savings.estimate({.trips = 1000, .hits = 1000}).known);
}

TEST_F(Saved, AWaitForEachThatWasSparedWithoutWhatHitsTook) {
  lone(30, 1000);
  const pay::SavedRange saved = savings.estimate({.trips = 100, .hits = 100});
  EXPECT_EQ(saved.usual, 95'000);
  EXPECT_EQ(saved.least, 95'000);
  EXPECT_EQ(saved.most, 95'000);
  EXPECT_EQ(savings.typical_trip(), 1000u);
  EXPECT_EQ(savings.estimate({.trips = 1, .hits = 200}).usual, 0);
}

TEST_F(Saved, LateTargetsAreNoPrice) {
  lone(25, 40'000'000);  // it computes
  lone(6, 1000);
  EXPECT_EQ(savings.estimate({.trips = 100, .hits = 100}).most, 95'000);
}

TEST_F(Saved, AFirstLateWaitIsTooFew) {
  lone(1, 40'000'000);
  EXPECT_FALSE(savings.estimate({.trips = 10'000, .hits = 10'000}).known);
}

TEST_F(Saved, NothingIsKnownOfTargetsThatAreAlwaysLate) {
  lone(100, 4'000'000);
  EXPECT_FALSE(savings.estimate({.trips = 1, .hits = 1}).known);
}

TEST_F(Saved, LargeGetsSayNothingOfSmallOnes) {
  large(10, 65'536, 32'768);
  EXPECT_FALSE(savings.estimate({.trips = 100, .hits = 100, .bytes = 800}).known);
}

TEST_F(Saved, SomeTimelyWaitsAreEnough) {
  lone(7, 1000);
  lone(7, 4'000'000);
  EXPECT_FALSE(savings.enough());
  lone(1, 1000);
  EXPECT_TRUE(savings.enough());
}

TEST_F(Saved, ASpreadBecomesARange) {
  for (int i = 0; i < 10; ++i) {
    lone(1, 1000);
    lone(1, 2000);
    lone(1, 4000);
  }
  const pay::SavedRange saved = savings.estimate({.trips = 100, .hits = 100});
  EXPECT_EQ(saved.least, 95'000);
  EXPECT_EQ(saved.usual, 195'000);
  EXPECT_EQ(saved.most, 395'000);
}

TEST_F(Saved, OthersBeforeTheSameWaitSaveABurstsShare) {
  lone(10, 10'000);
  bursts(10, 64, 10'000 + 63 * 1000);
  EXPECT_EQ(savings.estimate({.trips = 1, .hits = 64}).usual, 10'000 + 63 * 1000 - 64 * 50);
  // Of a burst of which one get was missing, the wait is not spared.
  EXPECT_EQ(savings.estimate({.trips = 0, .hits = 63}).usual, 63 * 1000 - 63 * 50);
}

TEST_F(Saved, WhereOnlyBurstsAreKnownAGetIsAShareOfThem) {
  bursts(10, 64, 64'000);
  EXPECT_EQ(savings.estimate({.trips = 1, .hits = 64}).usual, 64'000 - 64 * 50);
}

TEST_F(Saved, WhereNoBurstIsKnownIssuingAGetIsTheLeastThatItTakes) {
  lone(10, 10'000, 2000);
  EXPECT_EQ(savings.estimate({.trips = 1, .hits = 11}).usual, 10'000 + 10 * 2000 - 11 * 50);
}

TEST_F(Saved, WhatGetsTakeInBatchesIsNotWhatTheyTakeWithout) {
  lone(10, 10'000, 2000);
  bursts(10, 64, 10'000 + 63 * 100);
  EXPECT_EQ(savings.estimate({.trips = 1, .hits = 11, .native_each = 6000}).usual,
            10'000 + 10 * 6000 - 11 * 50);
}

TEST_F(Saved, BytesCountWhereTheirCostIsKnown) {
  lone(10, 1000);
  const Savings::Counts counts{.trips = 1, .hits = 1, .bytes = 4000, .ahead_bytes = 1000};
  EXPECT_EQ(savings.estimate(counts).usual, 950);
  large(10, 10'000, 6000);
  EXPECT_EQ(savings.estimate(counts).usual, 950 + 2000 - 500);
}

TEST_F(Saved, LargeGetsAloneAreTheirBytes) {
  large(10, 65'536, 65'536 / 2);
  const Savings::Counts counts{.trips = 100, .hits = 100, .bytes = 100 * 65'536};
  EXPECT_EQ(savings.estimate(counts).usual, 100 * 65'536 / 2 - 100 * 50);
}

TEST_F(Saved, NothingIsSaidOfNearTargets) {
  lone(30, 300);
  lone(10, 150);  // of bytes that had been touched before
  const pay::SavedRange saved = savings.estimate({.trips = 100, .hits = 100});
  EXPECT_TRUE(saved.known);
  EXPECT_EQ(saved.most, 0);
  hit.set(10, hit.ticks_per_byte());
  EXPECT_GT(savings.estimate({.trips = 100, .hits = 100}).usual, 10'000);
}

TEST_F(Saved, NorOfLargeGetsFromThem) {
  hit.set(hit.ticks(), 0.1);
  large(30, 65'536, 65'536 * 3 / 10);
  EXPECT_EQ(savings.estimate({.trips = 100, .hits = 100, .bytes = 6'553'600}).most, 0);
}

TEST_F(Saved, NorOfLargeGetsOnOneNode) {
  savings = Savings({.one_node = true}, hit);
  large(30, 65'536, 65'536);
  EXPECT_EQ(savings.estimate({.trips = 100, .hits = 100, .bytes = 6'553'600}).most, 0);
}

TEST_F(Saved, LaterWaitsAreSampledToo) {
  lone(100, 1000);
  lone(100'000, 3000);
  EXPECT_EQ(savings.typical_trip(), 3000u);
}

TEST(RequestGroups, AGetIntoTheFirstBufferAgainBeginsTheNext) {
  RequestGroups groups;
  const std::array<long, 3> into{};
  for (int round = 0; round < 4; ++round)
    for (const long& place : into) groups.add(&place, round != 1 || &place != &into[1]);
  EXPECT_EQ(groups.spared(), 2u) << "one had to wait, and nobody knows of the last";
  groups.add(&into[1], true);
  EXPECT_EQ(groups.spared(), 2u);
}

TEST(RequestGroups, WaitsForSeveralCountOnce) {
  RequestGroups groups;
  int a = 0, b = 0;
  groups.add(&a, false);
  groups.add(&b, false);
  EXPECT_TRUE(groups.waited());
  EXPECT_FALSE(groups.waited()) << "the second one was issued before the first wait";
  groups.add(&a, true);
  EXPECT_TRUE(groups.waited());
}

TEST(RequestGroups, AFlushCountsByItself) {
  RequestGroups groups;
  const long into = 0;
  for (int i = 0; i < 4; ++i) {
    groups.add(&into, true);
    groups.complete();
  }
  EXPECT_EQ(groups.spared(), 0u);
}

}  // namespace
}  // namespace hob::gets
