#include "ghost/waiting.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "ghost/timeline.hpp"
#include "pay/yield_predictor.hpp"

namespace hob::ghost {
namespace {

using Step = Waiting::Step;

TEST(Waiting, BacksOffAndComesBack) {
  Waiting waiting({1000, 2000, 5000, 0});
  waiting.worked(10'000);
  EXPECT_EQ(waiting.idle(10'500), Step::spin);
  EXPECT_EQ(waiting.idle(11'500), Step::yield);
  EXPECT_EQ(waiting.idle(13'500), Step::block);
  waiting.worked(14'000);
  EXPECT_EQ(waiting.idle(14'001), Step::spin);
}

TEST(Waiting, Styles) {
  const auto step = [](WaitStyle style, std::uint64_t idle) {
    Waiting waiting(Waiting::config_for(style));
    waiting.worked(0);
    return waiting.idle(idle);
  };
  constexpr std::uint64_t second = 1'000'000'000;
  EXPECT_EQ(step(WaitStyle::spin, second), Step::spin);
  EXPECT_EQ(step(WaitStyle::yield, second), Step::yield);
  EXPECT_EQ(step(WaitStyle::block, 0), Step::block);
  EXPECT_EQ(step(WaitStyle::eager, 10'000), Step::spin);
  EXPECT_EQ(step(WaitStyle::eager, second), Step::block);
  EXPECT_EQ(step(WaitStyle::shared, 10'000), Step::yield);
  EXPECT_EQ(step(WaitStyle::shared, second), Step::block);
}

/// How long it took says whether somebody took the core.
void yielded(YieldPredictor& predictor, std::uint64_t begin, std::uint64_t end) {
  predictor.yielded(begin, end, [] {
    ADD_FAILURE() << "nothing to ask the system for";
    return std::uint64_t{0};
  });
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
  Waiting waiting(Waiting::config_for(WaitStyle::shared));
  waiting.worked(1'000'000);
  EXPECT_EQ(waiting.idle(11'000'000), Step::block);
  EXPECT_TRUE(waiting.may_stay_awake(11'000'000));
  EXPECT_FALSE(waiting.may_stay_awake(61'000'000));
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

std::vector<std::uint64_t> vain_sleeps(Patience& patience, int count) {
  std::vector<std::uint64_t> ms;
  for (int i = 0; i < count; ++i) {
    ms.push_back(patience.next(100 * kMs) / kMs);
    patience.slept(100 * kMs, false, false);
  }
  return ms;
}

TEST(Patience, IsShortUntilASocketHasAnnouncedAMessage) {
  Patience patience({.first_ns = 2 * kMs, .unproven_ns = 8 * kMs});
  EXPECT_EQ(vain_sleeps(patience, 5), (std::vector<std::uint64_t>{2, 4, 8, 8, 8}));
  patience.message();  // nothing announced it
  patience.slept(100 * kMs, true, false);
  patience.message();  // a neighbour did
  EXPECT_EQ(vain_sleeps(patience, 4), (std::vector<std::uint64_t>{2, 4, 8, 8}));
  patience.slept(100 * kMs, true, true);
  patience.begin();
  patience.message();  // it was here before the next sleep
  EXPECT_EQ(vain_sleeps(patience, 4), (std::vector<std::uint64_t>{2, 4, 8, 8}));
  patience.slept(100 * kMs, true, true);
  patience.message();
  EXPECT_EQ(vain_sleeps(patience, 8), (std::vector<std::uint64_t>{2, 4, 8, 16, 32, 64, 100, 100}));
}

TEST(Patience, KeepsTheLongestSleepThatItIsGiven) {
  Patience patience({.first_ns = 2 * kMs, .unproven_ns = 8 * kMs});
  EXPECT_EQ(patience.next(kMs), kMs);
  patience.slept(kMs, false, false);
  EXPECT_EQ(patience.next(kMs), kMs);
}

TEST(Timeline, KeepsTheSumAsItGrows) {
  Timeline line;
  std::uint64_t sum = 0;
  for (std::uint64_t at = 0; at < 5'000'000'000; at += 7'777'777) {
    line.add(at, at + 1'234'567);
    sum += 1'234'567;
  }
  std::uint64_t kept = 0;
  for (const std::uint64_t ns : line.busy_ns) {
    EXPECT_LE(ns, line.bucket_ns);
    kept += ns;
  }
  EXPECT_EQ(kept, sum);
}

}  // namespace
}  // namespace hob::ghost
