// The policies of cached gets: when a hit is fetched again, which targets are bypassed, since when
// bytes are true. And what waits say of their targets.
#include <gtest/gtest.h>

#include "gets/coherence.hpp"
#include "gets/drop_causes.hpp"
#include "gets/invalidation_epochs.hpp"
#include "gets/once_trial.hpp"
#include "gets/poll_guard.hpp"
#include "gets/reuse_trial.hpp"
#include "gets/skip_reason.hpp"
#include "gets/target_profile.hpp"
#include "gets/verifier.hpp"
#include "gets/wait_meter.hpp"

namespace hob::gets {
namespace {

TEST(PollGuard, EveryNthHitInARowIsDue) {
  const PollGuard guard({.hits = 64, .age = 1000, .share = 0.005});
  EXPECT_FALSE(guard.due(63, 0, 0));
  EXPECT_TRUE(guard.due(64, 0, 0));
  EXPECT_FALSE(guard.due(65, 0, 0));
  EXPECT_TRUE(guard.due(128, 0, 0));
}

TEST(PollGuard, OldBytesAreDueWithinTheShare) {
  PollGuard guard({.hits = 64, .age = 1000, .share = 0.01});
  EXPECT_FALSE(guard.due(1, 5000, 6000));
  EXPECT_TRUE(guard.due(1, 5000, 6001));
  guard.begin(6001);
  guard.arrived(6101);  // after 100: the next one 10,000 later
  EXPECT_FALSE(guard.due(1, 5000, 16001));
  EXPECT_TRUE(guard.due(1, 5000, 16002));
}

TEST(PollGuard, SaysWhichBytesAreDueAtAMoment) {
  PollGuard guard({.hits = 64, .age = 1000, .share = 0.01});
  EXPECT_EQ(guard.polls(), 64u);
  EXPECT_EQ(guard.oldest(1000), 0u);
  for (const std::uint64_t now : {6000u, 6001u, 9000u})
    for (const std::uint64_t fetched : {4999u, 5000u, 5001u, 7999u, 8000u})
      EXPECT_EQ(guard.due(1, std::min(fetched, now), now),
                std::min(fetched, now) < guard.oldest(now));
  guard.begin(6001);
  guard.arrived(6101);
  EXPECT_EQ(guard.oldest(16001), 0u) << "the share is kept";
  EXPECT_EQ(guard.oldest(16002), 15002u);
}

TEST(PollGuard, BytesAreOldEarlierUntilPricesAreKnown) {
  PollGuard guard({.hits = 64, .age = 1000, .early_age = 100, .share = 0.01});
  EXPECT_FALSE(guard.due(1, 5000, 5100));
  EXPECT_TRUE(guard.due(1, 5000, 5101));
  guard.begin(5101);
  guard.arrived(5111);
  EXPECT_FALSE(guard.due(1, 5000, 6101)) << "the share is kept all the same";
  EXPECT_TRUE(guard.due(1, 5000, 6102));
  guard.settle();
  EXPECT_FALSE(guard.due(1, 6000, 7000));
  EXPECT_TRUE(guard.due(1, 6000, 7001));
}

TEST(PollGuard, OneFetchByAgeIsUnderWayAtATime) {
  PollGuard guard({.hits = 64, .age = 1000, .share = 0.01});
  EXPECT_TRUE(guard.due(1, 0, 5000));
  guard.begin(5000);
  EXPECT_FALSE(guard.due(1, 0, 5010));
  EXPECT_FALSE(guard.due(1, 0, 6000));
  EXPECT_TRUE(guard.due(1, 0, 6001));  // nobody said that it has arrived
  EXPECT_TRUE(guard.due(64, 0, 5010));
  guard.arrived(5010);
  EXPECT_FALSE(guard.due(1, 0, 6000));
  EXPECT_TRUE(guard.due(1, 0, 6001));
}

TEST(PollGuard, WithoutAShareAgeCountsOnce) {
  PollGuard guard({.hits = 64, .age = 10, .share = 0});
  EXPECT_TRUE(guard.due(1, 0, 100));
  guard.begin(100);
  guard.cost(1);
  EXPECT_FALSE(guard.due(1, 0, ~std::uint64_t{0} >> 1));
}

/// Gets that are looked up in vain until they are left to the library, and then how many are.
std::uint32_t pause_after_trial(ReuseTrial& trial, std::uint32_t gets_for_a_drop) {
  for (std::uint32_t i = 0; i < ReuseTrial::kTrial; ++i) {
    EXPECT_FALSE(trial.skips());
    if (i % gets_for_a_drop == 0) trial.dropped();
    trial.missed();
  }
  std::uint32_t skipped = 0;
  while (trial.skips()) ++skipped;
  return skipped;
}

TEST(ReuseTrial, WhereCopiesAreDroppedUnusedItPausesEverLonger) {
  ReuseTrial trial;
  EXPECT_EQ(pause_after_trial(trial, 1), ReuseTrial::kPause);
  EXPECT_EQ(pause_after_trial(trial, 2), 2 * ReuseTrial::kPause);
  for (int i = 0; i < 20; ++i) pause_after_trial(trial, 1);
  EXPECT_EQ(pause_after_trial(trial, 1), ReuseTrial::kLongestPause);
}

TEST(ReuseTrial, FirstTouchesWithFewDropsAreNoVerdict) {
  ReuseTrial trial;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pause_after_trial(trial, 8), 0u);
}

TEST(ReuseTrial, OneHitStartsItAnew) {
  ReuseTrial trial;
  EXPECT_EQ(pause_after_trial(trial, 1), ReuseTrial::kPause);
  trial.served();
  EXPECT_EQ(pause_after_trial(trial, 1), ReuseTrial::kPause);
  for (std::uint32_t i = 1; i < ReuseTrial::kTrial; ++i) {
    trial.dropped();
    trial.missed();
  }
  trial.served();
  trial.missed();
  EXPECT_FALSE(trial.skips());
}

TEST(ReuseTrial, CheapMissesPauseItUnlessMostAreHits) {
  ReuseTrial trial;
  for (std::uint32_t i = 0; i < ReuseTrial::kTrial; ++i) {
    EXPECT_FALSE(trial.skips());
    for (int hit = 0; hit < 2; ++hit) trial.served(true);
    trial.missed(true);
  }
  EXPECT_FALSE(trial.skips());
  for (std::uint32_t i = 0; i < ReuseTrial::kTrial; ++i) {
    if (i % 2 == 0) trial.served(true);
    trial.missed(true);
  }
  EXPECT_TRUE(trial.skips());
}

class Profile : public testing::Test {
 protected:
  bool samples(std::uint64_t spent, std::uint32_t count, std::uint64_t bytes = 8) {
    bool verdict = false;
    for (std::uint32_t i = 0; i < count; ++i) verdict = profile.sample(config, bytes, spent, kHit);
    return verdict;
  }
  void gets(std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) profile.count_get(config);
  }

  static constexpr std::uint64_t kHit = 10;
  TargetProfile::Config config;
  TargetProfile profile;
};

TEST_F(Profile, FastTargetsAreBypassed) {
  EXPECT_FALSE(samples(59, config.samples - 1));
  EXPECT_FALSE(profile.bypassed());
  EXPECT_TRUE(samples(59, 1));
  EXPECT_TRUE(profile.bypassed());
  EXPECT_FALSE(profile.sampling());
}

TEST_F(Profile, SlowTargetsAreNot) {
  EXPECT_TRUE(samples(60, config.samples));
  EXPECT_FALSE(profile.bypassed());
  EXPECT_FALSE(profile.sampling());
}

TEST_F(Profile, HalfOfTheSamplesDecide) {
  samples(1000, config.samples / 2);
  EXPECT_TRUE(samples(1, config.samples - config.samples / 2));
  EXPECT_TRUE(profile.bypassed());
}

// 1,000 ticks against a hit of 164, on one node: each miss that is kept costs more than a hit
// saves.
TEST_F(Profile, TargetsThatAreHardlyWorthCachingAreNear) {
  const auto near = [](const TargetProfile::Config& how, std::uint64_t spent) {
    TargetProfile target;
    for (std::uint32_t i = 0; i < how.samples; ++i) target.sample(how, 8, spent, kHit);
    EXPECT_FALSE(target.bypassed());
    return target.near();
  };
  config.one_node = true;
  EXPECT_FALSE(profile.near());
  EXPECT_TRUE(near(config, 6 * kHit));
  EXPECT_FALSE(near(config, 24 * kHit));
  samples(6 * kHit, config.samples);
  gets(config.look_again);
  EXPECT_TRUE(profile.too_quick_for_blocks(config, kHit, true)) << "until the next verdict";
  config.bypass = false;
  EXPECT_FALSE(near(config, 6 * kHit));
  config = {};
  EXPECT_FALSE(near(config, 6 * kHit)) << "large gets between nodes";
}

TEST_F(Profile, NeverWhereBypassIsOff) {
  config.bypass = false;
  samples(1, config.samples);
  EXPECT_FALSE(profile.bypassed());
}

TEST_F(Profile, ABypassedTargetThatBecameSlowIsCachedAgain) {
  samples(1, config.samples);
  gets(config.look_again - 1);
  EXPECT_TRUE(profile.bypassed());
  gets(1);
  EXPECT_FALSE(profile.bypassed());
  EXPECT_TRUE(profile.sampling());
  samples(1000, config.samples);
  EXPECT_FALSE(profile.bypassed());
}

TEST_F(Profile, ATargetThatBecameFastIsBypassed) {
  samples(1000, config.samples);
  gets(config.look_again);
  EXPECT_TRUE(profile.sampling());
  samples(1, config.samples);
  EXPECT_TRUE(profile.bypassed());
}

TEST_F(Profile, LooksGetRarerWhileNothingChanges) {
  samples(1, config.samples);
  gets(config.look_again);
  samples(1, config.samples);
  gets(2 * config.look_again - 1);
  EXPECT_TRUE(profile.bypassed());
  gets(1);
  EXPECT_TRUE(profile.sampling());
}

TEST_F(Profile, ALookWithoutSamplesIsGivenUp) {
  samples(1, config.samples);
  gets(config.look_again);
  EXPECT_TRUE(profile.sampling());
  gets(config.patience);
  EXPECT_FALSE(profile.sampling());
  EXPECT_TRUE(profile.bypassed());
}

TEST_F(Profile, ALookAtACachedTargetLastsForABurst) {
  samples(1000, config.samples);
  gets(config.look_again);
  gets(config.patience_cached - 1);
  EXPECT_TRUE(profile.sampling());
  gets(1);
  EXPECT_FALSE(profile.sampling());
  EXPECT_FALSE(profile.bypassed());
}

TEST_F(Profile, BlocksAreForTargetsThatAreNotQuick) {
  const auto too_quick = [this](bool near) {
    return profile.too_quick_for_blocks(config, kHit, near);
  };
  EXPECT_FALSE(too_quick(true)) << "nothing is timed";
  profile.sample(config, 4096, config.worthwhile * kHit, kHit);
  EXPECT_FALSE(too_quick(false));
  EXPECT_TRUE(too_quick(true)) << "first gets touch new pages";
  profile.sample(config, 4096, config.worthwhile * kHit - 1, kHit);
  EXPECT_TRUE(too_quick(false));
  config.bypass = false;
  EXPECT_FALSE(too_quick(false));
}

TEST_F(Profile, BlocksOnOneNodeAreForWhatIsSlowByFar) {
  samples(2 * config.worthwhile * kHit, config.samples);
  EXPECT_FALSE(profile.sampling());
  EXPECT_TRUE(profile.too_quick_for_blocks(config, kHit, true));
  EXPECT_FALSE(profile.too_quick_for_blocks(config, kHit, false));
  EXPECT_FALSE(profile.too_quick_for_blocks(config, kHit / 4, true));
}

TEST_F(Profile, LatencyInBytes) {
  EXPECT_EQ(profile.latency_bytes(), 0u);
  profile.sample(config, 8, 1000, kHit);
  EXPECT_EQ(profile.latency_bytes(), 0u);
  profile.sample(config, 40000, 21000, kHit);  // half a tick for each byte
  EXPECT_EQ(profile.latency_bytes(), 2000u);
}

TEST(DropCauses, AddUpByCall) {
  DropCauses causes;
  EXPECT_EQ(causes.add("MPI_Barrier", 10), 10u);
  EXPECT_EQ(causes.add("MPI_Win_lock", 11), 1u);
  EXPECT_EQ(causes.add("MPI_Barrier", 11), 0u) << "nothing was fetched";
  EXPECT_EQ(causes.add("MPI_Barrier", 16), 5u);
  ASSERT_EQ(causes.rows().size(), 2u);
  EXPECT_EQ(causes.rows()[0].call, "MPI_Barrier");
  EXPECT_EQ(causes.rows()[0].times, 2u);
  EXPECT_EQ(causes.rows()[0].bytes, 15u);
}

TEST(DropCauses, TooManyBecomeOneRow) {
  DropCauses causes;
  constexpr std::array<std::string_view, 18> kCalls = {"a", "b", "c", "d", "e", "f", "g", "h", "i",
                                                       "j", "k", "l", "m", "n", "o", "p", "q", "r"};
  std::uint64_t fetched = 0;
  for (const std::string_view call : kCalls) causes.add(call, ++fetched);
  causes.add("a", ++fetched);
  EXPECT_EQ(causes.rows().size(), 16u);
  EXPECT_EQ(causes.rows()[0].times, 2u);
  EXPECT_EQ(causes.rows()[15].call, "others");
  EXPECT_EQ(causes.rows()[15].times, 3u);  // p, q and r
}

TEST(InvalidationEpochs, OfOneTargetAndOfAll) {
  InvalidationEpochs epochs;
  std::uint64_t one = 0;
  const std::uint64_t other = 0;
  const std::uint64_t before = epochs.now();
  epochs.advance(one);
  EXPECT_TRUE(epochs.any(one, before));
  EXPECT_FALSE(epochs.any(other, before));
  EXPECT_FALSE(epochs.any(one, epochs.now()));
  const std::uint64_t later = epochs.now();
  epochs.advance_all();
  EXPECT_TRUE(epochs.any(one, later));
  EXPECT_TRUE(epochs.any(other, later));
}

/// With one tick a nanosecond.
class WaitMeterTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kShort = 5'000, kLong = 1'100'000;

  /// A wait, or `alike` of them, that ends when nothing else happened since the last.
  bool wait(std::uint64_t spent, std::uint64_t alike = 1) {
    now_ += spent * alike;
    return meter_.waited(spent, now_, alike, [this] { return ahead_; });
  }
  void wait_until_watching() {
    for (std::uint64_t i = 1; i < WaitMeter::kFewest; ++i) EXPECT_FALSE(wait(kLong));
    EXPECT_TRUE(wait(kLong));
  }

  std::uint64_t now_ = 1000, ahead_ = 0;
  WaitMeter meter_{now_, 1.0};
};

TEST_F(WaitMeterTest, ShortWaitsAreOnlyCounted) {
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(wait(kShort));
  EXPECT_FALSE(meter_.measuring());
  EXPECT_EQ(meter_.waits(), 1000U);
  EXPECT_EQ(meter_.late_ns(), 0U);
}

TEST_F(WaitMeterTest, RareLongOnesAreNotWatched) {
  for (int i = 0; i < 1000; ++i) {
    now_ += 100 * kLong;
    EXPECT_FALSE(wait(kLong));
  }
  EXPECT_EQ(meter_.late_ns(), 0U);
}

TEST_F(WaitMeterTest, LongOnesAreLateOnceTheyAreJudged) {
  wait_until_watching();
  EXPECT_FALSE(wait(kShort));
  EXPECT_EQ(meter_.late_ns(), 0U);
  EXPECT_FALSE(wait(kLong));
  EXPECT_EQ(meter_.late_waits(), 1U);
  // The four before were as long, so they are taken for as late.
  EXPECT_EQ(meter_.late_ns(), 5 * (kLong - WaitMeter::kAttentiveNs));
}

TEST_F(WaitMeterTest, BytesTakeTime) {
  wait_until_watching();
  meter_.issued(60'000);
  ahead_ += 60'000;  // more than the wait is long, together
  wait(kLong);
  EXPECT_EQ(meter_.late_waits(), 0U);
  wait(kLong);  // they are complete now
  EXPECT_EQ(meter_.late_waits(), 1U);
  // Half of what was judged was late, and so is taken half of the four before.
  EXPECT_EQ(meter_.late_ns(), 3 * (kLong - WaitMeter::kAttentiveNs));
}

TEST_F(WaitMeterTest, OneOfSeveralStandsForAll) {
  for (std::uint64_t i = 1; i < WaitMeter::kFewest; ++i) EXPECT_FALSE(wait(kLong, 10));
  EXPECT_TRUE(wait(kLong, 10));
  EXPECT_EQ(meter_.waits(), 10 * WaitMeter::kFewest);
  wait(kLong);
  EXPECT_EQ(meter_.late_ns(), 41 * (kLong - WaitMeter::kAttentiveNs));
}

TEST_F(WaitMeterTest, OneLongOneAmongShortOnesStandsForNoMoreThanTheTimeThatPassed) {
  for (std::uint64_t i = 0; i < WaitMeter::kFewest; ++i) {
    now_ += kLong;  // nearly all of the 1,000 waits were short
    now_ += kLong;
    meter_.waited(kLong, now_, 1000, [] { return 0; });
  }
  EXPECT_TRUE(meter_.measuring());
  wait(kLong);
  EXPECT_LE(meter_.late_ns(), now_);
}

TEST(Coherence, OnlyWhatOutlivesAcquiresIsKeptBehindOne) {
  Coherence coherence(Mode::automatic, 5);
  EXPECT_FALSE(coherence.apply_acquires(5));
  EXPECT_TRUE(coherence.apply_acquires(6));
  EXPECT_FALSE(coherence.apply_acquires(6)) << "once for each";
  coherence.set_mode(Mode::always, "the window's info");
  EXPECT_EQ(coherence.mode(), Mode::always);
  EXPECT_EQ(coherence.mode_reason(), "the window's info");
  EXPECT_FALSE(coherence.apply_acquires(7));
}

TEST(Coherence, AnAcquireIsPassedOverWhereAllBeforeItWereApplied) {
  Coherence coherence(Mode::automatic, 5);
  coherence.pass_over(5);
  EXPECT_TRUE(coherence.applied(6));
  EXPECT_FALSE(coherence.apply_acquires(6));
  coherence.pass_over(7);
  EXPECT_TRUE(coherence.apply_acquires(7)) << "of number 7, nobody said anything";
}

TEST(Verifier, ComparesItsShareOfTheHitsAndKeepsTheFirstFailures) {
  EXPECT_FALSE(Verifier(0).on());
  Verifier all(1), none(0), some(0.25);
  int chosen = 0;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(all.chosen());
    EXPECT_FALSE(none.chosen());
    chosen += some.chosen();
  }
  EXPECT_NEAR(chosen, 250, 50);
  int kept = 0;
  for (; all.room(); ++kept) all.add_failure("bytes differ");
  EXPECT_EQ(kept, 100);
  EXPECT_EQ(all.failures().size(), 100u);
}

constexpr std::uint64_t kLarge = OnceTrial::kLarge;
constexpr std::uint32_t kTrial = OnceTrial::kLargeGets.trial;
constexpr auto never = [](std::uint64_t) { return false; };
constexpr auto always = [](std::uint64_t) { return true; };

/// Places in no order.
std::uint64_t scattered(std::uint64_t i) { return i * i * kLarge; }

/// Large gets that are looked up in vain, as many as a trial takes.
OnceTrial after_a_trial() {
  OnceTrial trial{OnceTrial::kLargeGets};
  for (std::uint32_t i = 0; i < kTrial; ++i) {
    EXPECT_FALSE(trial.leaves(1, i * kLarge, kLarge));
    trial.missed(1 + i, never);
  }
  return trial;
}

/// Of so many gets, each of another place, those that are looked up.
std::uint32_t not_left(OnceTrial& trial, std::uint32_t gets) {
  std::uint32_t looked = 0;
  for (std::uint32_t i = 0; i < gets; ++i) looked += trial.leaves(1, scattered(i), kLarge) ? 0 : 1;
  return looked;
}

TEST(OnceTrial, WhereNoLargeGetComesBackASampleAndSomeInARowAreLookedUp) {
  OnceTrial trial = after_a_trial();
  const std::uint32_t gets = 64 * OnceTrial::kBetweenLooks;
  const double expected =
      gets * (1.0 / OnceTrial::kSample + double{OnceTrial::kLook} / OnceTrial::kBetweenLooks);
  EXPECT_NEAR(not_left(trial, gets), expected, expected / 10);
  // Until the first look in a row, a place is of the sample or not.
  trial = after_a_trial();
  for (std::uint32_t i = 0; i < 100; ++i)
    EXPECT_EQ(trial.leaves(2, scattered(i), kLarge), trial.leaves(2, scattered(i), kLarge));
  trial = after_a_trial();
  std::uint32_t in_a_row = 0;
  for (std::uint32_t i = 0; i < 2 * OnceTrial::kBetweenLooks; ++i)
    if (!trial.leaves(1, i % 4 < 2 ? 0x5000 : 0x7000, kLarge)) ++in_a_row;
  EXPECT_EQ(in_a_row, 2 * OnceTrial::kLook) << "places that are not of the sample";
}

TEST(OnceTrial, GetsInOrderAreLookedUp) {
  OnceTrial trial = after_a_trial();
  for (std::uint32_t i = 0; i < 9; ++i) trial.leaves(1, 100 + 3 * i * kLarge, kLarge);
  EXPECT_TRUE(trial.leaves(1, 100 + 27 * kLarge, kLarge, true)) << "its trip is hidden";
  for (std::uint32_t i = 10; i < 100; ++i)
    EXPECT_FALSE(trial.leaves(1, 100 + 3 * i * kLarge, kLarge)) << i;
}

/// As in phases that read much twice before everything is dropped.
TEST(OnceTrial, WhereOneComesBackLaterTheNextTrialIsLonger) {
  OnceTrial trial = after_a_trial();
  trial.missed(500, always);
  for (std::uint32_t i = 1; i < OnceTrial::kLargeGets.longest_trial; ++i)
    trial.missed(500 + i, never);
  EXPECT_EQ(not_left(trial, 100), 100u);
  trial.missed(5000, never);
  EXPECT_LT(not_left(trial, 100), 50u);
}

TEST(OnceTrial, ALargeGetThatComesBackEndsIt) {
  OnceTrial trial = after_a_trial();
  std::uint64_t asked_from = 0;
  trial.missed(500, [&](std::uint64_t number) {
    asked_from = number;
    return false;
  });
  EXPECT_EQ(asked_from, 1u) << "none did since the trial began";
  EXPECT_LT(not_left(trial, 100), 50u);
  trial.missed(600, always);
  EXPECT_EQ(not_left(trial, 100), 100u);
  trial = after_a_trial();
  trial.served();
  EXPECT_EQ(not_left(trial, 100), 100u);
}

TEST(OnceTrial, ATrialInWhichOneCameBackIsNoVerdict) {
  OnceTrial trial{OnceTrial::kLargeGets};
  for (int trials = 0; trials < 4; ++trials)
    for (std::uint32_t i = 0; i < kTrial; ++i) trial.missed(1 + i, always);
  EXPECT_EQ(not_left(trial, 100), 100u);
}

/// A trial of small gets, with a wait for so many of them.
OnceTrial of_small_gets(std::uint32_t gets_per_wait) {
  OnceTrial trial{OnceTrial::kSmallGets};
  for (std::uint32_t i = 0; i < OnceTrial::kSmallGets.trial; ++i) {
    EXPECT_FALSE(trial.leaves(1, scattered(i), 8));
    trial.missed(1 + i, never);
    if (i % gets_per_wait == 0) trial.waited();
  }
  return trial;
}

TEST(OnceTrial, SmallGetsAreLookedUpWhereEachIsWaitedFor) {
  OnceTrial bursts = of_small_gets(8);
  EXPECT_LT(not_left(bursts, 100), 50u);
  OnceTrial pairs = of_small_gets(2);
  EXPECT_EQ(not_left(pairs, 100), 100u);
}

/// Some of any that read at random do.
TEST(OnceTrial, OfSmallGetsAFewMayComeBack) {
  constexpr auto kSmall = OnceTrial::kSmallGets;
  const auto play = [&](OnceTrial& trial, std::uint32_t misses_per_hit) {
    for (std::uint32_t i = 0; i < kSmall.trial; ++i) {
      trial.missed(1 + i, always);
      if (i % misses_per_hit == 0) trial.served();
    }
  };
  OnceTrial few{kSmall}, many{kSmall};
  play(few, 2 * kSmall.misses_per_hit);
  EXPECT_LT(not_left(few, 100), 50u);
  play(few, 2 * kSmall.misses_per_hit);
  EXPECT_LT(not_left(few, 100), 50u);
  play(few, kSmall.misses_per_hit / 2);
  EXPECT_EQ(not_left(few, 100), 100u) << "more come back";
  play(many, kSmall.misses_per_hit / 2);
  EXPECT_EQ(not_left(many, 100), 100u);
}

TEST(OnceTrial, SmallGetsInOrderAreLookedUpIfTheyAreNear) {
  OnceTrial trial = of_small_gets(8);
  const auto looked_up = [&](std::uint64_t step) {
    std::uint32_t looked = 0;
    for (std::uint32_t i = 0; i < 100; ++i) looked += trial.leaves(1, i * step, 8) ? 0 : 1;
    return looked;
  };
  EXPECT_GT(looked_up(16), 95u);
  EXPECT_GT(looked_up(std::uint64_t{0} - 16), 95u) << "backwards";
  EXPECT_LT(looked_up(80), 50u);
}

TEST(SkipReason, EachReasonHasWordsOfItsOwn) {
  EXPECT_STREQ(words_of(SkipReason::bypassed), "the target answers as fast as the cache would");
  EXPECT_STREQ(words_of(SkipReason::short_lived),
               "copies were always invalidated before they were used");
  EXPECT_STREQ(words_of(SkipReason::not_reused), "of gets like it, none came back");
}

}  // namespace
}  // namespace hob::gets
