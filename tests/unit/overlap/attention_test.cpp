#include "overlap/attention.hpp"

#include <gtest/gtest.h>

namespace hob::overlap {
namespace {

TEST(AttentionTest, PhasesThatLeaveTimeAreAllLookedAt) {
  Attention attention;
  for (int phase = 0; phase < 1000; ++phase) {
    ASSERT_FALSE(attention.passes_over());
    attention.ended(true);
  }
}

/// Starts with nothing under way that were looked at, of so many.
int looked_at(Attention& attention, int starts) {
  int looked = 0;
  for (int start = 0; start < starts; ++start) {
    if (attention.passes_over()) continue;
    ++looked;
    attention.ended(false);
  }
  return looked;
}

TEST(AttentionTest, OfThoseThatLeaveNoneEverFewer) {
  Attention attention;
  EXPECT_EQ(looked_at(attention, Attention::kVainPhases), Attention::kVainPhases);
  EXPECT_FALSE(attention.is_due());
  EXPECT_EQ(looked_at(attention, 128), 0);
  EXPECT_TRUE(attention.is_due());
  looked_at(attention, 100'000);
  EXPECT_LT(looked_at(attention, 100'000), 200);
}

TEST(AttentionTest, OneThatLeavesTimeBringsItBack) {
  Attention attention;
  looked_at(attention, 100'000);
  while (attention.passes_over()) {
  }
  attention.ended(true);
  EXPECT_EQ(looked_at(attention, Attention::kVainPhases), Attention::kVainPhases);
  EXPECT_EQ(looked_at(attention, 128), 0);
  EXPECT_FALSE(attention.passes_over());
}

TEST(AttentionTest, HelpBeginsAfterTheFirstThatLeavesTimeAndEndsSoonWhereNothingIsComputed) {
  Attention attention;
  EXPECT_FALSE(attention.may_help());
  attention.ended(false);
  EXPECT_FALSE(attention.may_help());
  attention.ended(true);
  for (int phase = 0; phase < Attention::kVainHelps; ++phase) {
    EXPECT_TRUE(attention.may_help());
    attention.ended(false);
  }
  EXPECT_FALSE(attention.may_help());
  looked_at(attention, 1000);
  EXPECT_FALSE(attention.may_help());
  attention.ended(true);
  EXPECT_TRUE(attention.may_help());
  attention.ended(false);
  EXPECT_TRUE(attention.may_help());
}

}  // namespace
}  // namespace hob::overlap
