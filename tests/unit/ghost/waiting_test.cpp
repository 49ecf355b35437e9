#include "ghost/waiting.hpp"

#include <gtest/gtest.h>

#include "ghost/timeline.hpp"

namespace hob::ghost {
namespace {

using Step = Waiting::Step;

TEST(Waiting, BacksOffAndComesBack) {
  Waiting waiting({1000, 2000, 5000});
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
  EXPECT_EQ(step(WaitStyle::shared, 10'000), Step::block);
  EXPECT_EQ(step(WaitStyle::shared, second), Step::block);
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
