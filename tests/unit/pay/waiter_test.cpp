#include "pay/waiter.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "pay/yield_predictor.hpp"

namespace hob {
namespace {

using Step = Waiter::Step;

/// How long it took says whether somebody took the core.
void yielded(YieldPredictor& predictor, std::uint64_t begin, std::uint64_t end) {
  predictor.yielded(begin, end, [] {
    ADD_FAILURE() << "nothing to ask the system for";
    return std::uint64_t{0};
  });
}

TEST(Waiter, PollsThenYieldsThenSleepsUntilThereIsSomethingToDo) {
  Waiter waiter({.poll_ns = 1000, .yield_ns = 2000, .sleep_ns = 5000});
  waiter.worked(10'000);
  EXPECT_EQ(waiter.next(10'500), Step::poll);
  EXPECT_EQ(waiter.next(11'500), Step::yield);
  EXPECT_EQ(waiter.next(13'500), Step::sleep);
  waiter.worked(14'000);
  EXPECT_EQ(waiter.next(14'001), Step::poll);
}

TEST(Waiter, YieldsBeforeItsTimeWhereTheCoreComesBackSoon) {
  Waiter waiter({.poll_ns = 1'000'000, .yields_early = true});
  waiter.begin(0);
  EXPECT_EQ(waiter.next(1), Step::yield);
  yielded(waiter.yields(), 1, 300'001);
  EXPECT_EQ(waiter.next(300'001), Step::poll);
  EXPECT_EQ(waiter.next(1'000'001), Step::yield);
}

TEST(Waiter, DoesNotSleepWhereNothingWouldWakeIt) {
  Waiter waiter({.sleep_ns = 5000});
  waiter.begin(0);
  EXPECT_EQ(waiter.next(1), Step::sleep);
  EXPECT_EQ(waiter.next(1, false), Step::yield);
  Waiter never({.poll_ns = 1000});
  never.begin(0);
  EXPECT_EQ(never.next(Waiter::kForEver), Step::yield);
}

TEST(Waiter, PollsBeforeItsFirstSleep) {
  Waiter waiter({.sleep_ns = 5000, .polls_before_sleep = 2});
  for (int wait = 0; wait < 2; ++wait) {
    waiter.begin(0);
    for (const Step step : {Step::poll, Step::poll, Step::sleep, Step::sleep})
      EXPECT_EQ(waiter.next(1), step);
  }
}

TEST(Waiter, SleepsWhereYieldsCostTimeSlices) {
  Waiter waiter({.yield_ns = 1'000'000'000, .sleep_ns = 5000});
  waiter.begin(0);
  EXPECT_EQ(waiter.next(1), Step::yield);
  yielded(waiter.yields(), 1, 3'000'001);
  EXPECT_EQ(waiter.next(3'000'001), Step::sleep);
  EXPECT_EQ(waiter.next(3'000'001, false), Step::yield);
  EXPECT_EQ(waiter.next(999'000'000), Step::yield);  // is tried again
}

TEST(Waiter, YieldsLessOftenWhereNobodyTakesTheCore) {
  Waiter waiter({.yield_ns = 1000});
  waiter.begin(0);
  for (int i = 0; i < 16; ++i) yielded(waiter.yields(), 0, 300);
  int yields = 0;
  for (int i = 0; i < 80; ++i) yields += waiter.next(1) == Step::yield ? 1 : 0;
  EXPECT_EQ(yields, 10);
}

TEST(Waiter, StaysAwakeForAWhileAmongIdleCorunners) {
  Waiter waiter({.yield_ns = 1000, .sleep_ns = 5000, .idle_corunners_ns = 50'000'000});
  waiter.worked(1'000'000);
  EXPECT_EQ(waiter.next(11'000'000), Step::sleep);
  yielded(waiter.yields(), 0, 4'000);  // taken for a look
  EXPECT_EQ(waiter.next(11'000'000), Step::yield);
  EXPECT_TRUE(waiter.shares_core(11'000'000));
  EXPECT_EQ(waiter.next(61'000'000), Step::sleep);
}

TEST(YieldPredictor, PausesAfterLostTimeSlices) {
  YieldPredictor predictor;
  std::uint64_t now = 1'000'000'000;
  EXPECT_TRUE(predictor.returns_soon(now));
  yielded(predictor, now, now + 10'000);
  EXPECT_TRUE(predictor.taken());
  EXPECT_TRUE(predictor.returns_soon(now + 10'000));
  // Each time slice lost doubles the time until the next try.
  std::uint64_t pause = YieldPredictor::Config().first_pause_ns;
  for (int i = 0; i < 4; ++i, pause *= 2) {
    yielded(predictor, now, now + 3'000'000);
    now += 3'000'000;
    EXPECT_FALSE(predictor.returns_soon(now + pause - 1));
    now += pause;
    EXPECT_TRUE(predictor.returns_soon(now));
  }
  for (int i = 0; i < 30; ++i) yielded(predictor, now, now + 3'000'000);
  EXPECT_TRUE(predictor.returns_soon(now + 2 * YieldPredictor::Config().longest_pause_ns));
  // After many that came back soon, one time slice does not count.
  now += 2 * YieldPredictor::Config().longest_pause_ns;
  for (int i = 0; i < 1000; ++i) yielded(predictor, now, now + 5'000);
  yielded(predictor, now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_TRUE(predictor.returns_soon(now));
  yielded(predictor, now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_FALSE(predictor.returns_soon(now + YieldPredictor::Config().first_pause_ns - 1));
  EXPECT_TRUE(predictor.returns_soon(now + YieldPredictor::Config().first_pause_ns));
}

TEST(YieldPredictor, ToleratesOutliers) {
  YieldPredictor::Config config;
  config.tolerated_outliers = 16;
  YieldPredictor predictor(config);
  const auto trusts_after = [&](int good) {
    for (int i = 0; i < 10; ++i) yielded(predictor, 0, 3'000'000);
    for (int i = 0; i < good; ++i) yielded(predictor, 0, 5'000);
    yielded(predictor, 0, 1'000'000'000);
    return predictor.returns_soon(1'000'000'000);
  };
  EXPECT_FALSE(trusts_after(15));
  EXPECT_TRUE(trusts_after(16));
}

TEST(YieldPredictor, KnowsIdleCorunners) {
  YieldPredictor predictor;
  EXPECT_FALSE(predictor.corunners_idle());
  yielded(predictor, 0, 4'000);  // taken for a look
  EXPECT_TRUE(predictor.corunners_idle());
  for (const std::uint64_t once : {300, 50'000}) {  // by nobody, by an interrupt
    yielded(predictor, 0, once);
    EXPECT_TRUE(predictor.corunners_idle());
    yielded(predictor, 0, 4'000);
  }
  for (int i = 0; i < 3; ++i) yielded(predictor, 0, 300);
  EXPECT_TRUE(predictor.corunners_idle());
  yielded(predictor, 0, 300);  // nobody is left
  EXPECT_FALSE(predictor.corunners_idle());
  yielded(predictor, 0, 4'000);
  for (int i = 0; i < 4; ++i) yielded(predictor, 0, 100'000);  // for work
  EXPECT_FALSE(predictor.corunners_idle());
  yielded(predictor, 0, 4'000);
  EXPECT_TRUE(predictor.corunners_idle());
  yielded(predictor, 0, 3'000'000);  // a time slice, by somebody who computes
  EXPECT_FALSE(predictor.corunners_idle());
}

TEST(YieldPredictor, AsksTheSystemWhetherAShortYieldWasVain) {
  YieldPredictor predictor;
  std::uint64_t lost = 7;
  unsigned asked = 0;
  const auto short_yield = [&](bool taken) {
    lost += taken;
    predictor.yielded(0, 1'200, [&] {
      ++asked;
      return lost;
    });
  };
  short_yield(true);  // nothing to compare with yet
  EXPECT_FALSE(predictor.taken());
  short_yield(true);
  EXPECT_TRUE(predictor.taken());
  EXPECT_TRUE(predictor.corunners_idle());
  for (int i = 0; i < 4; ++i) short_yield(false);
  EXPECT_FALSE(predictor.taken());
  EXPECT_FALSE(predictor.corunners_idle());
  EXPECT_EQ(asked, 6U);
  yielded(predictor, 0, 5'000);
  short_yield(false);  // the count changed in the yield before: it says nothing of this one
  EXPECT_FALSE(predictor.taken());
}

TEST(YieldPredictor, SparesYieldsThatNobodyTakes) {
  YieldPredictor predictor;
  for (unsigned turn = 0; turn < 16; ++turn) {
    EXPECT_TRUE(predictor.due(turn));
    yielded(predictor, 0, 300);
  }
  unsigned due = 0;
  for (unsigned turn = 0; turn < 80; ++turn) due += predictor.due(turn);
  EXPECT_EQ(due, 10U);
  yielded(predictor, 0, 5'000);
  EXPECT_TRUE(predictor.due(1));
}

constexpr std::uint64_t kMs = 1'000'000;

std::vector<std::uint64_t> vain_sleeps(SleepTimes& times, int count) {
  std::vector<std::uint64_t> ms;
  for (int i = 0; i < count; ++i) {
    ms.push_back(times.next(100 * kMs) / kMs);
    times.slept(100 * kMs, false, false);
  }
  return ms;
}

TEST(SleepTimes, IsShortUntilASocketHasAnnouncedAMessage) {
  SleepTimes times({.first_ns = 2 * kMs, .unproven_ns = 8 * kMs, .least_proven_ns = 0});
  EXPECT_EQ(vain_sleeps(times, 5), (std::vector<std::uint64_t>{2, 4, 8, 8, 8}));
  times.message();  // nothing announced it
  times.slept(100 * kMs, true, false);
  times.message();  // a neighbour did
  EXPECT_EQ(vain_sleeps(times, 4), (std::vector<std::uint64_t>{2, 4, 8, 8}));
  times.slept(100 * kMs, true, true);
  times.begin();
  times.message();  // it was here before the next sleep
  EXPECT_EQ(vain_sleeps(times, 4), (std::vector<std::uint64_t>{2, 4, 8, 8}));
  times.slept(100 * kMs, true, true);
  times.message();
  EXPECT_EQ(vain_sleeps(times, 8), (std::vector<std::uint64_t>{2, 4, 8, 16, 32, 64, 100, 100}));
}

TEST(SleepTimes, KeepsTheLongestSleepThatItIsGiven) {
  SleepTimes times({.first_ns = 2 * kMs, .unproven_ns = 8 * kMs, .least_proven_ns = 0});
  EXPECT_EQ(times.next(kMs), kMs);
  times.slept(kMs, false, false);
  EXPECT_EQ(times.next(kMs), kMs);
}

TEST(SleepTimes, BeginLongerOnceSocketsAnnounceMessages) {
  SleepTimes times({.first_ns = kMs, .unproven_ns = 8 * kMs, .least_proven_ns = 5 * kMs});
  EXPECT_EQ(times.next(100 * kMs), kMs);
  times.slept(100 * kMs, true, true);
  times.message();
  EXPECT_EQ(times.next(100 * kMs), 5 * kMs);
  EXPECT_EQ(times.next(2 * kMs), 2 * kMs);
}

}  // namespace
}  // namespace hob
