#include "ghost/waiting.hpp"

#include <gtest/gtest.h>

#include "base/yield_predictor.hpp"
#include "ghost/timeline.hpp"

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

TEST(YieldPredictor, PausesAfterLostTimeSlices) {
  YieldPredictor predictor;
  std::uint64_t now = 1'000'000'000;
  EXPECT_TRUE(predictor.returns_soon(now));
  predictor.yielded(now, now + 10'000);
  EXPECT_TRUE(predictor.taken());
  EXPECT_TRUE(predictor.returns_soon(now + 10'000));
  // Each time slice lost doubles the time until the next try.
  std::uint64_t pause = YieldPredictor::Config().first_pause_ns;
  for (int i = 0; i < 4; ++i, pause *= 2) {
    predictor.yielded(now, now + 3'000'000);
    now += 3'000'000;
    EXPECT_FALSE(predictor.returns_soon(now + pause - 1));
    now += pause;
    EXPECT_TRUE(predictor.returns_soon(now));
  }
  for (int i = 0; i < 30; ++i) predictor.yielded(now, now + 3'000'000);
  EXPECT_TRUE(predictor.returns_soon(now + 2 * YieldPredictor::Config().longest_pause_ns));
  // After many that came back soon, one time slice does not count.
  now += 2 * YieldPredictor::Config().longest_pause_ns;
  for (int i = 0; i < 1000; ++i) predictor.yielded(now, now + 5'000);
  predictor.yielded(now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_TRUE(predictor.returns_soon(now));
  predictor.yielded(now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_FALSE(predictor.returns_soon(now + YieldPredictor::Config().first_pause_ns - 1));
  EXPECT_TRUE(predictor.returns_soon(now + YieldPredictor::Config().first_pause_ns));
}

TEST(YieldPredictor, ToleratesOutliers) {
  YieldPredictor::Config config;
  config.tolerated_outliers = 16;
  YieldPredictor predictor(config);
  const auto trusts_after = [&](int good) {
    for (int i = 0; i < 10; ++i) predictor.yielded(0, 3'000'000);
    for (int i = 0; i < good; ++i) predictor.yielded(0, 5'000);
    predictor.yielded(0, 1'000'000'000);
    return predictor.returns_soon(1'000'000'000);
  };
  EXPECT_FALSE(trusts_after(15));
  EXPECT_TRUE(trusts_after(16));
}

TEST(YieldPredictor, KnowsIdleCorunners) {
  YieldPredictor predictor;
  EXPECT_FALSE(predictor.corunners_idle());
  predictor.yielded(0, 4'000);  // taken for a look
  EXPECT_TRUE(predictor.corunners_idle());
  for (const std::uint64_t once : {300, 50'000}) {  // by nobody, by an interrupt
    predictor.yielded(0, once);
    EXPECT_TRUE(predictor.corunners_idle());
    predictor.yielded(0, 4'000);
  }
  for (int i = 0; i < 3; ++i) predictor.yielded(0, 300);
  EXPECT_TRUE(predictor.corunners_idle());
  predictor.yielded(0, 300);  // nobody is left
  EXPECT_FALSE(predictor.corunners_idle());
  predictor.yielded(0, 4'000);
  for (int i = 0; i < 4; ++i) predictor.yielded(0, 100'000);  // for work
  EXPECT_FALSE(predictor.corunners_idle());
  predictor.yielded(0, 4'000);
  EXPECT_TRUE(predictor.corunners_idle());
  predictor.yielded(0, 3'000'000);  // a time slice, by somebody who computes
  EXPECT_FALSE(predictor.corunners_idle());
  Waiting waiting(Waiting::config_for(WaitStyle::shared));
  waiting.worked(1'000'000);
  EXPECT_EQ(waiting.idle(11'000'000), Step::block);
  EXPECT_TRUE(waiting.may_stay_awake(11'000'000));
  EXPECT_FALSE(waiting.may_stay_awake(61'000'000));
}

TEST(YieldPredictor, SparesYieldsThatNobodyTakes) {
  YieldPredictor predictor;
  for (unsigned turn = 0; turn < 16; ++turn) {
    EXPECT_TRUE(predictor.due(turn));
    predictor.yielded(0, 300);
  }
  unsigned due = 0;
  for (unsigned turn = 0; turn < 80; ++turn) due += predictor.due(turn);
  EXPECT_EQ(due, 10U);
  predictor.yielded(0, 5'000);
  EXPECT_TRUE(predictor.due(1));
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
