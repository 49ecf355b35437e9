#include "heat/phases.hpp"

#include <gtest/gtest.h>

namespace hob::heat {
namespace {

TEST(Phases, HeatsAlwaysUntilAPeriodIsKnown) {
  Phases phases(5, 3);
  EXPECT_TRUE(phases.heat(0));
  phases.active(10);
  EXPECT_TRUE(phases.heat(12));
  EXPECT_TRUE(phases.heat(1000));
  EXPECT_EQ(phases.period(), 0);
}

TEST(Phases, HeatsDuringCommunicationAndShortlyBeforeTheNext) {
  Phases phases(5, 3);
  for (int begin : {0, 100, 200}) {
    for (int now = begin; now < begin + 10; ++now) phases.active(now);
  }
  EXPECT_EQ(phases.period(), 100);
  EXPECT_TRUE(phases.heat(211));   // may still be communicating
  EXPECT_FALSE(phases.heat(215));  // computing
  EXPECT_FALSE(phases.heat(296));
  EXPECT_TRUE(phases.heat(297));   // the next is expected at 300
  EXPECT_TRUE(phases.heat(390));   // it is late
  EXPECT_FALSE(phases.heat(400));  // it is so late that the guess was wrong
  phases.active(500);
  EXPECT_TRUE(phases.heat(501));
}

TEST(Phases, FollowsAChangingPeriod) {
  Phases phases(5, 3);
  for (int i = 0; i < 10; ++i) phases.active(i * 100);
  for (int i = 0; i < 20; ++i) phases.active(1000 + i * 200);
  EXPECT_NEAR(static_cast<double>(phases.period()), 200, 5);
}

}  // namespace
}  // namespace hob::heat
