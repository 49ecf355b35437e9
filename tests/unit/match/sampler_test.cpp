#include "match/sampler.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hob::match {
namespace {

using Metering = Sampler::Metering;

std::uint64_t fake_time = 0;
int looks_at_the_clock = 0;
std::uint64_t now() {
  ++looks_at_the_clock;
  return fake_time;
}

Sampler::Config with_clock(std::uint64_t longest_pause) {
  Sampler::Config config;
  config.longest_pause = longest_pause;
  config.now = now;
  return config;
}

/// A receive that is complete before the next one is posted; whether it was watched fully.
bool exchange(Sampler& sampler) {
  const Metering watch = sampler.next();
  if (watch == Metering::sentinel) {
    sampler.sentinel_posted();
    sampler.sentinel_completed();
  }
  if (watch != Metering::fully) return false;
  sampler.posted(1);
  sampler.completed(0);
  return true;
}

TEST(Sampler, WatchesTheFirstOnesAndFewLater) {
  Sampler sampler;
  const std::uint64_t at_first = Sampler::Config{}.all_at_first;
  for (std::uint64_t i = 0; i < at_first; ++i) ASSERT_TRUE(exchange(sampler)) << i;
  // A short program pays next to nothing.
  int soon = 0;
  for (int i = 0; i < 1000; ++i) soon += exchange(sampler);
  EXPECT_LT(soon, 100);
  const int kLater = 100000;
  int watched = 0;
  for (int i = 0; i < kLater; ++i) watched += exchange(sampler);
  EXPECT_GT(watched, kLater / 512);
  EXPECT_LT(watched, kLater / 128);
}

// A program that first sends some short messages: its first long queue is found.
TEST(Sampler, AQueueThatGrowsLaterIsFoundAfterAFifthMoreReceives) {
  for (const int before : {0, 20, 100, 300}) {
    Sampler sampler;
    for (int i = 0; i < before; ++i) exchange(sampler);
    std::uint64_t watched = 0;
    const int longest = before / 5;  // of pauses
    for (int i = 0; i < longest + 200; ++i) {
      const Metering watch = sampler.next();
      if (watch == Metering::sentinel) sampler.sentinel_posted();
      if (watch == Metering::fully) sampler.posted(++watched);
    }
    EXPECT_GE(watched, 200u) << before;
  }
}

TEST(Sampler, LeftAloneIsWhatNextLeavesAlone) {
  for (const std::uint64_t pause : {0u, 1000u}) {
    fake_time = 0;
    Sampler sampler(with_clock(pause));
    while (exchange(sampler)) {
    }
    for (int i = 0; i < 1000; ++i) {
      Sampler asked = sampler;
      for (std::uint32_t n = sampler.unsampled(); n != 0; --n)
        ASSERT_EQ(asked.next(), Metering::no);
      // As many at once.
      sampler.left_out(sampler.unsampled());
      ASSERT_EQ(sampler.unsampled(), 0u);
      exchange(sampler);
    }
  }
}

TEST(Sampler, SentinelsTellOfAQueueThatNobodyWatches) {
  Sampler sampler;
  while (exchange(sampler)) {
  }
  for (int i = 0; i < 10000; ++i) exchange(sampler);
  std::uint64_t waiting = 0, watched = 0;
  while (watched == 0 && waiting < 600) {
    const Metering watch = sampler.next();
    if (watch == Metering::sentinel) sampler.sentinel_posted();
    if (watch == Metering::fully) ++watched;
    ++waiting;
  }
  // A pause after an exchange is short; whatever it was, the estimate is no more than twice it.
  EXPECT_LE(sampler.unseen(), 2 * waiting);
  EXPECT_TRUE(watched != 0 || sampler.unseen() != 0);
}

TEST(Sampler, RareReceivesAreWatchedAgainAfterSomeTime) {
  fake_time = 0;
  Sampler sampler(with_clock(1000));
  for (int i = 0; i < 20000; ++i) {
    fake_time += 100;
    exchange(sampler);
  }
  // A long pause: stretches of receives behind others.
  sampler.posted(2);
  for (std::uint32_t i = 0; i < 2 * Sampler::Config{}.stretch; ++i) {
    sampler.posted(3);
    sampler.completed(2);
  }
  int left = 0;
  for (; sampler.next() != Metering::fully; ++left) fake_time += 500;
  EXPECT_LE(left, static_cast<int>(Sampler::Config{}.per_look) + 2);
}

// They cannot make a pause much too long, and the clock takes as long as several of them.
TEST(Sampler, FrequentReceivesLookAtTheClockRarely) {
  fake_time = 0;
  const std::uint64_t pause = 1000000;
  Sampler sampler(with_clock(pause));
  const auto looks_in = [&](int receives, std::uint64_t apart) {
    looks_at_the_clock = 0;
    for (int i = 0; i < receives; ++i) {
      fake_time += apart;
      exchange(sampler);
    }
    return looks_at_the_clock;
  };
  looks_in(3000, 1);
  const int frequent = looks_in(100000, 1);
  EXPECT_LT(frequent, 2 * 100000 / 128);
  // Rare ones again.
  looks_in(1000, pause / 100);
  EXPECT_GE(looks_in(10000, pause / 100), 10000 / 32);
}

TEST(Sampler, TellsWhatStoodDuringAStretch) {
  Sampler sampler;
  const std::uint32_t stretch = Sampler::Config{}.stretch;
  // The first stretch begins with an empty queue, and tells nothing.
  for (std::uint64_t i = 1; i <= Sampler::Config{}.first_stretch; ++i)
    EXPECT_EQ(sampler.posted(i).least, 0u);
  std::uint64_t last = 0;
  for (std::uint32_t i = 0, receives = 0; i < 4 * stretch; ++i) {
    ++receives;
    const Sampler::Stretch ended = sampler.posted(17);
    sampler.completed(16);
    if (ended.receives == 0) continue;
    EXPECT_EQ(ended.least, 16u);
    EXPECT_EQ(ended.receives, receives);
    EXPECT_EQ(ended.receives, std::min<std::uint64_t>(last == 0 ? 32 : 2 * last, stretch));
    last = ended.receives;
    receives = 0;
  }
  EXPECT_EQ(last, stretch);
}

TEST(Sampler, TellsHowLongAPhaseGot) {
  Sampler sampler;
  for (std::uint64_t i = 1; i <= 300; ++i) sampler.posted(i);
  for (std::uint64_t i = 299; i != 0; --i) EXPECT_EQ(sampler.completed(i), 0u);
  EXPECT_EQ(sampler.completed(0), 300u);
  sampler.known(70);
  EXPECT_EQ(sampler.completed(0), 70u);
}

TEST(Sampler, FewBlockingOnesAreWatchedLater) {
  Sampler sampler;
  const int kReceives = 200000;
  int watched = 0;
  for (int i = 0; i < kReceives; ++i) watched += sampler.next_blocking();
  EXPECT_GE(watched, kReceives / 1024);
  EXPECT_LT(watched, kReceives / 64);
}

TEST(Sampler, BlockingReceivesThatDidNotAskCountAsLeftOut) {
  Sampler sampler;
  while (sampler.blocking_unsampled() == 0) ASSERT_TRUE(sampler.next_blocking());
  const std::uint32_t pause = sampler.blocking_unsampled();
  sampler.blocking_left_out(pause - 1);
  EXPECT_EQ(sampler.blocking_unsampled(), 1u);
  EXPECT_FALSE(sampler.next_blocking());
  EXPECT_TRUE(sampler.next_blocking());
  sampler.blocking_left_out(5);  // more than the pause had
  EXPECT_EQ(sampler.blocking_unsampled(), 0u);
}

}  // namespace
}  // namespace hob::match
