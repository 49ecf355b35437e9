#include "match/search_timer.hpp"

#include <gtest/gtest.h>

namespace hob::match {
namespace {

/// Receives until one is to be timed.
int until_due(SearchTimer& timer, std::uint64_t elements = 1) {
  int receives = 0;
  while (!timer.due()) {
    timer.started(elements);
    ++receives;
  }
  return receives;
}

TEST(SearchTimer, TimesFewerWhileAllAreFast) {
  SearchTimer timer;
  const SearchTimer::Config config;
  EXPECT_EQ(until_due(timer), static_cast<int>(config.at_first) - 1);
  for (int i = 0; i < 10; ++i) {
    timer.started(1);
    timer.was_fast(false);
    until_due(timer);
  }
  timer.started(1);
  EXPECT_EQ(until_due(timer), static_cast<int>(config.while_fast) - 1);
}

TEST(SearchTimer, LongReceivesCountForMore) {
  SearchTimer timer;
  const SearchTimer::Config config;
  timer.started(config.long_elements);
  EXPECT_EQ(timer.untimed(), config.at_first - 3);
  SearchTimer longest;
  longest.started(config.long_elements * 1000);
  EXPECT_EQ(longest.untimed(), config.at_first - 1 - config.heaviest);
}

TEST(SearchTimer, SlowOnesAgainAndAgainEmptyTheLibrary) {
  SearchTimer timer;
  const SearchTimer::Config config;
  for (std::uint32_t i = 1; i < config.patience; ++i) EXPECT_FALSE(timer.was_slow());
  EXPECT_TRUE(timer.was_slow());
  EXPECT_EQ(timer.untimed(), config.while_slow.first - 1);
}

/// Receives until an alarm, all timed ones slow.
std::uint32_t until_alarm(SearchTimer& timer) {
  std::uint32_t receives = 0;
  for (;;) {
    receives += static_cast<std::uint32_t>(until_due(timer)) + 1;
    timer.started(1);
    if (timer.was_slow()) return receives;
  }
}

TEST(SearchTimer, FewerAreTimedAfterAFalseAlarm) {
  SearchTimer timer;
  const SearchTimer::Config config;
  const auto few = config.worth_dequeuing - 1, many = config.worth_dequeuing;
  const std::uint32_t usual = config.patience * config.while_slow.first;
  // The next one that is timed was decided upon before the alarm's outcome was known.
  const auto after = [&](std::uint64_t messages) {
    timer.emptied(messages);
    timer.was_slow();
    std::uint32_t slow = 1, receives = 0;
    for (bool alarm = false; !alarm; ++slow) {
      receives += static_cast<std::uint32_t>(until_due(timer)) + 1;
      timer.started(1);
      alarm = timer.was_slow();
    }
    EXPECT_EQ(slow, config.patience);
    return receives * config.patience / (config.patience - 1);
  };
  until_alarm(timer);
  EXPECT_EQ(after(many), usual);
  EXPECT_EQ(after(few), usual * config.while_slow.times);
  EXPECT_EQ(after(few), usual * config.while_slow.times * config.while_slow.times);
  EXPECT_EQ(after(many), usual);
}

TEST(SearchTimer, HardlyAnyAreTimedWhereAllAlarmsAreFalse) {
  SearchTimer timer;
  const SearchTimer::Config config;
  std::uint64_t timed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const bool due = timer.due();
    timer.started(1);
    if (!due) continue;
    ++timed;
    if (timer.was_slow()) timer.emptied(0);
  }
  // `patience` for each false alarm, and these are four times as far apart each time.
  EXPECT_LT(timed, 16 * config.patience);
}

TEST(SearchTimer, FastOnesMakeUpForSlowOnes) {
  SearchTimer timer;
  const SearchTimer::Config config;
  for (std::uint32_t i = 1; i < config.patience; ++i) EXPECT_FALSE(timer.was_slow());
  timer.was_fast(false);
  EXPECT_FALSE(timer.was_slow());
  EXPECT_TRUE(timer.was_slow());
}

TEST(SearchTimer, LongOnesAreProbedForAfterOneThatWasSlowAndRarerWhileThatIsFast) {
  SearchTimer timer;
  EXPECT_FALSE(timer.probes());
  const auto slow_ones = [&] {
    int slow = 0;
    while (!timer.probes()) {
      timer.was_unclear();
      ++slow;
    }
    return slow;
  };
  EXPECT_EQ(slow_ones(), 1);
  timer.was_fast(false);
  EXPECT_TRUE(timer.probes()) << "it was a short one";
  timer.was_fast(true);
  EXPECT_FALSE(timer.probes());
  EXPECT_EQ(slow_ones(), 2);
  timer.was_fast(true);
  for (int i = 0; i < 10; ++i) {
    slow_ones();
    timer.was_fast(true);
  }
  EXPECT_EQ(slow_ones(), 64);
  timer.was_slow();
  EXPECT_TRUE(timer.probes()) << "until one is fast";
  timer.was_fast(true);
  EXPECT_EQ(slow_ones(), 64) << "a slow probe alone shows no long search";
  timer.was_slow();
  timer.emptied(SearchTimer::Config{}.worth_dequeuing);
  timer.was_fast(true);
  EXPECT_EQ(slow_ones(), 2);
}

TEST(SearchTimer, LongOnesThatAreFastAreNeverProbedFor) {
  SearchTimer timer;
  for (int i = 0; i < 100; ++i) {
    timer.was_fast(true);
    EXPECT_FALSE(timer.probes());
  }
}

}  // namespace
}  // namespace hob::match
