#include "validation/incoming.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <vector>

namespace hob::validation {
namespace {

using Range = Incoming::Range;

TEST(IncomingTest, WhatOverlapsExposedMemoryIsFilledUntilToldAfterItsEnd) {
  Incoming incoming;
  incoming.expose(1, {1000, 2000});
  EXPECT_FALSE(incoming.take_filled(1));
  const std::uint64_t fill = incoming.begin({1999, 2500});
  ASSERT_NE(fill, 0u);
  EXPECT_TRUE(incoming.take_filled(1));
  EXPECT_TRUE(incoming.take_filled(1)) << "it is still under way";
  incoming.end(fill);
  EXPECT_TRUE(incoming.take_filled(1)) << "it may have stored since it was notified";
  EXPECT_FALSE(incoming.take_filled(1));
}

TEST(IncomingTest, ACallThatIsOverWhenItIsToldIsToldOnce) {
  Incoming incoming;
  incoming.expose(1, {1000, 2000});
  incoming.end(incoming.begin({1200, 1300}));
  EXPECT_TRUE(incoming.take_filled(1));
  EXPECT_FALSE(incoming.take_filled(1));
  EXPECT_EQ(incoming.fills(), 1u);
}

TEST(IncomingTest, BuffersBesideExposedMemoryAreNot) {
  Incoming incoming;
  incoming.expose(1, {1000, 2000});
  for (const Range& beside :
       {Range{0, 1000}, Range{2000, 3000}, Range{1500, 1500}, Range{1600, 1500}})
    EXPECT_EQ(incoming.begin(beside), 0u) << beside.begin;
  EXPECT_FALSE(incoming.take_filled(1));
}

TEST(IncomingTest, AWindowThatEndedIsForgottenAndANewOneHasNotBeenFilled) {
  Incoming incoming;
  incoming.expose(1, {1000, 2000});
  const std::uint64_t fill = incoming.begin({1000, 1001});
  incoming.hide(1);
  EXPECT_TRUE(incoming.nothing_exposed());
  incoming.expose(2, {1500, 2000});
  EXPECT_FALSE(incoming.take_filled(2));
  incoming.end(fill);
  EXPECT_FALSE(incoming.take_filled(2));
}

TEST(IncomingTest, ACallThatNeverEndsKeepsItsWindowFilled) {
  Incoming incoming;
  incoming.expose(1, {1000, 2000});
  incoming.begin({1000, 1001});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(incoming.take_filled(1));
}

/// Windows that overlap, nest and touch, against looking at each of them.
TEST(IncomingTest, AgreesWithLookingAtEveryWindow) {
  std::mt19937 random(20261126);
  const auto below = [&](unsigned limit) { return static_cast<unsigned>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    Incoming incoming;
    struct Window {
      Range memory;
      bool filled = false;
    };
    std::map<std::uint64_t, Window> windows;
    std::map<std::uint64_t, Range> under_way;
    std::uint64_t next = 1;
    const auto fill = [&](const Range& buffer) {
      bool any = false;
      for (auto& [number, window] : windows)
        if (window.memory.overlaps(buffer)) any = window.filled = true;
      return any;
    };
    for (int step = 0; step < 60; ++step) {
      const std::uintptr_t at = 100 + below(100);
      const Range range{at, at + 1 + below(below(4) == 0 ? 100 : 8)};
      switch (below(5)) {
        case 0:
          incoming.expose(next, range);
          windows[next] = {range};
          for (const auto& [name, buffer] : under_way)
            if (buffer.overlaps(range)) windows[next].filled = true;
          ++next;
          break;
        case 1:
          if (windows.empty()) break;
          incoming.hide(windows.begin()->first);
          windows.erase(windows.begin());
          break;
        case 2: {
          const std::uint64_t name = incoming.begin(range);
          ASSERT_EQ(name != 0, fill(range));
          if (name != 0) under_way[name] = range;
          break;
        }
        case 3:
          if (under_way.empty()) break;
          incoming.end(under_way.begin()->first);
          fill(under_way.begin()->second);
          under_way.erase(under_way.begin());
          break;
        default:
          for (auto& [number, window] : windows) {
            ASSERT_EQ(incoming.take_filled(number), window.filled) << number;
            window.filled = false;
            for (const auto& [name, buffer] : under_way)
              if (buffer.overlaps(window.memory)) window.filled = true;
          }
      }
    }
  }
}

}  // namespace
}  // namespace hob::validation
