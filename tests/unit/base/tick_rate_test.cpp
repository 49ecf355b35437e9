// The rate of a counter, measured by a clock, with the core lost at any moment.
#include "base/tick_rate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <set>

#include "base/clock.hpp"

namespace hob {
namespace {

/// A counter and a clock on which every look takes a while, and some take long.
struct Machine {
  double now = 5e9;  // ns
  double counted = 7e9;
  double rate = 2.1;  ///< of the counter
  double look = 25;   ///< ns
  int looks = 0;
  std::set<int> lost{};  ///< before these looks others have the core ...
  double away = 0;       ///< ... for so long
  int every = 0;         ///< or before each of so many

  void pass(double nanoseconds) {
    now += nanoseconds;
    counted += rate * nanoseconds;
  }
  void before_look() {
    if (lost.contains(looks) || (every != 0 && looks % every == 0)) pass(away);
    ++looks;
    pass(look);
  }
  auto counter() {
    return [this] {
      before_look();
      return static_cast<std::uint64_t>(counted);
    };
  }
  auto clock() {
    return [this] {
      before_look();
      return static_cast<std::uint64_t>(now);
    };
  }
  void calibrate(TickRate& measured) { measured.calibrate(counter(), clock()); }
  void correct(TickRate& measured) { measured.correct(counter(), clock()); }
};

double error_of(const TickRate& measured, double rate) {
  return std::abs(measured.ticks_per_nanosecond() / rate - 1);
}

TEST(TickRate, IsRightWhereTheCoreIsLostBeforeAnyLook) {
  Machine whole;
  TickRate undisturbed;
  whole.calibrate(undisturbed);
  ASSERT_LT(error_of(undisturbed, 2.1), 1e-4);
  for (const double away : {3e4, 1e6, 4e7, 2e9}) {
    for (int at = 0; at < whole.looks; at += at < 60 || at > whole.looks - 60 ? 1 : 97) {
      Machine machine{.lost = {at}, .away = away};
      TickRate measured;
      machine.calibrate(measured);
      EXPECT_LT(error_of(measured, 2.1), 1e-4) << "before look " << at << " for " << away << " ns";
    }
  }
}

TEST(TickRate, WhatPassesAfterAnEarlyLookNeedsNoWait) {
  Machine machine;
  TickRate measured;
  measured.begin(machine.counter(), machine.clock());
  machine.pass(7e7);
  const double before = machine.now;
  machine.calibrate(measured);
  EXPECT_LT(machine.now - before, 5'000) << "a few looks at the clocks";
  EXPECT_LT(error_of(measured, 2.1), 1e-6);
  measured.begin(machine.counter(), machine.clock());
  machine.pass(3e8);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-6) << "a second beginning is none";
}

TEST(TickRate, WhatIsLeftOfTheWaitAfterAnEarlyLookIsWaited) {
  Machine machine;
  TickRate measured;
  const double before = machine.now;
  measured.begin(machine.counter(), machine.clock());
  machine.pass(3e5);
  machine.calibrate(measured);
  EXPECT_GT(machine.now - before, 1e6);
  EXPECT_LT(machine.now - before, 1.1e6);
  EXPECT_LT(error_of(measured, 2.1), 1e-4);
}

TEST(TickRate, IsRightWhereTheCoreIsLostAgainAndAgain) {
  for (const int every : {4, 5, 7, 11, 1000}) {
    Machine machine{.away = 4e6, .every = every};
    TickRate measured;
    machine.calibrate(measured);
    EXPECT_LT(error_of(measured, 2.1), 1e-3) << every;
  }
}

TEST(TickRate, EndsWhereTheCoreIsLostBeforeEachLook) {
  Machine machine{.away = 5e5, .every = 1};
  TickRate measured;
  machine.calibrate(measured);
  EXPECT_LT(error_of(measured, 2.1), 1) << "wrong, but of the right size";
  machine.every = 0;
  machine.pass(1e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-3) << "and right, once there is time";
}

TEST(TickRate, IsTheMorePreciseTheLongerItIsMeasured) {
  Machine machine{.look = 400};
  TickRate measured;
  machine.calibrate(measured);
  double before = 1e-3;
  for (const double seconds : {0.1, 1.0, 10.0}) {
    machine.pass(seconds * 1e9);
    machine.correct(measured);
    EXPECT_LT(error_of(measured, 2.1), before);
    before /= 10;
  }
}

TEST(TickRate, IsMeasuredOverTwiceTheTimeOrNotAtAll) {
  Machine machine;
  TickRate measured;
  machine.calibrate(measured);
  machine.pass(1e9);
  machine.correct(measured);
  const int looks = machine.looks;
  machine.pass(5e8);
  machine.correct(measured);
  EXPECT_EQ(machine.looks, looks + 1);
  machine.pass(6e8);
  machine.correct(measured);
  EXPECT_GT(machine.looks, looks + 2);
}

TEST(TickRate, IsNotSpoiledWhereTheCoreIsLostInACorrection) {
  Machine machine;
  TickRate measured;
  machine.calibrate(measured);
  machine.pass(1e8);
  machine.away = 1e7;
  machine.every = 1;
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-4);
}

TEST(TickRate, FollowsACounterThatChangesItsRate) {
  Machine machine;
  TickRate measured;
  machine.calibrate(measured);
  machine.pass(1e9);
  machine.correct(measured);
  machine.rate = 3.4;
  machine.pass(3e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-4) << "a mean of two rates is none";
  machine.pass(1e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 3.4), 1e-4);
  machine.pass(4e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 3.4), 1e-6);
}

TEST(TickRate, IsTheSameAfterASuspensionThatOnlyOneOfBothCounted) {
  Machine machine;
  TickRate measured;
  machine.calibrate(measured);
  machine.pass(1e9);
  machine.correct(measured);
  machine.counted += 1e12;
  machine.correct(measured);
  machine.pass(2e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-4);
  machine.counted -= 1e12;  // set back, as by a move to another machine
  machine.pass(9e9);
  machine.correct(measured);
  machine.pass(9e9);
  machine.correct(measured);
  EXPECT_LT(error_of(measured, 2.1), 1e-4);
}

TEST(TickRate, TellsTimeThatNeverGoesBack) {
  for (const double look : {20.0, 900.0}) {
    Machine machine{.look = look};
    TickRate measured;
    machine.calibrate(measured);
    std::uint64_t last = 0;
    for (int step = 0; step < 40; ++step) {
      machine.pass(1e6 * (1 << (step % 8)));
      machine.correct(measured);
      // Right before and after the moment at which the new rate begins to hold, too.
      const auto here = static_cast<std::uint64_t>(machine.counted);
      for (std::uint64_t ticks = here; ticks < here + 500'000; ticks += 1'111) {
        const std::uint64_t told = measured.nanoseconds_at(ticks);
        ASSERT_GE(told, last);
        last = told;
      }
      machine.pass(3e5);
    }
  }
}

TEST(TickRate, TellsTheSameTimeForTheSameTicksAfterACorrection) {
  Machine machine{.look = 900};
  TickRate measured;
  machine.calibrate(measured);
  machine.pass(1e9);
  const auto ticks = static_cast<std::uint64_t>(machine.counted);
  const std::uint64_t told = measured.nanoseconds_at(ticks);
  machine.correct(measured);
  EXPECT_EQ(measured.nanoseconds_at(ticks), told);
}

TEST(TickRate, OfTheClockItselfIsOneForEver) {
  Machine machine;
  TickRate measured;
  machine.pass(1e9);
  machine.correct(measured);
  EXPECT_EQ(measured.ticks_per_nanosecond(), 1);
  EXPECT_EQ(measured.nanoseconds_at(12345), 12345);
}

TEST(Counter, IsUsedOnlyWhereTheProcessorSaysThatItHasOneRate) {
  EXPECT_TRUE(says_invariant(0x80000008U, 1U << 8U));
  EXPECT_TRUE(says_invariant(0x80000007U, 0x1ff));
  EXPECT_FALSE(says_invariant(0x80000008U, 0xff));
  EXPECT_FALSE(says_invariant(0x80000006U, 1U << 8U)) << "the processor has no such leaf";
}

TEST(Counter, AndTheClockOfThisMachineGoOn) {
  const std::uint64_t first = ticks(), then = tick_nanoseconds();
  correct_clock();
  EXPECT_GE(ticks(), first);
  EXPECT_GE(tick_nanoseconds(), then);
  EXPECT_GT(ticks_per_nanosecond(), 0);
}

}  // namespace
}  // namespace hob
