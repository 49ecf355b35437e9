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
  EXPECT_GT(helped, 7'000);
  EXPECT_LT(helped, 8'000) << "one in four is left alone";
  EXPECT_FALSE(judge.resting());
  EXPECT_NEAR(static_cast<double>(judge.saved_ns()), 900.0 * helped, 90'000);
  EXPECT_EQ(judge.helped() + judge.alone(), 10'000u);
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
