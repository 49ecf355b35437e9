// What the times of gets that went to the library teach.
#include "gets/trip_meter.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace hob::gets {
namespace {

class Trips : public testing::Test {
 protected:
  /// A get of `bytes` is under way to the target, whose call took `issue` ticks.
  PendingGet& issue(std::uint64_t bytes, std::uint64_t issue = 10,
                    PendingGet::Purpose purpose = PendingGet::Purpose::fetch) {
    const std::uint32_t index = under_way_.add(
        target_.pending, 1, {.bytes = bytes, .issue_ticks = issue, .when = 1, .purpose = purpose});
    return under_way_[index];
  }
  void flushed(TripMeter& meter, std::uint64_t waited, bool batched = false) {
    meter.learn(target_, waited, batched);
    under_way_.finish_until(target_.pending, under_way_.last_birth(), [](PendingGet&) {});
  }
  TripMeter meter(bool one_node = false) {
    return {{.profile = {.one_node = one_node, .samples = 8}}, hit_, under_way_, guard_, *cache_};
  }

  HitCost hit_{100, 0};
  GetsUnderWay under_way_;
  PollGuard guard_{{.hits = 64, .age = 1000, .share = 0.1}};
  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  TargetState target_;
};

TEST_F(Trips, ATargetWhoseGetsAreNoDearerThanHitsIsBypassed) {
  TripMeter meter = this->meter();
  for (int i = 0; i < 8; ++i) {
    EXPECT_FALSE(target_.profile.bypassed()) << i;
    issue(8);
    flushed(meter, 200);
  }
  EXPECT_TRUE(target_.profile.bypassed());
  EXPECT_EQ(target_.profile.fastest(), 210u) << "the call and the flush";
}

TEST_F(Trips, ATargetOfANetworkIsCachedAndItsTripsPaceTheGuard) {
  TripMeter meter = this->meter();
  for (int i = 0; i < 8; ++i) {
    issue(8);
    flushed(meter, 9990);
  }
  EXPECT_FALSE(target_.profile.sampling());
  EXPECT_FALSE(target_.profile.bypassed());
  EXPECT_FALSE(guard_.due(1, 0, 100'000)) << "ten times a trip's 10,000 ticks, at a share of 0.1";
  EXPECT_TRUE(guard_.due(1, 0, 100'001));
}

TEST_F(Trips, AFirstTargetThatIsLateDoesNotStopTheGuardForLong) {
  TripMeter meter = this->meter();
  pay::Price cost(1e9, 1);
  meter.set_block_cost(cost);
  issue(8);
  flushed(meter, 1'000'000);
  EXPECT_FALSE(guard_.due(1, 0, 9'000'000));
  issue(8);
  flushed(meter, 990);
  EXPECT_TRUE(guard_.due(1, 0, 10'001)) << "ten times the second trip's 1000 ticks";
}

TEST_F(Trips, ABurstTeachesOnlyOnOneNode) {
  for (const bool one_node : {false, true}) {
    target_ = {};
    TripMeter meter = this->meter(one_node);
    for (int i = 0; i < 16; ++i) issue(8);
    flushed(meter, 1600);
    EXPECT_EQ(target_.profile.sampling(), !one_node);
  }
  EXPECT_EQ(target_.profile.fastest(), 110u) << "its call, and its share of the flush";
}

TEST_F(Trips, WaitsForOneSmallGetSayWhatAHitSaves) {
  TripMeter meter = this->meter();
  for (int i = 0; i < 10; ++i) {
    issue(2000);
    flushed(meter, 5000);
    issue(1000);
    issue(100);
    flushed(meter, 5000);
  }
  EXPECT_EQ(meter.savings().typical_trip(), 0u);
  for (int i = 0; i < 10; ++i) {
    issue(1000);
    flushed(meter, 5000);
  }
  EXPECT_EQ(meter.savings().typical_trip(), 5010u);
}

TEST_F(Trips, OfABurstEachGetIsAShare) {
  TripMeter meter = this->meter();
  for (int i = 0; i < 10; ++i) {
    for (int get = 0; get < 100; ++get) issue(8);
    flushed(meter, 99'000);
  }
  EXPECT_EQ(meter.savings().estimate({.trips = 0, .hits = 10}).usual, 10 * (1000 - 100));
}

TEST_F(Trips, WhatWasWaitedForBeforeIsNoPrice) {
  TripMeter meter = this->meter();
  for (int i = 0; i < 10; ++i) {
    issue(8);
    meter.learn(target_, 1, false, false);
    under_way_.finish_until(target_.pending, under_way_.last_birth(), [](PendingGet&) {});
  }
  EXPECT_FALSE(meter.savings().estimate({.trips = 10, .hits = 10}).known);
}

TEST_F(Trips, OneWaitForSeveralTargets) {
  TripMeter meter = this->meter();
  TargetState other;
  for (int i = 0; i < 10; ++i) {
    issue(8);
    under_way_.add(other.pending, 2, {.bytes = 8, .issue_ticks = 10});
    TripMeter::Together together;
    meter.add(together, target_);
    meter.add(together, other);
    EXPECT_EQ(together.gets, 2u);
    EXPECT_EQ(together.bytes, 16u);
    meter.waited(together, 1980);
    for (TargetState* each : {&target_, &other})
      under_way_.finish_until(each->pending, under_way_.last_birth(), [](PendingGet&) {});
  }
  EXPECT_EQ(meter.savings().estimate({.trips = 0, .hits = 10}).usual, 10 * (1000 - 100));
}

TEST_F(Trips, BlocksCostWhatSingleGetsAndBlocksTook) {
  TripMeter meter = this->meter();
  pay::Price cost(1e9, 1);
  meter.set_block_cost(cost);
  issue(64);
  flushed(meter, 990);
  EXPECT_EQ(cost.latency(), 1000);
  issue(1 << 20, 10, PendingGet::Purpose::ahead);
  flushed(meter, (2 << 20) + 990);
  EXPECT_TRUE(cost.rate_seen());
  EXPECT_LT(cost.per_byte(), 2.1);
  EXPECT_GT(cost.per_byte(), 1);
  const double before = cost.latency();
  issue(64, 10, PendingGet::Purpose::refetch);
  flushed(meter, 1);
  EXPECT_EQ(cost.latency(), before) << "who fetches again does not wait for it alone";
}

TEST_F(Trips, OfABurstSomeSmallGetsCountUnlessTheyWentInABatch) {
  TripMeter meter = this->meter();
  pay::Price cost(1e9, 1);
  meter.set_block_cost(cost);
  for (int i = 0; i < 10; ++i) issue(8);
  flushed(meter, 10'000, true);
  EXPECT_EQ(cost.latency(), 1e9);
  for (int i = 0; i < 10; ++i) issue(8);
  flushed(meter, 10'000);
  EXPECT_EQ(cost.latency(), 1010);
  for (int i = 0; i < 10; ++i) issue(8, 0);  // calls that nobody timed
  flushed(meter, 10);
  EXPECT_EQ(cost.latency(), 1010);
}

TEST_F(Trips, NothingIsLearnedFromAFlushThatHadNothingToWaitFor) {
  TripMeter meter = this->meter();
  flushed(meter, 1);
  EXPECT_EQ(meter.savings().typical_trip(), 0u);
  EXPECT_TRUE(target_.profile.sampling());
}

/// How many of 256 large places are copied when they are read twice.
std::uint64_t copied_of(cache::Cache& cache) {
  const auto copied = [&] {
    const cache::Stats& stats = cache.stats();
    return stats.direct + stats.capacity + stats.conflicting;
  };
  const std::uint64_t before = copied();
  const std::vector<std::byte> bytes(CopyWorth::kLarge);
  for (std::uint64_t i = 0; i < 512; ++i) {
    const cache::Key key{1, i % 256 * CopyWorth::kLarge, 0};
    if (cache.find(key, CopyWorth::kLarge).data) continue;
    if (const auto place = cache.reserve(key, CopyWorth::kLarge); place.entry)
      cache.fill(place.entry, bytes.data(), CopyWorth::kLarge);
  }
  return copied() - before;
}

TEST_F(Trips, WhetherLargeGetsAreKeptDependsOnWhatTheyAndTheirCopiesTake) {
  for (const bool dear : {false, true}) {
    cache_ = cache::Cache::create({});
    TripMeter meter = this->meter();
    for (int i = 0; i < 20; ++i) {
      issue(CopyWorth::kLarge);
      flushed(meter, dear ? 10'000 : 2000);
      meter.stored(CopyWorth::kLarge, 1200);
    }
    if (dear)
      EXPECT_GE(copied_of(*cache_), 250u);
    else
      EXPECT_LE(copied_of(*cache_), 150u);
  }
}

}  // namespace
}  // namespace hob::gets
