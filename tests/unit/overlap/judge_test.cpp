#include "overlap/judge.hpp"

#include <gtest/gtest.h>

namespace hob::overlap {
namespace {

/// Phases in which waits take so long with help and without. Returns how many were helped.
int play(Judge& judge, int phases, std::uint64_t with, std::uint64_t without) {
  int helped = 0;
  for (int i = 0; i < phases; ++i) {
    const bool helps = judge.begin();
    helped += helps;
    judge.end(1'000'000, helps ? with : without);
  }
  return helped;
}

TEST(Judge, HelpsWhereWaitsGetShorter) {
  Judge judge(false, 1);
  const int helped = play(judge, 10'000, 100, 1000);
  EXPECT_GT(helped, 9'700);
  EXPECT_LT(helped, 9'980) << "one in 128 is left alone in the end";
  EXPECT_FALSE(judge.resting());
  EXPECT_NEAR(static_cast<double>(judge.saved_ns()), 900.0 * helped, 900 * 1100)
      << "a trial that is not decided yet is not counted";
  EXPECT_EQ(judge.helped() + judge.alone(), 10'000u);
}

TEST(Judge, ATrialTakesSomeDozenPhases) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Judge judge(false, seed);
    play(judge, 50, 1000, 1000);
    EXPECT_TRUE(judge.resting()) << seed;
    Judge helps(false, seed);
    play(helps, 50, 100, 1000);
    EXPECT_GT(play(helps, 100, 100, 1000), 70) << seed;
  }
}

TEST(Judge, RanksWithTheSamePhasesLeaveTheSameOnesAlone) {
  Judge one(false, 1), other(false, 1);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(one.begin(), other.begin());
    one.end(1'000'000, 100);
    other.end(1'000'000, 150);
  }
}

TEST(Judge, TriesEverMoreRarelyWhereTheyDoNot) {
  Judge judge(false, 2);
  const int first = play(judge, 10'000, 1000, 1000);
  const int later = play(judge, 100'000, 1000, 1000);
  EXPECT_LT(first, 600);
  EXPECT_LT(later, 400) << "of ten times as many";
  EXPECT_TRUE(judge.resting());
  EXPECT_EQ(judge.saved_ns(), 0u);
}

TEST(Judge, BeginsAgainWhenTheProgramChanges) {
  Judge judge(false, 3);
  play(judge, 2'000, 1000, 1000);
  EXPECT_GT(play(judge, 20'000, 100, 1000), 10'000);
}

TEST(Judge, PhasesWithoutTimeToComputeSayNothing) {
  Judge judge(false, 4);
  for (int i = 0; i < 1000; ++i) {
    judge.begin();
    judge.end(0, 1000);
  }
  EXPECT_EQ(judge.helped() + judge.alone(), 0u);
  EXPECT_FALSE(judge.resting());
}

TEST(Judge, AlwaysHelpsWhenAsked) {
  Judge judge(true, 5);
  EXPECT_EQ(play(judge, 1000, 1000, 100), 1000);
}

}  // namespace
}  // namespace hob::overlap
