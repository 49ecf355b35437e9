#include "ghost/waiting.hpp"

#include <gtest/gtest.h>

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

TEST(Courtesy, DistrustsWhoKeepsTheCore) {
  Courtesy courtesy;
  std::uint64_t now = 1'000'000'000;
  EXPECT_TRUE(courtesy.returned_soon(now));
  courtesy.gave(now, now + 10'000);
  EXPECT_TRUE(courtesy.taken());
  EXPECT_TRUE(courtesy.returned_soon(now + 10'000));
  // Each time slice lost doubles the time until the next try.
  std::uint64_t pause = Courtesy::first_pause_ns;
  for (int i = 0; i < 4; ++i, pause *= 2) {
    courtesy.gave(now, now + 3'000'000);
    now += 3'000'000;
    EXPECT_FALSE(courtesy.returned_soon(now + pause - 1));
    now += pause;
    EXPECT_TRUE(courtesy.returned_soon(now));
  }
  for (int i = 0; i < 30; ++i) courtesy.gave(now, now + 3'000'000);
  EXPECT_TRUE(courtesy.returned_soon(now + 2 * Courtesy::last_pause_ns));
  // Good manners are rewarded.
  now += 2 * Courtesy::last_pause_ns;
  for (int i = 0; i < 1000; ++i) courtesy.gave(now, now + 5'000);
  courtesy.gave(now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_TRUE(courtesy.returned_soon(now));
  courtesy.gave(now, now + 3'000'000);
  now += 3'000'000;
  EXPECT_FALSE(courtesy.returned_soon(now + Courtesy::first_pause_ns - 1));
  EXPECT_TRUE(courtesy.returned_soon(now + Courtesy::first_pause_ns));
}

TEST(Courtesy, ForgivesAsSoonAsIsWanted) {
  Courtesy courtesy(16);
  const auto trusts_after = [&](int good) {
    for (int i = 0; i < 10; ++i) courtesy.gave(0, 3'000'000);
    for (int i = 0; i < good; ++i) courtesy.gave(0, 5'000);
    courtesy.gave(0, 1'000'000'000);
    return courtesy.returned_soon(1'000'000'000);
  };
  EXPECT_FALSE(trusts_after(15));
  EXPECT_TRUE(trusts_after(16));
}

TEST(Courtesy, KeepsCompanyWithWhoWaitsToo) {
  Courtesy courtesy;
  EXPECT_FALSE(courtesy.company());
  courtesy.gave(0, 4'000);  // taken for a look
  EXPECT_TRUE(courtesy.company());
  for (const std::uint64_t once : {300, 50'000}) {  // by nobody, by an interrupt
    courtesy.gave(0, once);
    EXPECT_TRUE(courtesy.company());
    courtesy.gave(0, 4'000);
  }
  for (int i = 0; i < 3; ++i) courtesy.gave(0, 300);
  EXPECT_TRUE(courtesy.company());
  courtesy.gave(0, 300);  // nobody is left
  EXPECT_FALSE(courtesy.company());
  courtesy.gave(0, 4'000);
  for (int i = 0; i < 4; ++i) courtesy.gave(0, 100'000);  // for work
  EXPECT_FALSE(courtesy.company());
  courtesy.gave(0, 4'000);
  EXPECT_TRUE(courtesy.company());
  courtesy.gave(0, 3'000'000);  // a time slice, by somebody who computes
  EXPECT_FALSE(courtesy.company());
  Waiting waiting(Waiting::config_for(WaitStyle::shared));
  waiting.worked(1'000'000);
  EXPECT_EQ(waiting.idle(11'000'000), Step::block);
  EXPECT_TRUE(waiting.sociable(11'000'000));
  EXPECT_FALSE(waiting.sociable(61'000'000));
}

TEST(Courtesy, SparesGiftsThatNobodyTakes) {
  Courtesy courtesy;
  for (unsigned turn = 0; turn < 16; ++turn) {
    EXPECT_TRUE(courtesy.due(turn));
    courtesy.gave(0, 300);
  }
  unsigned due = 0;
  for (unsigned turn = 0; turn < 80; ++turn) due += courtesy.due(turn);
  EXPECT_EQ(due, 10U);
  courtesy.gave(0, 5'000);
  EXPECT_TRUE(courtesy.due(1));
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
