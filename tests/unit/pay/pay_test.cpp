#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>

#include "pay/backoff.hpp"
#include "pay/budget.hpp"
#include "pay/other_threads.hpp"
#include "pay/price.hpp"
#include "pay/trial.hpp"

namespace hob::pay {
namespace {

TEST(Backoff, DoublesUpToTheLongestAndBeginsAnew) {
  Backoff<> wait({.first = 3, .longest = 10});
  EXPECT_EQ(wait.next(), 3u);
  EXPECT_EQ(wait.next(), 6u);
  EXPECT_EQ(wait.next(), 10u);
  EXPECT_EQ(wait.next(), 10u);
  wait.reset();
  EXPECT_EQ(wait.now(), 3u);
}

/// The calling thread uses all the time; how much the others do is `used` of each ms.
class Threads {
 public:
  void go_on(int milliseconds, double used, int tick_ms = 1) {
    for (int ms = 1; ms <= milliseconds; ++ms) {
      now_ += kMs;
      used_ += used * kMs;
      if (ms % tick_ms == 0) seen_ = used_;  // the system adds it at its ticks
      others_.look(now_, now_ + static_cast<std::uint64_t>(seen_), now_);
    }
  }
  bool run() const { return others_.run(now_); }

 private:
  static constexpr std::uint64_t kMs = 1'000'000;
  OtherThreads others_;
  std::uint64_t now_ = 1000 * kMs;
  double used_ = 0, seen_ = 0;
};

TEST(OtherThreads, RunWhileTheyUseTime) {
  Threads threads;
  threads.go_on(100, 0);
  EXPECT_FALSE(threads.run());
  threads.go_on(1, 1);
  EXPECT_TRUE(threads.run()) << "found with the first tick";
  threads.go_on(100, 1);
  EXPECT_TRUE(threads.run());
  threads.go_on(41, 0);
  EXPECT_FALSE(threads.run());
}

TEST(OtherThreads, AreNotForgottenBetweenTicks) {
  Threads threads;
  threads.go_on(10, 1, 10);
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(threads.run());
    threads.go_on(10, 1, 10);
  }
}

TEST(OtherThreads, ThatOnlyPollNowAndThenDoNot) {
  Threads threads;
  threads.go_on(100, 0);
  for (int i = 0; i < 1000; ++i) {
    threads.go_on(1, 0.03);
    EXPECT_FALSE(threads.run());
  }
}

TEST(Backoff, MayBeginWithNothingAndStayOdd) {
  Backoff<int> wait({.first = 0, .longest = 7, .plus = 1});
  for (const int expected : {0, 1, 3, 7, 7}) EXPECT_EQ(wait.next(), expected);
}

TEST(Backoff, MayHaveALimitOfTheMoment) {
  Backoff<> wait({.first = 4, .longest = 64});
  wait.lengthen();
  wait.lengthen();
  wait.lengthen(20);
  EXPECT_EQ(wait.now(), 20u);
  wait.lengthen(8);
  EXPECT_EQ(wait.now(), 8u);
  for (const std::uint64_t expected : {16, 32, 64, 64}) {
    wait.lengthen();
    EXPECT_EQ(wait.now(), expected);
  }
}

TEST(Budget, IsAShareOfTheTimeAndWhatWasEarned) {
  Budget budget({.share = 0.1, .first = 50}, 1000);
  EXPECT_TRUE(budget.affords(1000, 50));
  budget.spent(60);
  EXPECT_EQ(budget.left(), -10);
  EXPECT_EQ(budget.time_owed(), 100u);
  EXPECT_FALSE(budget.affords(1100, 0));
  EXPECT_TRUE(budget.affords(1101, 0));
  EXPECT_EQ(budget.time_owed(), 0u);
  budget.earned(30);
  EXPECT_TRUE(budget.affords(1101, 30));
}

TEST(Budget, SavesNoMoreThanTheMostUnlessSomethingCostsMore) {
  Budget budget({.share = 0.5, .most = 100});
  budget.passed(1'000'000);
  EXPECT_EQ(budget.left(), 100);
  EXPECT_FALSE(budget.affords(1'000'010, 200)) << "105 are saved";
  EXPECT_TRUE(budget.affords(1'000'010, 100)) << "what costs less goes on";
  EXPECT_TRUE(budget.affords(1'000'200, 200));
  budget.limit(20);
  EXPECT_EQ(budget.left(), 20);
}

TEST(Budget, WithoutAShareNothingIsEverPaidBack) {
  Budget budget({.share = 0});
  budget.spent(1);
  EXPECT_EQ(budget.time_owed(), Budget::kForEver);
  EXPECT_EQ(Budget::time_for(1e300, 0.01), Budget::kForEver);
}

TEST(Recent, TheMedianIsNoMeanAndOldSamplesGo) {
  Recent<5> price;
  EXPECT_EQ(price.median(), 0);
  price.add(7);
  EXPECT_EQ(price.median(), 7);
  for (const double sample : {10.0, 11.0, 1e6, 12.0, 1e6}) price.add(sample);
  EXPECT_EQ(price.median(), 12);
  EXPECT_EQ(price.least(), 10);
  price.clear();
  EXPECT_TRUE(price.empty());
  price.add(3);
  EXPECT_EQ(price.least(), 3);
}

TEST(Price, LearnsLatencyAndBytes) {
  Price price(1000, 0.5);
  price.add(65536, 100000);
  EXPECT_EQ(price.per_byte(), 0.5) << "without a latency, it says nothing";
  for (int i = 0; i < 100; ++i) {
    price.add(64, 8000);
    price.add(65536, 8000 + 16384);
  }
  EXPECT_NEAR(price.latency(), 8000, 100);
  EXPECT_NEAR(price.per_byte(), 0.25, 0.01);
  EXPECT_NEAR(static_cast<double>(price.latency_bytes()), 32000, 2000);
  price.add(64, 80000000);  // the process slept
  EXPECT_LT(price.latency(), 10000);
}

TEST(Price, AnyTransferSaysThatLatencyIsLessThanAssumed) {
  Price price(8000, 0.25);
  price.add(4096, 10000);
  EXPECT_EQ(price.latency(), 8000);
  price.add(4096, 435);
  EXPECT_LT(price.latency(), 435);
}

// Where nothing small is moved, half of the time may be the bytes', until another size is seen.
TEST(Price, TwoSizesOfLongTransfersTellLatencyFromBytes) {
  constexpr double kLatency = 9000, kPerByte = 0.125;
  Price price(8000, 0.25);
  const auto get = [&](std::uint64_t bytes) {
    price.add(bytes, static_cast<std::uint64_t>(kLatency + kPerByte * static_cast<double>(bytes)));
  };
  for (int i = 0; i < 20; ++i) get(65536);
  EXPECT_NEAR(price.latency(), 8600, 700);
  EXPECT_NEAR(price.latency() + 65536 * price.per_byte(), 17200, 1500);
  EXPECT_FALSE(price.rate_seen());
  for (int i = 0; i < 20; ++i) get(i % 2 == 0 ? 262144 : 65536);
  EXPECT_TRUE(price.rate_seen());
  EXPECT_NEAR(price.latency(), kLatency, 100);
  EXPECT_NEAR(price.per_byte(), kPerByte, 0.01);
}

TEST(Price, LongTransfersWhoseTimeIsTheBytesHaveNoLatency) {
  Price price(8000, 0.25);
  for (int i = 0; i < 20; ++i) {
    price.add(65536, 16384);
    price.add(262144, 65536);
  }
  EXPECT_LT(price.latency(), 2000);
}

// What others do at the same time makes any get take longer or shorter.
TEST(Price, DeviationsOfShortTransfersAreNotTakenForTheBytes) {
  constexpr double kPerByte = 0.1;
  Price price(8000, 0.25);
  std::mt19937 random(1);
  std::uniform_real_distribution<double> latency(8000, 16000);
  const auto get = [&](std::uint64_t bytes) {
    price.add(bytes,
              static_cast<std::uint64_t>(latency(random) + kPerByte * static_cast<double>(bytes)));
  };
  for (int i = 0; i < 2000; ++i) get(i % 2 == 0 ? 64 : 8192);
  double least = price.per_byte(), most = least;
  for (int i = 0; i < 2000; ++i) {
    get(i % 2 == 0 ? 64 : 8192);
    least = std::min(least, price.per_byte());
    most = std::max(most, price.per_byte());
  }
  EXPECT_GT(least, kPerByte / 2);
  EXPECT_LT(most, kPerByte * 2.5);
}

/// One time in eight another process has the core for a thousand times as long.
TEST(Price, WhatALoadedMachineAddsIsNotThePrice) {
  Price price(8000, 0.25);
  Recent<15> recent;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t took = i % 8 == 5 ? 4'000'000 : 4000;
    price.add(64, took);
    recent.add(static_cast<double>(took));
    if (i < 100) continue;
    EXPECT_LT(price.latency(), 2 * 4000);
    EXPECT_EQ(recent.median(), 4000);
  }
}

TEST(Trial, RestsEverLongerUntilItHasPaid) {
  Trial trial(
      {.tries = {.first = 2, .longest = 4}, .rests = {.first = 3, .longest = 9, .times = 3}});
  const auto lasts = [&](Trial::Step step) {
    int occasions = 0;
    for (; trial.step() == step; ++occasions) EXPECT_FALSE(trial.passed());
    return occasions;
  };
  EXPECT_EQ(lasts(Trial::Step::trying), 2);
  EXPECT_EQ(lasts(Trial::Step::resting), 3);
  EXPECT_EQ(lasts(Trial::Step::trying), 4);
  EXPECT_EQ(lasts(Trial::Step::resting), 9);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(trial.passed());
    trial.paid();
    EXPECT_TRUE(trial.trying());
  }
  EXPECT_EQ(lasts(Trial::Step::trying), 2);
  EXPECT_EQ(lasts(Trial::Step::resting), 3);
}

TEST(Trial, ComparesBeforeItRests) {
  Trial trial(
      {.tries = {.first = 1, .longest = 1}, .rests = {.first = 5, .longest = 5}, .compares = 2});
  EXPECT_FALSE(trial.passed());
  ASSERT_EQ(trial.step(), Trial::Step::comparing);
  EXPECT_FALSE(trial.passed());
  EXPECT_TRUE(trial.passed());
  trial.go_on();
  EXPECT_TRUE(trial.trying());
  trial.passed();
  trial.passed();
  ASSERT_TRUE(trial.passed());
  trial.rest();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(trial.step(), Trial::Step::resting);
    EXPECT_FALSE(trial.passed());
  }
  EXPECT_TRUE(trial.trying());
}

}  // namespace
}  // namespace hob::pay
