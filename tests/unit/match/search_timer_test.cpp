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
  EXPECT_EQ(timer.untimed(), config.while_slow - 1);
}

TEST(SearchTimer, FewMessagesAskForMoreEvidence) {
  SearchTimer timer;
  const SearchTimer::Config config;
  const auto slow_ones = [&] {
    std::uint32_t slow = 1;
    while (!timer.was_slow()) ++slow;
    return slow;
  };
  EXPECT_EQ(slow_ones(), config.patience);
  timer.emptied(config.worth_dequeuing - 1);
  EXPECT_EQ(slow_ones(), config.patience * config.discouraged);
  timer.emptied(config.worth_dequeuing);
  EXPECT_EQ(slow_ones(), config.patience);
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
  EXPECT_EQ(slow_ones(), 4);
  timer.was_fast(true);
  for (int i = 0; i < 10; ++i) {
    slow_ones();
    timer.was_fast(true);
  }
  EXPECT_EQ(slow_ones(), 64);
  timer.was_slow();
  EXPECT_TRUE(timer.probes()) << "until one is fast";
  timer.was_fast(true);
  EXPECT_EQ(slow_ones(), 4);
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
