// Finding entries by the memory that they cover: all of those that a write overlaps (RangeMap), and
// one that holds a range although it begins elsewhere (ContainerMap).
#include "cache/range_map.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "cache/container_map.hpp"

namespace hob::cache {
namespace {

class Ranges : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(entries_.reserve(kEntries, kEntries));
    ASSERT_TRUE(entries_.grow(kEntries));
    ASSERT_TRUE(map_.activate(64));
  }
  void insert(std::uint32_t e, std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) {
    entries_[e].target = target;
    entries_[e].displacement = begin;
    entries_[e].extent = bytes;
    map_.insert(entries_, e);
  }
  std::set<std::uint32_t> overlapping(std::uint32_t target, std::uint64_t begin,
                                      std::uint64_t bytes) {
    std::set<std::uint32_t> found;
    EXPECT_TRUE(map_.overlapping(entries_, target, begin, bytes,
                                 [&](std::uint32_t e) { found.insert(e); }));
    return found;
  }

  static constexpr std::uint64_t kEntries = 512;
  LazyArray<Entry> entries_;
  RangeMap map_;
};

using Found = std::set<std::uint32_t>;

TEST_F(Ranges, TouchingIsNotOverlapping) {
  insert(1, 0, 1000, 100);
  EXPECT_EQ(overlapping(0, 1100, 50), Found{});
  EXPECT_EQ(overlapping(0, 900, 100), Found{});
  EXPECT_EQ(overlapping(0, 1099, 1), Found{1});
  EXPECT_EQ(overlapping(0, 900, 101), Found{1});
  EXPECT_EQ(overlapping(1, 1000, 100), Found{}) << "another target's";
}

TEST_F(Ranges, WhatBeginsInAnEarlierGranuleIsFound) {
  insert(1, 0, 4000, 60000);
  EXPECT_EQ(overlapping(0, 63999, 1), Found{1});
  EXPECT_EQ(overlapping(0, 64000, 1), Found{});
}

TEST_F(Ranges, LongEntriesAreFoundFromAnywhere) {
  insert(1, 0, 0, std::uint64_t{1} << 30);
  insert(2, 0, 100, 8);
  EXPECT_EQ(overlapping(0, std::uint64_t{1} << 29, 8), Found{1});
  EXPECT_EQ(overlapping(0, 100, 8), (Found{1, 2}));
}

TEST_F(Ranges, AVeryLongWriteIsNotLookedFor) {
  EXPECT_FALSE(map_.overlapping(entries_, 0, 0, std::uint64_t{1} << 40, [](std::uint32_t) {}));
}

TEST_F(Ranges, EntriesMayGoWhileTheyAreVisited) {
  for (std::uint32_t e = 0; e < 8; ++e) insert(e, 0, 100, 8);
  std::uint32_t visited = 0;
  EXPECT_TRUE(map_.overlapping(entries_, 0, 100, 8, [&](std::uint32_t e) {
    map_.remove(entries_, e);
    ++visited;
  }));
  EXPECT_EQ(visited, 8u);
  EXPECT_EQ(overlapping(0, 100, 8), Found{});
}

TEST_F(Ranges, AsALinearSearchWouldSay) {
  std::mt19937 random(1);
  std::set<std::uint32_t> live;
  const auto pick = [&](std::uint32_t most) { return static_cast<std::uint32_t>(random() % most); };
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t e = pick(kEntries);
    if (live.erase(e) != 0)
      map_.remove(entries_, e);
    else if (live.insert(e).second)
      insert(e, pick(3), pick(1 << 20), 1 + pick(pick(8) == 0 ? 1 << 18 : 1 << 10));
    if (step % 16 != 0) continue;
    const std::uint32_t target = pick(3);
    const std::uint64_t begin = pick(1 << 20), bytes = 1 + pick(1 << 14);
    Found expected;
    for (const std::uint32_t other : live) {
      const Entry& entry = entries_[other];
      if (entry.target == target && entry.displacement < begin + bytes &&
          begin < entry.displacement + entry.extent)
        expected.insert(other);
    }
    ASSERT_EQ(overlapping(target, begin, bytes), expected) << step;
  }
}

class Containers : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(map_.allocate(256)); }
  std::uint32_t find(std::uint32_t target, std::uint64_t begin, std::uint64_t bytes) {
    return map_.find(target, begin, bytes, [](std::uint32_t) { return true; });
  }
  ContainerMap map_;
};

TEST_F(Containers, AnEntryIsFoundFromEachOfItsGranules) {
  map_.insert(0, 1000, 20000, 7);
  EXPECT_EQ(find(0, 5000, 100), 7u);
  EXPECT_EQ(find(0, 20000, 100), 7u);
  EXPECT_EQ(find(0, 100000, 100), kNone);
  EXPECT_EQ(find(1, 5000, 100), kNone) << "another target's";
}

TEST_F(Containers, WhatIsNoLongerCannotContain) {
  map_.insert(0, 1000, 64, 7);
  EXPECT_EQ(find(0, 1010, 64), kNone);
}

TEST_F(Containers, TheCallerDecides) {
  map_.insert(0, 0, 4096, 7);
  map_.insert(0, 0, 8192, 8);
  EXPECT_EQ(map_.find(0, 100, 8, [](std::uint32_t e) { return e == 8; }), 8u);
  EXPECT_EQ(map_.find(0, 100, 8, [](std::uint32_t) { return false; }), kNone);
}

TEST_F(Containers, HugeEntriesTakeACoarserLevel) {
  map_.insert(0, 0, std::uint64_t{1} << 32, 7);
  EXPECT_EQ(find(0, (std::uint64_t{1} << 32) - 4096, 8), 7u);
}

TEST_F(Containers, ClearForgetsAll) {
  map_.insert(0, 0, 8192, 7);
  map_.clear();
  EXPECT_EQ(find(0, 100, 8), kNone);
  map_.insert(0, 0, 8192, 9);
  EXPECT_EQ(find(0, 100, 8), 9u);
}

TEST_F(Containers, ALongOneIsNotDrivenOutByManyShortOnes) {
  map_.insert(0, 0, 65536, 7);
  for (std::uint32_t e = 100; e < 102; ++e) map_.insert(0, 64 * e, 64, e);
  EXPECT_EQ(map_.find(0, 64, 128, [](std::uint32_t e) { return e == 7; }), 7u);
}

}  // namespace
}  // namespace hob::cache
