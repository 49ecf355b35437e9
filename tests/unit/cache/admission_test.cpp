// Which newcomers the default policy takes in, and what goes for them.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "cache/cache.hpp"

namespace hob::cache {
namespace {

Config fixed(Policy policy, std::uint64_t slots, std::uint64_t bytes) {
  Config config;
  config.policy = policy;
  config.index_slots = slots;
  config.storage_bytes = bytes;
  config.adaptation.enabled = false;
  return config;
}

/// Looks up, and fetches what is missing. True if all of it was there.
bool get(Cache& cache, const Key& key, std::uint64_t size) {
  const Lookup found = cache.find(key, size);
  if (found.kind == Hit::full) return true;
  const std::vector<char> bytes(size, 'x');
  if (found.kind == Hit::missing) {
    const Reservation place = cache.reserve(key, size);
    if (place.entry) cache.fill(place.entry, bytes.data(), size);
  }
  return false;
}

TEST(Admission, WhatIsWorthLittleIsRefusedWithoutASearch) {
  const auto cache = Cache::create(fixed(Policy::standard, 1 << 12, 64 << 10));
  for (int round = 0; round < 30; ++round)
    for (std::uint64_t i = 0; i < 1000; ++i) get(*cache, {0, i * 64, 0}, 64);
  const std::uint64_t before = cache->stats().selections, failing = cache->stats().failing;
  for (std::uint64_t i = 0; i < 4000; ++i) {
    get(*cache, {0, i % 1000 * 64, 0}, 64);
    get(*cache, {1, i * 64, 0}, 64);
  }
  const std::uint64_t refused = cache->stats().failing - failing;
  EXPECT_GT(refused, 2500u);
  EXPECT_LT(cache->stats().selections - before, 4000 - refused + refused / 4);
}

std::uint64_t kept(const Cache& cache) {
  const Stats& stats = cache.stats();
  return stats.direct + stats.conflicting + stats.capacity;
}

TEST(Admission, OfLargeGetsThatAreReadOnceFewAreKept) {
  const auto cache = Cache::create({.policy = Policy::standard});
  for (std::uint64_t i = 0; i < 2000; ++i) get(*cache, {0, i << 16, 0}, 1 << 16);
  EXPECT_LE(kept(*cache), 64u);
}

TEST(Admission, LargeGetsThatComeBackAreKeptTheSecondTime) {
  const auto cache = Cache::create({.policy = Policy::standard});
  constexpr std::uint64_t kPlaces = 500;
  std::array<std::uint64_t, 3> hits{};
  for (std::uint64_t& round : hits)
    for (std::uint64_t i = 0; i < kPlaces; ++i) round += get(*cache, {0, i << 16, 0}, 1 << 16);
  EXPECT_LE(hits[0], 0u);
  EXPECT_GE(hits[2], kPlaces * 9 / 10);
}

TEST(Admission, ReuseIsInTimeUnlessEverythingWasDroppedInBetween) {
  const auto cache = Cache::create({.policy = Policy::standard});
  for (std::uint64_t i = 0; i < 500; ++i) get(*cache, {0, i << 16, 0}, 1 << 16);
  const auto asked_again = [&] {
    const std::uint64_t next = cache->stats().gets + 1;
    EXPECT_FALSE(cache->reused_since(next));
    get(*cache, {0, 499 << 16, 0}, 1 << 16);
    return cache->reused_since(next);
  };
  cache->drop_all();
  EXPECT_FALSE(asked_again()) << "no copy could have served it";
  get(*cache, {0, 500 << 16, 0}, 1 << 16);
  EXPECT_TRUE(asked_again());
  EXPECT_TRUE(Cache::create({.policy = Policy::lru})->reused_since(1)) << "it does not know";
}

/// Where one in three is asked for again soon, hits pay for the other two.
TEST(Admission, LargeGetsAreKeptWhereHitsPayForThem) {
  const auto cache = Cache::create({.policy = Policy::standard});
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    get(*cache, {0, i << 16, 0}, 1 << 16);
    if (i % 3 == 0 && i >= 30) hits += get(*cache, {0, (i - 30) << 16, 0}, 1 << 16);
  }
  EXPECT_GE(hits, 900u) << "of 990";
}

/// Reads all of `places` twice, forgets them, and so on: half of the gets could be hits. The copies
/// that were stored for each 100 gets.
std::uint64_t stored_of_a_hundred(Cache& cache) {
  constexpr std::uint64_t kPlaces = 256, kRounds = 20;
  const std::uint64_t before = kept(cache);
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    for (std::uint64_t i = 0; i < 2 * kPlaces; ++i) get(cache, {0, i % kPlaces << 16, 0}, 1 << 16);
    cache.drop_all();
  }
  return (kept(cache) - before) * 100 / (2 * kPlaces * kRounds);
}

TEST(Admission, LargeGetsAreKeptWhereOneHitPaysForACopy) {
  const auto cache = Cache::create({.policy = Policy::standard});
  cache->set_stores_per_hit(2);
  EXPECT_GE(stored_of_a_hundred(*cache), 45u) << "each once";
}

TEST(Admission, LargeGetsAreNotKeptWhereACopyTakesMoreThanAHitSaves) {
  const auto cache = Cache::create({.policy = Policy::standard});
  cache->set_stores_per_hit(0.6);
  EXPECT_LE(stored_of_a_hundred(*cache), 6u);
  cache->set_stores_per_hit(4);
  stored_of_a_hundred(*cache);
  EXPECT_GE(stored_of_a_hundred(*cache), 45u) << "the program waits for each of them now";
}

TEST(Admission, LargeGetsThatAreUsedManyTimesAreKeptThoughOneHitDoesNotPayForACopy) {
  const auto cache = Cache::create({.policy = Policy::standard});
  cache->set_stores_per_hit(0.6);
  constexpr std::uint64_t kPlaces = 256;
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < 100 * kPlaces; ++i)
    hits += get(*cache, {0, i % kPlaces << 16, 0}, 1 << 16);
  EXPECT_GE(hits, 90 * kPlaces);
}

// As in a graph, where the longest list is asked for by nearly everybody.
TEST(Admission, WhatIsLongAndUsedAllTheTimeTakesTheRoomOfManySmallOnes) {
  const auto cache = Cache::create(fixed(Policy::standard, 4096, 128 * 1024));
  std::uint64_t small = 0;
  int hits = 0;
  for (int round = 0; round < 1000; ++round) {
    for (int i = 0; i < 8; ++i) get(*cache, {1, 64 * (small++ % 20000), 0}, 64);
    if (round >= 300 && get(*cache, {2, 0, 0}, 64 * 1024) && round >= 500) ++hits;
  }
  EXPECT_GT(hits, 450) << "of 500, of which none need go to the network";
}

}  // namespace
}  // namespace hob::cache
