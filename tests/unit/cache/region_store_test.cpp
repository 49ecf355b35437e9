// The storage under both ways of finding free regions, against a plain list of what is taken.

#include "cache/region_store.hpp"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "cache/hash.hpp"
#include "cache/lazy_memory.hpp"
#include "cache/paper/best_fit.hpp"
#include "cache/segregated_fit.hpp"

namespace hob::cache {
namespace {

template <class Free>
class AnyStore : public testing::Test {
 protected:
  using Store = RegionStore<Free>;

  /// Regions cover the buffer without gaps, neighbours agree, no two free ones touch.
  void check(Store& store, const std::map<std::uint32_t, std::uint64_t>& taken) {
    if (taken.empty()) return;
    std::uint32_t r = taken.begin()->first;
    while (store.prev(r) != kNone) r = store.prev(r);
    ASSERT_EQ(store.offset(r), 0u);
    std::uint64_t used = 0;
    std::size_t regions = 0;
    bool was_free = false;
    for (; r != kNone; r = store.next(r)) {
      ASSERT_FALSE(was_free && store.is_free(r)) << "neighbours not merged";
      was_free = store.is_free(r);
      if (!was_free) {
        ASSERT_TRUE(taken.contains(r));
        ASSERT_EQ(store.offset(r) % Store::kGrain, 0u);
        ASSERT_GE(store.size(r), taken.at(r));
        used += store.size(r);
        ++regions;
        std::uint64_t adjacent = 0;
        if (store.prev(r) != kNone && store.is_free(store.prev(r)))
          adjacent += store.size(store.prev(r));
        if (store.next(r) != kNone && store.is_free(store.next(r)))
          adjacent += store.size(store.next(r));
        ASSERT_EQ(store.adjacent_free(r), adjacent);
      }
      if (store.next(r) != kNone) {
        ASSERT_EQ(store.offset(r) + store.size(r), store.offset(store.next(r)));
        ASSERT_EQ(store.prev(store.next(r)), r);
      }
    }
    ASSERT_EQ(regions, taken.size());
    ASSERT_EQ(used, store.used());
  }
};

using Fits = testing::Types<BestFit, SegregatedFit>;
TYPED_TEST_SUITE(AnyStore, Fits);

TYPED_TEST(AnyStore, RandomAllocations) {
  RegionStore<TypeParam> store;
  ASSERT_TRUE(store.init(1 << 18, 1 << 20, 10000));
  Random random(3);
  std::map<std::uint32_t, std::uint64_t> taken;
  for (std::uint32_t i = 0; i < 20000; ++i) {
    const std::uint64_t size =
        random.below(10) == 0 ? 1 + random.below(20000) : 1 + random.below(500);
    const std::uint64_t what = random.below(10);
    if (what < 5) {
      if (const std::uint32_t r = store.allocate(size, i); r != kNone) {
        ASSERT_FALSE(taken.contains(r));
        ASSERT_EQ(store.owner(r), i);
        taken[r] = size;
      }
    } else if (!taken.empty()) {
      auto it = taken.lower_bound(static_cast<std::uint32_t>(random.below(4000)));
      if (it == taken.end()) it = taken.begin();
      if (what < 7) {
        if (store.grow(it->first, it->second + size)) it->second += size;
      } else {
        store.release(it->first);
        taken.erase(it);
      }
    }
    ASSERT_LE(store.used(), store.capacity());
    if (i % 100 == 0) {
      this->check(store, taken);
      if (this->HasFatalFailure()) return;
    }
  }
}

TYPED_TEST(AnyStore, WhatIsGivenBackIsOnePieceAgain) {
  RegionStore<TypeParam> store;
  ASSERT_TRUE(store.init(1 << 16, 1 << 16, 2000));
  std::vector<std::uint32_t> regions;
  for (std::uint32_t i = 0; i < 1024; ++i) regions.push_back(store.allocate(64, i));
  EXPECT_EQ(store.allocate(1, 5000), kNone);
  for (std::size_t i = 0; i < regions.size(); i += 2) store.release(regions[i]);
  EXPECT_EQ(store.allocate(65, 5000), kNone) << "only single lines are free";
  for (std::size_t i = 1; i < regions.size(); i += 2) store.release(regions[i]);
  EXPECT_NE(store.allocate(1 << 16, 5000), kNone);
}

TYPED_TEST(AnyStore, CapacityGrowsAndShrinksAroundWhatIsThere) {
  RegionStore<TypeParam> store;
  ASSERT_TRUE(store.init(1 << 16, 1 << 20, 2000));
  std::map<std::uint32_t, std::uint32_t> region_of;
  for (std::uint32_t i = 0; i < 100; ++i) region_of[i] = store.allocate(640, i);
  for (std::uint32_t i = 0; i < 100; ++i)
    std::memset(store.data(region_of[i]), static_cast<int>(i), 640);
  for (std::uint32_t i = 0; i < 100; i += 2) {
    store.release(region_of[i]);
    region_of.erase(i);
  }
  std::map<std::uint32_t, std::byte*> moved;
  const auto note = [&](std::uint32_t owner, std::byte* data) { moved[owner] = data; };
  EXPECT_FALSE(store.set_capacity(49 * 640, note)) << "less than what is used";
  EXPECT_TRUE(store.set_capacity(50 * 640, note));
  EXPECT_GT(moved.size(), 40u);
  EXPECT_EQ(store.allocate(1, 999), kNone);
  for (const auto& [owner, region] : region_of)
    for (int k = 0; k < 640; ++k)
      ASSERT_EQ(static_cast<std::uint32_t>(store.data(region)[k]), owner);
  EXPECT_TRUE(store.set_capacity(1 << 20, note));
  EXPECT_NE(store.allocate(500000, 999), kNone);
}

// Memory that is touched at once keeps a process out of MPI for as long.
TYPED_TEST(AnyStore, LittleMoreMemoryIsTouchedThanIsNeeded) {
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20, kBlock = std::uint64_t{256} << 10;
  RegionStore<TypeParam> store;
  ASSERT_TRUE(store.init(kMost, kMost, 2000));
  for (std::uint64_t used = kBlock; used <= kMost; used += kBlock) {
    ASSERT_NE(store.allocate(kBlock, static_cast<std::uint32_t>(used / kBlock)), kNone);
    EXPECT_LE(store.bytes(), used + 3 * LazyMemory::kMostAhead);
  }
}

TEST(BestFit, TakesTheSmallestThatFits) {
  RegionStore<BestFit> store;
  ASSERT_TRUE(store.init(1 << 16, 1 << 16, 100));
  std::vector<std::uint32_t> regions;
  // Holes of 5, 3, 9 and 4 lines, kept apart by others.
  for (const std::uint64_t lines : {5, 1, 3, 1, 9, 1, 4, 1})
    regions.push_back(store.allocate(lines * 64, 1));
  const std::uint64_t hole_of_4 = store.offset(regions[6]);
  for (const std::size_t i : {0, 2, 4, 6}) store.release(regions[i]);
  EXPECT_EQ(store.offset(store.allocate(4 * 64, 2)), hole_of_4);
}

TEST(SegregatedFit, LargeSizesAreFound) {
  RegionStore<SegregatedFit> store;
  ASSERT_TRUE(store.init(std::uint64_t{1} << 26, std::uint64_t{1} << 26, 100));
  const std::uint32_t a = store.allocate((std::uint64_t{1} << 25) - 64, 1);
  const std::uint32_t b = store.allocate((std::uint64_t{1} << 25) - 64, 2);
  ASSERT_NE(a, kNone);
  ASSERT_NE(b, kNone);
  store.release(a);
  EXPECT_NE(store.allocate((std::uint64_t{1} << 25) - 64, 3), kNone);
}

// A process with a thousand windows keeps addresses for the program, and none of its caches is
// without.
TEST(LazyMemory, ShareShrinksWithWhatIsSetAside) {
  constexpr std::uint64_t kGigabyte = std::uint64_t{1} << 30;
  constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
  EXPECT_EQ(LazyMemory::share(kGigabyte, 64 * kMegabyte), kGigabyte);
  EXPECT_EQ(LazyMemory::share(4096, 4096), 4096U);
  std::vector<LazyMemory> all(1000);
  std::uint64_t sum = 0;
  for (LazyMemory& memory : all) {
    const std::uint64_t share = LazyMemory::share(kGigabyte, 64 * kMegabyte);
    EXPECT_GE(share, 64 * kMegabyte);
    ASSERT_TRUE(memory.reserve(share, share));
    sum += share;
  }
  EXPECT_LE(sum, 130 * kGigabyte);
  all.clear();
  EXPECT_EQ(LazyMemory::share(kGigabyte, 64 * kMegabyte), kGigabyte);
}

}  // namespace
}  // namespace hob::cache
