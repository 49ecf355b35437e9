#include "cache/cache.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "cache/block.hpp"

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

std::vector<char> pattern(std::uint64_t size, int first = 1) {
  std::vector<char> bytes(size);
  for (std::uint64_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(first + static_cast<int>(i * 7));
  return bytes;
}

/// Looks up, and fetches what is missing. True if all of it was there.
bool get(Cache& cache, const Key& key, std::uint64_t size) {
  const Lookup found = cache.find(key, size);
  if (found.kind == Hit::full) return true;
  const std::vector<char> bytes = pattern(size);
  if (found.kind == Hit::missing) {
    const Reservation place = cache.reserve(key, size);
    if (place.entry) cache.fill(place.entry, bytes.data(), size);
  }
  return false;
}

class AnyPolicy : public testing::TestWithParam<Policy> {};
INSTANTIATE_TEST_SUITE_P(Policies, AnyPolicy,
                         testing::Values(Policy::standard, Policy::paper, Policy::temporal,
                                         Policy::positional, Policy::lru, Policy::sieve,
                                         Policy::s3fifo),
                         [](const auto& p) { return std::string(policy_name(p.param)); });

TEST(FullHit, IsNoneOnWhatIsTooOldPolledOrFirstAskedFor) {
  auto cache = Cache::create(fixed(Policy::standard, 64, 1 << 16));
  const std::vector<char> bytes = pattern(256);
  cache->find({0, 0, 0}, 64);
  cache->fill(cache->reserve({0, 0, 0}, 64).entry, bytes.data(), 64, 0, 100);
  cache->fill(cache->reserve({0, 512, 0}, 64, {.tag = 5}).entry, bytes.data(), 64, 0, 100);
  const std::uint64_t gets = cache->stats().gets;

  EXPECT_EQ(cache->find_full({0, 0, 0}, 65, {}).data, nullptr) << "too long";
  EXPECT_EQ(cache->find_full({0, 8, 0}, 8, {}).data, nullptr) << "inside of another one";
  EXPECT_EQ(cache->find_full({0, 0, 0}, 64, {.oldest = 101}).data, nullptr);
  EXPECT_EQ(cache->find_full({0, 512, 0}, 64, {}).data, nullptr) << "nobody asked for it yet";
  EXPECT_EQ(cache->stats().gets, gets) << "counted by find()";

  const FullHit first = cache->find_full({0, 0, 0}, 64, {.oldest = 100, .kept_at = 101});
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(std::memcmp(first.data, bytes.data(), 64), 0);
  EXPECT_EQ(first.what, FullHit::kKept);
  EXPECT_EQ(cache->find_full({0, 0, 0}, 8, {.kept_at = 100}).what, 0);
  EXPECT_EQ(cache->stats().gets, gets + 2);
  EXPECT_EQ(cache->find_full({0, 0, 0}, 8, {.longest_row = 3}).data, nullptr);
  EXPECT_EQ(cache->find({0, 0, 0}, 8).consecutive, 3u);
  EXPECT_NE(cache->find_full({0, 0, 0}, 8, {.longest_row = 3}).data, nullptr);
}

TEST(FullHit, SaysTheTagOfAnEntryOnce) {
  auto cache = Cache::create(fixed(Policy::standard, 64, 1 << 16));
  const std::vector<char> bytes = pattern(64);
  cache->find({0, 512, 0}, 64);
  cache->fill(cache->reserve({0, 512, 0}, 64, {.tag = 5}).entry, bytes.data(), 64, 0, 100);

  EXPECT_EQ(cache->find_full({0, 512, 0}, 64, {.oldest_tagged = 101}).data, nullptr);
  const FullHit first = cache->find_full({0, 512, 0}, 64, {.oldest_tagged = 100});
  ASSERT_NE(first.data, nullptr);
  EXPECT_EQ(first.what, FullHit::kTagged);
  EXPECT_EQ(cache->last_tag(), 5u);
  const FullHit second = cache->find_full({0, 512, 0}, 64, {.oldest_tagged = 101});
  ASSERT_NE(second.data, nullptr);
  EXPECT_EQ(second.what, 0);
}

TEST(PolicyNames, ParseBack) {
  for (const std::string_view name : kPolicyNames) {
    ASSERT_TRUE(parse_policy(name).has_value());
    EXPECT_EQ(policy_name(*parse_policy(name)), name);
  }
  EXPECT_FALSE(parse_policy("LRU").has_value());
}

TEST_P(AnyPolicy, TakesNoMemoryBeforeItsFirstReserve) {
  const auto cache = Cache::create(fixed(GetParam(), 1 << 20, 1 << 30));
  EXPECT_EQ(cache->find({0, 0, 0}, 8).kind, Hit::missing);
  EXPECT_LT(cache->memory_bytes(), 32768u);
}

TEST_P(AnyPolicy, MissingPendingCached) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  const Key key{3, 1000, 0};
  EXPECT_EQ(cache->find(key, 100).kind, Hit::missing);
  const Reservation place = cache->reserve(key, 100, {0, 42});
  ASSERT_EQ(place.access, Access::direct);

  const Lookup pending = cache->find(key, 60);
  EXPECT_EQ(pending.kind, Hit::pending_full);
  EXPECT_EQ(pending.cookie, 42u);
  EXPECT_EQ(pending.entry, place.entry);
  EXPECT_EQ(pending.available, 0u);
  EXPECT_EQ(cache->find(key, 101).kind, Hit::pending_partial);
  EXPECT_EQ(cache->reserve(key, 100).access, Access::failing);

  const auto bytes = pattern(100);
  EXPECT_TRUE(cache->fill(place.entry, bytes.data(), 100, 0, 77));
  EXPECT_FALSE(cache->fill(place.entry, bytes.data(), 100)) << "filled twice";
  const Lookup hit = cache->find(key, 100);
  ASSERT_EQ(hit.kind, Hit::full);
  EXPECT_EQ(hit.fetched, 77u);
  EXPECT_EQ(std::memcmp(hit.data, bytes.data(), 100), 0);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(hit.data) % 64, 0u) << "not on a cache line";

  const Stats& s = cache->stats();
  EXPECT_EQ(s.gets, 4u);
  EXPECT_EQ(s.hits_full, 1u);
  EXPECT_EQ(s.hits_pending, 1u);
  EXPECT_EQ(s.hits_partial, 1u);
  EXPECT_EQ(s.missing, 1u);
  EXPECT_EQ(s.direct, 1u);
  EXPECT_EQ(s.failing, 1u);
  EXPECT_EQ(s.reuse.counts[3], 1u) << "one entry with four gets";
  EXPECT_EQ(s.get_size.counts[7], 3u);  // 100, 100, 101; 60 is below 64
}

TEST_P(AnyPolicy, PartialHitIsExtended) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  const Key key{0, 4096, 0};
  const auto bytes = pattern(500);
  const auto other = pattern(2000, 9);
  auto place = cache->reserve(key, 100);
  ASSERT_TRUE(cache->fill(place.entry, bytes.data(), 100));
  // A neighbour that keeps the entry from growing where it is.
  ASSERT_TRUE(get(*cache, {0, 90000, 0}, 64) == false);

  const Lookup partial = cache->find(key, 500);
  ASSERT_EQ(partial.kind, Hit::partial);
  EXPECT_EQ(partial.available, 100u);
  ASSERT_TRUE(cache->extend(partial.entry, 500));
  EXPECT_EQ(cache->find(key, 100).kind, Hit::full) << "the old bytes are still served";
  EXPECT_EQ(cache->find(key, 500).kind, Hit::pending_full);
  EXPECT_FALSE(cache->extend(partial.entry, 600)) << "already pending";
  ASSERT_TRUE(cache->fill(partial.entry, bytes.data() + 100, 400, 100));
  const Lookup full = cache->find(key, 500);
  ASSERT_EQ(full.kind, Hit::full);
  EXPECT_EQ(std::memcmp(full.data, bytes.data(), 500), 0);

  // Given up: what was there before remains.
  ASSERT_TRUE(cache->extend(full.entry, 2000));
  cache->abandon(full.entry);
  EXPECT_EQ(cache->find(key, 500).kind, Hit::full);
  EXPECT_EQ(cache->find(key, 501).kind, Hit::partial);
  EXPECT_FALSE(cache->extend(full.entry, 1 << 17)) << "longer than the storage";
  EXPECT_EQ(cache->pending(), 0u);
}

TEST_P(AnyPolicy, ContainedGetIsAHit) {
  const auto cache = Cache::create(fixed(GetParam(), 256, 4 << 20));
  for (const std::uint64_t size :
       {std::uint64_t{100}, std::uint64_t{5000}, std::uint64_t{70000}, std::uint64_t{1} << 20}) {
    SCOPED_TRACE(size);
    const std::uint64_t begin = size * 1000 + 12345;
    const auto bytes = pattern(size);
    const Reservation place = cache->reserve({7, begin, 0}, size, {0, 5});
    ASSERT_TRUE(place.entry);
    const Lookup pending = cache->find({7, begin + size / 2, 0}, size / 4);
    ASSERT_EQ(pending.kind, Hit::pending_full);
    EXPECT_TRUE(pending.contained);
    EXPECT_EQ(pending.offset, size / 2);
    EXPECT_EQ(pending.cookie, 5u);
    ASSERT_TRUE(cache->fill(place.entry, bytes.data(), size));
    for (const std::uint64_t at : {size / 3, size / 2, size - 9}) {
      const std::uint64_t n = std::min<std::uint64_t>(size - at, 50);
      const Lookup hit = cache->find({7, begin + at, 0}, n);
      ASSERT_EQ(hit.kind, Hit::full) << at;
      EXPECT_TRUE(hit.contained);
      EXPECT_EQ(std::memcmp(hit.data, bytes.data() + at, n), 0);
    }
    EXPECT_EQ(cache->find({7, begin + size - 10, 0}, 11).kind, Hit::missing) << "sticks out";
    EXPECT_EQ(cache->find({8, begin + 10, 0}, 10).kind, Hit::missing) << "another target";
    EXPECT_EQ(cache->find({7, begin + 10, 3}, 10).kind, Hit::missing) << "another layout";
  }
}

TEST_P(AnyPolicy, LayoutsAreToldApart) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  ASSERT_FALSE(get(*cache, {1, 0, 11}, 64));
  EXPECT_TRUE(get(*cache, {1, 0, 11}, 64));
  EXPECT_EQ(cache->find({1, 0, 0}, 64).kind, Hit::missing);
  EXPECT_EQ(cache->find({1, 0, 12}, 64).kind, Hit::missing);
}

TEST_P(AnyPolicy, KeysFarApartAreToldApart) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  const std::uint64_t far = std::uint64_t{1} << 32;
  ASSERT_FALSE(get(*cache, {1, 64, 0}, 64));
  EXPECT_EQ(cache->find({1, 64 + far, 0}, 64).kind, Hit::missing);
  EXPECT_EQ(cache->find({1, 64 + 1024 * far, 0}, 64).kind, Hit::missing);
}

TEST_P(AnyPolicy, RegularStridesAreAllKept) {
  for (const std::uint64_t stride : {8, 64, 256, 4096, 65536, 1 << 20}) {
    const auto cache = Cache::create(fixed(GetParam(), 1500, 1 << 20));
    for (std::uint64_t i = 0; i < 1000; ++i) get(*cache, {0, i * stride, 0}, 8);
    std::uint64_t kept = 0;
    for (std::uint64_t i = 0; i < 1000; ++i)
      kept += cache->find({0, i * stride, 0}, 8).kind == Hit::full ? 1 : 0;
    EXPECT_EQ(kept, 1000u) << "stride " << stride;
  }
}

TEST_P(AnyPolicy, PendingIsNeverEvicted) {
  const auto cache = Cache::create(fixed(GetParam(), 128, 64 * 64));
  std::vector<EntryId> held;
  for (std::uint64_t i = 0; i < 32; ++i) {
    const auto place = cache->reserve({0, i * 64, 0}, 64);
    ASSERT_TRUE(place.entry);
    held.push_back(place.entry);
  }
  for (std::uint64_t i = 0; i < 20000; ++i) get(*cache, {1, (i % 500) * 64, 0}, 64);
  EXPECT_GT(cache->stats().capacity + cache->stats().conflicting + cache->stats().failing, 0u);
  for (const EntryId id : held) EXPECT_NE(cache->writable(id), nullptr);
  EXPECT_EQ(cache->pending(), 32u);
}

TEST_P(AnyPolicy, AHundredThousandPendingWorkOrFail) {
  Config config = fixed(GetParam(), 4096, 16 << 20);
  const auto cache = Cache::create(config);
  std::vector<EntryId> held;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    ASSERT_EQ(cache->find({0, i * 64, 0}, 64).kind, Hit::missing);
    const auto place = cache->reserve({0, i * 64, 0}, 64);
    if (place.entry) held.push_back(place.entry);
  }
  EXPECT_GT(held.size(), 3000u);
  EXPECT_LE(held.size(), cache->index_slots());
  EXPECT_EQ(cache->pending(), held.size());
  const auto bytes = pattern(64);
  for (const EntryId id : held) ASSERT_TRUE(cache->fill(id, bytes.data(), 64));
  EXPECT_EQ(cache->pending(), 0u);
}

TEST(Adaptive, AHundredThousandPendingAreAllKept) {
  const auto cache = Cache::create(Config{});
  for (std::uint64_t i = 0; i < 100000; ++i) {
    ASSERT_EQ(cache->find({0, i * 64, 0}, 64).kind, Hit::missing);
    cache->reserve({0, i * 64, 0}, 64);
  }
  EXPECT_GT(cache->pending(), 60000u);
}

TEST_P(AnyPolicy, DropsTouchNoEntry) {
  const auto cache = Cache::create(fixed(GetParam(), 8192, 1 << 20));
  for (std::uint64_t i = 0; i < 4000; ++i)
    get(*cache, {static_cast<std::uint32_t>(i % 8), i * 64, 0}, 64);
  const auto pending = cache->reserve({3, 1 << 30, 0}, 64);
  ASSERT_TRUE(pending.entry);
  const std::uint64_t before = cache->entries();
  cache->drop_target(3);
  EXPECT_EQ(cache->entries(), before);
  EXPECT_FALSE(cache->fill(pending.entry, pattern(64).data(), 64));
  for (std::uint64_t i = 0; i < 4000; ++i) {
    const Lookup found = cache->find({static_cast<std::uint32_t>(i % 8), i * 64, 0}, 64);
    ASSERT_EQ(found.kind, i % 8 == 3 ? Hit::missing : Hit::full) << i;
  }
  cache->drop_all();
  EXPECT_EQ(cache->entries(), 0u);
  EXPECT_EQ(cache->used_bytes(), 0u);
  for (std::uint64_t i = 0; i < 4000; ++i)
    ASSERT_EQ(cache->find({static_cast<std::uint32_t>(i % 8), i * 64, 0}, 64).kind, Hit::missing);
  // It works on as before.
  for (std::uint64_t i = 0; i < 4000; ++i) get(*cache, {0, i * 64, 0}, 64);
  EXPECT_EQ(cache->find({0, 64, 0}, 64).kind, Hit::full);
}

TEST_P(AnyPolicy, SpaceOfADroppedTargetComesBack) {
  const auto cache = Cache::create(fixed(GetParam(), 8192, 1 << 18));
  for (int round = 0; round < 50; ++round) {
    for (std::uint64_t i = 0; i < 1000; ++i) get(*cache, {1, i * 64, 0}, 64);
    cache->drop_target(1);
  }
  for (std::uint64_t i = 0; i < 3000; ++i) get(*cache, {0, i * 64, 0}, 64);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < 3000; ++i)
    kept += cache->find({0, i * 64, 0}, 64).kind == Hit::full ? 1 : 0;
  EXPECT_GT(kept, 2990u);
}

TEST_P(AnyPolicy, DropRangeDropsWhatOverlapsAndNothingElse) {
  const auto cache = Cache::create(fixed(GetParam(), 8192, 1 << 21));
  for (std::uint64_t i = 0; i < 1000; ++i) get(*cache, {2, i * 100, 0}, 100);
  get(*cache, {2, 200000, 0}, 300000);  // longer than most
  const Key strided{2, 1000000, 9};
  ASSERT_EQ(cache->find(strided, 64).kind, Hit::missing);
  const auto place = cache->reserve(strided, 64, {5000, 0});
  ASSERT_TRUE(cache->fill(place.entry, pattern(64).data(), 64));

  const std::uint64_t before = cache->entries();
  cache->drop_range(2, 5050, 100);  // entries 50 and 51
  cache->drop_range(3, 0, 10000);
  cache->drop_range(2, 1004999, 1);
  cache->drop_range(2, 0, 0);
  EXPECT_EQ(cache->entries(), before - 3);
  EXPECT_EQ(cache->find(strided, 64).kind, Hit::missing);
  for (std::uint64_t i = 0; i < 1000; ++i)
    ASSERT_EQ(cache->find({2, i * 100, 0}, 100).kind,
              i == 50 || i == 51 ? Hit::missing : Hit::full);
  EXPECT_EQ(cache->find({2, 200000, 0}, 300000).kind, Hit::full);
  cache->drop_range(2, 499999, 1);
  EXPECT_EQ(cache->find({2, 200000, 0}, 300000).kind, Hit::missing);

  cache->drop_range(2, 0, ~std::uint64_t{0});
  EXPECT_EQ(cache->find({2, 0, 0}, 100).kind, Hit::missing);
}

TEST_P(AnyPolicy, DropDifferingKeepsWhatEquals) {
  const auto cache = Cache::create(fixed(GetParam(), 1024, 1 << 21));
  const auto bytes_at = [](std::uint64_t displacement, std::size_t bytes) {
    std::vector<std::byte> result(bytes);
    for (std::size_t i = 0; i < bytes; ++i) result[i] = static_cast<std::byte>(displacement + i);
    return result;
  };
  const auto fetch = [&](const Key& key, std::uint64_t from, std::uint64_t extent = 0) {
    ASSERT_EQ(cache->find(key, 1000).kind, Hit::missing);
    const auto place = cache->reserve(key, 1000, {.extent = extent});
    ASSERT_TRUE(cache->fill(place.entry, bytes_at(from, 1000).data(), 1000));
  };
  fetch({2, 0, 0}, 0);
  fetch({2, 5000, 0}, 5000);
  fetch({2, 6500, 0}, 6501);
  fetch({2, 9000, 0}, 9001);
  fetch({3, 5000, 0}, 5001);
  fetch({2, 4000, 9}, 4000, 5000);
  const auto under_way = cache->reserve({2, 7000, 1}, 3000);
  cache->drop_differing(2, 0, bytes_at(0, 500).data(), 500);
  cache->drop_differing(2, 5500, bytes_at(5500, 2000).data(), 2000);
  cache->drop_differing(2, 6500, bytes_at(1, 0).data(), 0);
  EXPECT_EQ(cache->find({2, 0, 0}, 1000).kind, Hit::full);
  EXPECT_EQ(cache->find({2, 5000, 0}, 1000).kind, Hit::full);
  EXPECT_EQ(cache->find({2, 6500, 0}, 1000).kind, Hit::missing) << "it differs";
  EXPECT_EQ(cache->find({2, 9000, 0}, 1000).kind, Hit::full) << "it is elsewhere";
  EXPECT_EQ(cache->find({3, 5000, 0}, 1000).kind, Hit::full) << "of another target";
  EXPECT_EQ(cache->find({2, 4000, 9}, 1000).kind, Hit::missing) << "it has gaps";
  EXPECT_FALSE(cache->fill(under_way.entry, bytes_at(0, 1000).data(), 1000)) << "was under way";
}

TEST_P(AnyPolicy, WhatWasEvictedLeavesTheListsOfPlaces) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 8 * 64));
  for (std::uint64_t i = 0; i < 8; ++i) get(*cache, {0, i * 64, 0}, 64);
  cache->drop_range(0, 1 << 20, 1);  // from here on there are lists
  for (std::uint64_t i = 0; i < 4; ++i) get(*cache, {0, i * 64, 0}, 64);
  // Each takes the place of one, in the middle of a list if it is the one that was used last.
  for (std::uint64_t i = 1; i < 4; ++i) get(*cache, {0, i << 20, 0}, 64);
  cache->drop_range(0, 0, 8 * 64);
  for (std::uint64_t i = 0; i < 8; ++i)
    EXPECT_EQ(cache->find({0, i * 64, 0}, 64).kind, Hit::missing) << i;
}

TEST_P(AnyPolicy, TheBlockThatServedLastIsDroppedWithItsTarget) {
  constexpr std::uint32_t shift = kMinBlockShift;
  constexpr std::uint64_t size = std::uint64_t{1} << shift;
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  const auto place = cache->reserve({3, 4 * size, block_layout(shift)}, size, {0, 0, 0, 8});
  ASSERT_TRUE(place.entry);
  ASSERT_TRUE(cache->fill(place.entry, pattern(size).data(), size));
  EXPECT_EQ(cache->find({3, 4 * size + 8, 0}, 8).kind, Hit::full);
  EXPECT_EQ(cache->find({3, 4 * size + 16, 0}, 8).kind, Hit::full);
  cache->drop_target(3);
  EXPECT_EQ(cache->find({3, 4 * size + 24, 0}, 8).kind, Hit::missing);
}

TEST_P(AnyPolicy, GrowingLosesNothing) {
  const auto cache = Cache::create(fixed(GetParam(), 1024, 1 << 18));
  for (std::uint64_t i = 0; i < 600; ++i) get(*cache, {0, i * 64, 0}, 64 + i % 200);
  std::vector<bool> there;
  for (std::uint64_t i = 0; i < 600; ++i)
    there.push_back(cache->find({0, i * 64, 0}, 64).kind == Hit::full);
  const std::uint64_t entries = cache->entries();
  cache->resize(5000, 1 << 20);
  EXPECT_GE(cache->index_slots(), 5000u);
  EXPECT_EQ(cache->storage_bytes(), 1u << 20);
  EXPECT_EQ(cache->stats().lost, 0u);
  EXPECT_EQ(cache->entries(), entries);
  const auto bytes = pattern(64);
  for (std::uint64_t i = 0; i < 600; ++i) {
    const Lookup found = cache->find({0, i * 64, 0}, 64);
    ASSERT_EQ(found.kind == Hit::full, there[i]) << i;
    if (there[i]) {
      ASSERT_EQ(std::memcmp(found.data, bytes.data(), 64), 0);
    }
  }
}

TEST_P(AnyPolicy, ShrinkingKeepsWhatFits) {
  const auto cache = Cache::create(fixed(GetParam(), 8192, 4 << 20));
  for (std::uint64_t i = 0; i < 2000; ++i) get(*cache, {0, i * 1024, 0}, 1000);
  // Holes: every other entry goes.
  for (std::uint64_t i = 0; i < 2000; i += 2) cache->drop_range(0, i * 1024, 1);
  const auto held = cache->reserve({0, std::uint64_t{1} << 40, 0}, 1000);
  ASSERT_TRUE(held.entry);
  const std::uint64_t before = cache->memory_bytes();
  cache->resize(8192, 1001 * 1024 + 64);
  EXPECT_EQ(cache->stats().lost, 0u);
  EXPECT_LT(cache->memory_bytes(), before);
  const auto bytes = pattern(1000);
  for (std::uint64_t i = 1; i < 2000; i += 2) {
    const Lookup found = cache->find({0, i * 1024, 0}, 1000);
    ASSERT_EQ(found.kind, Hit::full) << i;
    ASSERT_EQ(std::memcmp(found.data, bytes.data(), 1000), 0);
  }
  cache->resize(8192, 100 * 1024);
  EXPECT_GT(cache->stats().lost, 800u);
  EXPECT_LE(cache->used_bytes(), 100u * 1024);
  EXPECT_GT(cache->entries(), 80u);
  EXPECT_NE(cache->writable(held.entry), nullptr) << "pending entries stay";
  cache->resize(64, 100 * 1024);
  EXPECT_LE(cache->entries(), 64u);
  EXPECT_NE(cache->writable(held.entry), nullptr) << "pending entries stay";
}

TEST_P(AnyPolicy, TooLargeFailsAndHurtsNothing) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  get(*cache, {0, 0, 0}, 64);
  EXPECT_EQ(cache->find({0, 1 << 20, 0}, std::uint64_t{1} << 40).kind, Hit::missing);
  EXPECT_EQ(cache->reserve({0, 1 << 20, 0}, std::uint64_t{1} << 40).access, Access::failing);
  EXPECT_EQ(cache->reserve({0, 1 << 20, 0}, ~std::uint64_t{0}).access, Access::failing);
  EXPECT_EQ(cache->find({0, 0, 0}, 64).kind, Hit::full);
}

TEST_P(AnyPolicy, ZeroBytesAreAlwaysThere) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  EXPECT_EQ(cache->find({0, 0, 0}, 0).kind, Hit::full);
  EXPECT_EQ(cache->reserve({0, 0, 0}, 0).access, Access::failing);
  EXPECT_EQ(cache->stats().gets, 0u);
}

TEST_P(AnyPolicy, RefreshSaysWhetherBytesChanged) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  const Key key{0, 0, 0};
  get(*cache, key, 64);
  const Lookup hit = cache->find(key, 64);
  auto bytes = pattern(64);
  EXPECT_FALSE(cache->refresh(hit.entry, bytes.data(), 64, 0, 5));
  EXPECT_EQ(cache->find(key, 64).fetched, 5u);
  bytes[63] = static_cast<char>(bytes[63] + 1);
  EXPECT_TRUE(cache->refresh(hit.entry, bytes.data() + 60, 4, 60, 6));
  EXPECT_EQ(std::memcmp(cache->find(key, 64).data, bytes.data(), 64), 0);
}

TEST_P(AnyPolicy, CountsHitsWithNothingInBetween) {
  const auto cache = Cache::create(fixed(GetParam(), 64, 1 << 16));
  get(*cache, {0, 0, 0}, 8);
  get(*cache, {0, 64, 0}, 8);
  for (std::uint32_t i = 1; i <= 5; ++i) EXPECT_EQ(cache->find({0, 0, 0}, 8).consecutive, i);
  EXPECT_EQ(cache->find({0, 64, 0}, 8).consecutive, 1u);
  EXPECT_EQ(cache->find({0, 0, 0}, 8).consecutive, 1u);
  cache->find({0, 999, 0}, 8);
  EXPECT_EQ(cache->find({0, 0, 0}, 8).consecutive, 1u) << "a miss was in between";
}

TEST_P(AnyPolicy, OutOfMemoryIsAFailingAccess) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers need memory themselves";
#endif
  Config config = fixed(GetParam(), 1 << 14, std::uint64_t{1} << 30);
  const auto cache = Cache::create(config);
  ASSERT_FALSE(get(*cache, {0, 0, 0}, 1000));
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &old), 0);
  rlimit little = old;
  little.rlim_cur = 1;  // no private writable memory beyond what there is
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &little), 0);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (cache->find({0, i << 20, 0}, 8000).kind == Hit::missing) {
      const Reservation place = cache->reserve({0, i << 20, 0}, 8000);
      if (place.entry) {
        std::memset(cache->writable(place.entry), 1, 8000);
        kept += cache->complete(place.entry) ? 1 : 0;
      }
    }
  }
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &old), 0);
  EXPECT_LT(cache->used_bytes(), 8u << 20);
  EXPECT_GT(kept, 0u);
}

/// Lets the process take `more` bytes of addresses while it lives.
class AddressLimit {
 public:
  explicit AddressLimit(std::uint64_t more) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    getrlimit(RLIMIT_AS, &before_);
    rlimit limit = before_;
    limit.rlim_cur = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~AddressLimit() { setrlimit(RLIMIT_AS, &before_); }
  AddressLimit(const AddressLimit&) = delete;
  AddressLimit& operator=(const AddressLimit&) = delete;

 private:
  rlimit before_{};
};

TEST(Memory, ALimitOnAddressesLeavesThemToTheProgram) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers take more addresses than any limit has";
#endif
  constexpr std::uint64_t kLeft = std::uint64_t{1} << 30;
  const AddressLimit limit(kLeft);
  std::vector<std::unique_ptr<Cache>> caches;
  for (int i = 0; i < 40; ++i) {
    Config config;
    config.adaptation.max_storage_bytes = std::uint64_t{1} << 30;
    caches.push_back(Cache::create(config));
    ASSERT_NE(caches.back(), nullptr);
    get(*caches.back(), {0, 0, 0}, 1000);
    const bool kept = caches.back()->find({0, 0, 0}, 1000).kind == Hit::full;
    EXPECT_TRUE(kept || i > 0) << "the first one works";
  }
  const std::uint64_t most = kLeft - kLeft / 8;
  void* const programs = ::mmap(nullptr, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(programs, MAP_FAILED);
  if (programs != MAP_FAILED) ::munmap(programs, most);
}

TEST(Adaptive, SizesFollowTheFourSignals) {
  for (const Policy policy : {Policy::paper, Policy::standard}) {
    SCOPED_TRACE(policy_name(policy));
    Config config;
    config.policy = policy;
    config.index_slots = 256;
    config.storage_bytes = 1 << 16;
    config.adaptation.min_storage_bytes = 1 << 14;
    config.adaptation.interval = 512;
    const auto cache = Cache::create(config);
    // Too many keys, too many bytes: both grow, until all of it is there.
    for (int round = 0; round < 30; ++round)
      for (std::uint64_t i = 0; i < 2000; ++i) get(*cache, {0, i * 512, 0}, 500);
    EXPECT_GE(cache->index_slots(), 2000u);
    EXPECT_GE(cache->storage_bytes(), 2000u * 512);
    std::uint64_t hits = cache->stats().hits_full;
    for (std::uint64_t i = 0; i < 2000; ++i) get(*cache, {0, i * 512, 0}, 500);
    EXPECT_EQ(cache->stats().hits_full - hits, 2000u);
    const std::uint64_t large = cache->storage_bytes();
    // A small working set with stable hits: S_w shrinks, and nothing of it is lost.
    cache->drop_all();
    for (int round = 0; round < 2000; ++round)
      for (std::uint64_t i = 0; i < 20; ++i) get(*cache, {1, i * 512, 0}, 500);
    EXPECT_LT(cache->storage_bytes(), large);
    hits = cache->stats().hits_full;
    for (std::uint64_t i = 0; i < 20; ++i) get(*cache, {1, i * 512, 0}, 500);
    EXPECT_EQ(cache->stats().hits_full - hits, 20u);
    bool grew_index = false;
    bool grew_storage = false;
    bool shrank_storage = false;
    for (const Adjustment& a : cache->stats().adjustments) {
      grew_index |= a.of_index && a.to > a.from && a.reason == Reason::conflicts;
      grew_storage |= !a.of_index && a.to > a.from && a.reason == Reason::capacity;
      shrank_storage |= !a.of_index && a.to < a.from && a.reason == Reason::stable_and_free;
    }
    EXPECT_TRUE(grew_index);
    EXPECT_TRUE(grew_storage);
    EXPECT_TRUE(shrank_storage);
  }
}

TEST(Adaptive, AStreamReadOnceTakesNoMoreRoom) {
  Config config;
  config.storage_bytes = 1 << 20;
  const auto cache = Cache::create(config);
  for (std::uint64_t i = 0; i < 50000; ++i) get(*cache, {0, i * 512, 0}, 500);
  EXPECT_EQ(cache->storage_bytes(), 1u << 20);
  EXPECT_GT(cache->stats().capacity + cache->stats().failing, 40000u);
  // Once it comes back there is something to gain.
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t i = 0; i < 3000; ++i) get(*cache, {1, i * 512, 0}, 500);
  EXPECT_GT(cache->storage_bytes(), 1u << 20);
}

TEST(Adaptive, SparseIndexShrinks) {
  Config config;
  config.policy = Policy::paper;
  config.index_slots = 1 << 16;
  config.storage_bytes = 1 << 16;
  config.adaptation.max_storage_bytes = 1 << 16;
  const auto cache = Cache::create(config);
  for (std::uint64_t i = 0; i < 20000; ++i) get(*cache, {0, (i * 7919 % 5000) * 1024, 0}, 1000);
  EXPECT_LT(cache->index_slots(), 1u << 16);
  bool sparse = false;
  for (const Adjustment& a : cache->stats().adjustments)
    sparse |= a.of_index && a.to < a.from && a.reason == Reason::sparse;
  EXPECT_TRUE(sparse);
}

TEST(Occupancy, SeriesStaysBounded) {
  const auto cache = Cache::create(fixed(Policy::standard, 64, 1 << 14));
  for (std::uint64_t i = 0; i < 200000; ++i) get(*cache, {0, i % 100 * 64, 0}, 64);
  const auto& points = cache->stats().occupancy.points();
  EXPECT_GT(points.size(), OccupancySeries::kMaxPoints / 4);
  EXPECT_LE(points.size(), OccupancySeries::kMaxPoints);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LT(points[i - 1].get, points[i].get);
  EXPECT_GT(points.back().get, 190000u);
}

TEST(Scale, MemoryFollowsTargetsUsedNotTargets) {
  const auto few = Cache::create(Config{});
  const auto spread = Cache::create(Config{});
  for (std::uint64_t i = 0; i < 1000; ++i) {
    get(*few, {static_cast<std::uint32_t>(i % 100), 4096 * i, 0}, 64);
    get(*spread, {static_cast<std::uint32_t>(i % 100 * 10007), 4096 * i, 0}, 64);
  }
  few->drop_target(7);
  spread->drop_target(999'999);
  EXPECT_EQ(few->memory_bytes(), spread->memory_bytes());
}

TEST_P(AnyPolicy, OneEntryIsDroppedByItsName) {
  const auto cache = Cache::create(fixed(GetParam(), 1 << 10, 1 << 20));
  get(*cache, {0, 0, 0}, 64);
  get(*cache, {0, 64, 0}, 64);
  const EntryId first = cache->find({0, 0, 0}, 64).entry;
  ASSERT_TRUE(first);
  cache->drop(first);
  EXPECT_EQ(cache->find({0, 0, 0}, 64).kind, Hit::missing);
  EXPECT_EQ(cache->find({0, 64, 0}, 64).kind, Hit::full);
  EXPECT_EQ(cache->entries(), 1u);
  get(*cache, {0, 0, 0}, 64);
  cache->drop(first);  // another entry may have its place: it stays
  EXPECT_EQ(cache->find({0, 0, 0}, 64).kind, Hit::full);
  EXPECT_EQ(cache->entries(), 2u);
}

TEST(Reasons, EachHasWords) {
  EXPECT_STREQ(reason_text(Reason::sparse), "index too sparse to find victims");
  EXPECT_STREQ(reason_text(Reason::requested), "requested");
  EXPECT_STREQ(reason_text(Reason::out_of_memory), "out of memory");
}

}  // namespace
}  // namespace hob::cache
