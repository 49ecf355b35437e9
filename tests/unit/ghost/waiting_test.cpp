#include "ghost/waiting.hpp"

#include <gtest/gtest.h>

#include "ghost/timeline.hpp"

namespace hob::ghost {
namespace {

TEST(Waiting, Styles) {
  using Step = Waiter::Step;
  const auto step = [](WaitStyle style, std::uint64_t idle) {
    Waiter waiter(waiting_of(style));
    waiter.worked(0);
    return waiter.next(idle);
  };
  constexpr std::uint64_t second = 1'000'000'000;
  EXPECT_EQ(step(WaitStyle::spin, second), Step::poll);
  EXPECT_EQ(step(WaitStyle::yield, second), Step::yield);
  EXPECT_EQ(step(WaitStyle::block, 0), Step::sleep);
  EXPECT_EQ(step(WaitStyle::eager, 10'000), Step::poll);
  EXPECT_EQ(step(WaitStyle::eager, second), Step::sleep);
  EXPECT_EQ(step(WaitStyle::shared, 10'000), Step::yield);
  EXPECT_EQ(step(WaitStyle::shared, second), Step::sleep);
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
