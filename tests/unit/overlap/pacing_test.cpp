#include "overlap/pacing.hpp"

#include <gtest/gtest.h>

namespace hob::overlap {
namespace {

constexpr std::uint64_t kUs = 1000;

PacingConfig config(double share) {
  return {
      .shortest_ns = 50 * kUs, .longest_ns = 800 * kUs, .allowance_ns = 100 * kUs, .share = share};
}

TEST(Pacing, RestsGrowWhileLooksAreInVainAndShrinkWhenOneIsNot) {
  Pacing pacing(config(1), 0);
  std::uint64_t now = 0;
  for (const std::uint64_t expected : {50, 100, 200, 400, 800, 800})
    EXPECT_EQ(pacing.polled(false, kUs, now += 1000 * kUs), expected * kUs);
  EXPECT_EQ(pacing.polled(true, kUs, now += kUs), 50 * kUs);
  EXPECT_EQ(pacing.polled(false, kUs, now += kUs), 50 * kUs);
  EXPECT_EQ(pacing.polled(false, kUs, now += kUs), 100 * kUs);
  pacing.begin();
  EXPECT_EQ(pacing.polled(false, kUs, now += kUs), 50 * kUs);
}

TEST(Pacing, RestsGrowFasterWhereSomethingElseWakes) {
  PacingConfig event_driven = config(1);
  event_driven.longest_event_driven_ns = 5000 * kUs;
  Pacing pacing(event_driven, 0);
  std::uint64_t now = 0;
  for (const std::uint64_t expected : {50, 200, 800, 3200, 5000, 5000})
    EXPECT_EQ(pacing.polled(false, kUs, now += 1000 * kUs, true), expected * kUs);
  EXPECT_EQ(pacing.polled(true, kUs, now += kUs, true), 50 * kUs);
}

TEST(Pacing, WhoWaitsForWhatItStartsIsLookedAtEverLaterAndWhoComputesAtOnce) {
  PacingConfig both = config(1);
  both.longest_inside_ns = 1000 * kUs;
  Pacing pacing(both, 0);
  std::uint64_t now = 0;
  const auto first_rest = [&] {
    pacing.begin();
    return pacing.polled(false, kUs, now += 1000 * kUs) / kUs;
  };
  for (const std::uint64_t expected : {50, 50, 100, 200, 400, 800, 1000, 1000}) {
    pacing.inside_again();
    EXPECT_EQ(first_rest(), expected);
  }
  for (int i = 0; i < 100; ++i) pacing.inside_again();
  EXPECT_EQ(first_rest(), 1000u);
  pacing.outside();
  EXPECT_EQ(first_rest(), 50u);
}

TEST(Pacing, VainLooksKeepTheShare) {
  Pacing pacing(config(0.03), 0);
  std::uint64_t now = 0, spent = 0;
  while (now < 10'000'000 * kUs) {
    spent += 5 * kUs;
    pacing.begin();  // new things all the time: rests are as short as they may be
    now += 5 * kUs;
    now += pacing.polled(false, 5 * kUs, now);
  }
  EXPECT_LE(static_cast<double>(spent), 0.0301 * static_cast<double>(now) + 100 * kUs);
  EXPECT_GE(static_cast<double>(spent), 0.02 * static_cast<double>(now));
}

InsidePacing inside_pacing() {
  return InsidePacing({.rest = 500 * kUs, .left_rest = 150 * kUs, .longest = 2000 * kUs});
}

TEST(InsidePacing, RestsAreAPartOfTheStay) {
  InsidePacing pacing = inside_pacing();
  std::uint64_t now = kUs;
  EXPECT_EQ(pacing.inside(false, now), 500 * kUs);
  EXPECT_EQ(pacing.inside(false, now + 4000 * kUs), 1000 * kUs);
  EXPECT_EQ(pacing.inside(true, now + 4000 * kUs), 150 * kUs);
  EXPECT_EQ(pacing.inside(false, now + 100'000 * kUs), 2000 * kUs);
  EXPECT_EQ(pacing.inside(true, now + 100'000 * kUs), 150 * kUs);
  pacing.outside();
  EXPECT_EQ(pacing.inside(true, now + 200'000 * kUs), 150 * kUs);
  EXPECT_EQ(pacing.inside(false, now + 200'100 * kUs), 500 * kUs);
}

TEST(InsidePacing, PollsOfALongStayAreFew) {
  InsidePacing pacing = inside_pacing();
  std::uint64_t now = kUs;
  int polls = 0;
  for (; now < 1'000'000 * kUs; ++polls) now += pacing.inside(false, now);
  EXPECT_LE(polls, 515);
}

TEST(Pacing, UsefulPollsCostNothing) {
  Pacing pacing(config(0.01), 0);
  std::uint64_t now = 0;
  for (int i = 0; i < 1000; ++i) {
    now += 500 * kUs;
    EXPECT_EQ(pacing.polled(true, 500 * kUs, now), 50 * kUs);
  }
  EXPECT_FALSE(pacing.exhausted());
}

TEST(Pacing, WithoutAShareItRestsAsLongAsItCan) {
  Pacing pacing(config(0), 0);
  std::uint64_t now = 0;
  for (int i = 0; i < 100; ++i) now += pacing.polled(false, 10 * kUs, now);
  EXPECT_TRUE(pacing.exhausted());
  EXPECT_EQ(pacing.polled(false, 10 * kUs, now), 800 * kUs);
}

TEST(PollMeter, TellsLongPollsFromEmptyOnes) {
  PollMeter meter;
  EXPECT_FALSE(meter.moved(400));
  EXPECT_FALSE(meter.moved(420));
  EXPECT_FALSE(meter.moved(900)) << "twice as long, but no microsecond longer";
  EXPECT_TRUE(meter.moved(12'000));
  EXPECT_FALSE(meter.moved(390));
  EXPECT_LE(meter.empty_ns(), 390u);
}

TEST(PollMeter, AFirstPollThatMovesMegabytesMovedSomething) {
  PollMeter meter;
  EXPECT_TRUE(meter.moved(900'000));
  EXPECT_FALSE(meter.moved(2000));
}

TEST(PollMeter, FollowsAMachineThatBecomesSlower) {
  PollMeter meter;
  meter.moved(400);
  bool moved = true;
  for (int i = 0; i < 10'000 && moved; ++i) moved = meter.moved(3000);
  EXPECT_FALSE(moved);
}

}  // namespace
}  // namespace hob::overlap
