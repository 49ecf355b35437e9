#include "match/takeover_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace hob::match {
namespace {

std::uint64_t fake_time = 0;
std::uint64_t now() { return fake_time; }

constexpr MatchCosts kCosts{.step = 4, .dequeue = 100};

class TakeoverPolicyTest : public ::testing::Test {
 protected:
  static TakeoverPolicy::Config config() {
    TakeoverPolicy::Config config;
    config.now = now;
    return config;
  }

  /// Messages until the policy gives up, at most `kMost`.
  static int matched_until_given_up(TakeoverPolicy& policy, double passed, int most) {
    int messages = 0;
    while (messages < most && policy.matched(passed)) ++messages;
    return messages;
  }

  std::uint64_t start_ = fake_time = 1000;  // before the policy looks at the clock
  MatchCosts costs_ = kCosts;
  TakeoverPolicy policy_{config(), costs_};
};

TEST_F(TakeoverPolicyTest, ShortQueuesStayWithTheLibrary) {
  for (std::uint64_t length = 0; length < config().threshold; ++length)
    EXPECT_FALSE(policy_.begins(length));
  EXPECT_TRUE(policy_.begins(config().threshold));
}

TEST_F(TakeoverPolicyTest, StandingReceivesBehindWhichManyAreSearchedAreEvidence) {
  policy_.searched(1000000, 10);  // cheaper than dequeues
  EXPECT_FALSE(policy_.has_evidence(10));
  policy_.searched(1, 50);
  EXPECT_FALSE(policy_.has_evidence(50));
  policy_.searched(100, 50);
  EXPECT_TRUE(policy_.has_evidence(50));
  EXPECT_TRUE(policy_.begins(50));
}

// One receive at a time behind forty that stay: each of these trials fails, and they get rare; the
// deep queue that follows is tried nevertheless.
TEST_F(TakeoverPolicyTest, TrialsThatFailedInShortQueuesDoNotForbidThatOfADeepOne) {
  int trials = 0;
  for (int message = 0; message < 20000; ++message) {
    if (policy_.begins(40)) {
      ++trials;
      policy_.matched(0);
      policy_.ended();
    } else {
      policy_.searched(1, 40);
    }
  }
  EXPECT_GE(trials, 2);
  EXPECT_LE(trials, 12);
  EXPECT_FALSE(policy_.begins(config().threshold - 1));
  EXPECT_TRUE(policy_.begins(config().threshold));
}

TEST_F(TakeoverPolicyTest, ALongPhaseIsTriedTheNextTime) {
  policy_.phase_ended(config().long_phase - 1);
  EXPECT_FALSE(policy_.begins(0));
  policy_.phase_ended(config().long_phase);
  EXPECT_TRUE(policy_.begins(0));
}

TEST_F(TakeoverPolicyTest, WhatPaysBeginsAtOnceTheNextTime) {
  policy_.phase_ended(200);
  ASSERT_TRUE(policy_.begins(0));
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(policy_.matched(100));
  policy_.ended();
  EXPECT_TRUE(policy_.paying());
  EXPECT_TRUE(policy_.begins(0));
}

TEST_F(TakeoverPolicyTest, AProgramThatChangesIsFollowedSoon) {
  policy_.phase_ended(200);
  ASSERT_TRUE(policy_.begins(0));
  for (int i = 0; i < 1000000; ++i) ASSERT_TRUE(policy_.matched(100));
  policy_.ended();
  ASSERT_TRUE(policy_.begins(0));
  const int most = static_cast<int>(config().most_credit + config().trial) + 1;
  EXPECT_LE(matched_until_given_up(policy_, 0, 1000000), most);
  policy_.reposted(0);
  EXPECT_FALSE(policy_.paying());
  EXPECT_FALSE(policy_.begins(0));
}

TEST_F(TakeoverPolicyTest, TrialsLoseNoMoreThanTheirShare) {
  // In order: each message finds the first receive, and each dequeue is lost.
  double lost = 0;
  const std::uint64_t start = fake_time;
  for (int phase = 0; phase < 100000; ++phase) {
    policy_.phase_ended(1000);
    if (policy_.begins(0)) {
      const int messages = matched_until_given_up(policy_, 0, 1000);
      lost += messages * costs_.dequeue;
      if (messages < 1000)
        policy_.reposted(static_cast<std::uint64_t>(1000 - messages));
      else
        policy_.ended();
      lost += (1000 - messages) * costs_.dequeue;
    }
    fake_time += 1000 * 300;
  }
  const double elapsed = static_cast<double>(fake_time - start);
  EXPECT_LE(lost, config().share * elapsed + 3 * config().first_budget * costs_.dequeue);
  EXPECT_GT(lost, 0);
}

TEST_F(TakeoverPolicyTest, ARefusedTrialIsNotAskedForAtEachReceive) {
  // The whole budget is lost at once.
  ASSERT_TRUE(policy_.begins(config().threshold));
  policy_.reposted(static_cast<std::uint64_t>(config().first_budget));
  int asked = 0;
  for (std::uint64_t length = 0; length < 100000; ++length) {
    if (!policy_.has_evidence(length)) continue;
    ++asked;
    EXPECT_FALSE(policy_.begins(length));
  }
  EXPECT_GT(asked, 0);
  EXPECT_LT(asked, 20);
  policy_.phase_ended(100000);
  EXPECT_TRUE(policy_.has_evidence(config().threshold));
}

TEST_F(TakeoverPolicyTest, AQueueThatGrowsAmongBlockingReceivesIsTakenOver) {
  // The known benchmark of deep queues: one receive that nothing matches after so many round trips.
  const int kRoundTrips = 100;
  std::uint64_t at_library = 0, in_prq = 0;
  double native = 0, hob = 0;
  for (std::uint64_t receive = 1; receive <= 2000; ++receive) {
    if (in_prq != 0 || policy_.begins(at_library))
      ++in_prq;
    else
      ++at_library;
    for (int trip = 0; trip < kRoundTrips; ++trip) {
      native += 1000 + costs_.step * static_cast<double>(receive);
      const double took =
          1000 + costs_.step * static_cast<double>(at_library) + (in_prq != 0 ? costs_.dequeue : 0);
      hob += took;
      fake_time += static_cast<std::uint64_t>(took);
      if (in_prq == 0) {
        policy_.searched(1, at_library);
      } else if (!policy_.matched(static_cast<double>(in_prq))) {
        policy_.reposted(in_prq);
        at_library += in_prq;
        in_prq = 0;
      }
    }
  }
  EXPECT_LT(at_library, 200u);
  EXPECT_GT(native / hob, 2.5);
}

TEST_F(TakeoverPolicyTest, TheUsersThresholdDecidesAlone) {
  TakeoverPolicy::Config mine = config();
  mine.fixed = true;
  mine.threshold = 3;
  TakeoverPolicy policy(mine, costs_);
  policy.phase_ended(100000);
  policy.searched(1000000, 100000);
  EXPECT_FALSE(policy.begins(2));
  EXPECT_TRUE(policy.begins(3));
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(policy.matched(0));
  policy.ended();
  EXPECT_FALSE(policy.begins(2));
  EXPECT_TRUE(policy.begins(3));
}

TEST(ListStep, IsNanosecondsOfAnEntry) {
  const double step = measure_list_step();
  EXPECT_GE(step, 1);
  EXPECT_LE(step, 20);
}

TEST(ListStep, OfScatteredEntriesIsAtLeastANanosecond) {
  EXPECT_GE(measure_scattered_list_step(1), 1);
  EXPECT_GE(measure_scattered_list_step(64), 1);
  EXPECT_GE(measure_ordered_list_step(1), 1);
  EXPECT_LT(measure_ordered_list_step(4096), 200);
}

}  // namespace
}  // namespace hob::match
