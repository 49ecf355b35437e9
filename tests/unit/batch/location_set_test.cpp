#include "batch/location_set.hpp"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

namespace hob::batch {
namespace {

TEST(LocationSet, FindsWhatOverlapsAndNothingElse) {
  LocationSet set;
  EXPECT_EQ(set.find(0, 8), LocationSet::kNone);
  set.add(100, 8);
  EXPECT_EQ(set.find(92, 8), LocationSet::kNone);
  EXPECT_EQ(set.find(108, 8), LocationSet::kNone);
  EXPECT_EQ(set.find(93, 8), 0u);
  EXPECT_EQ(set.find(107, 1), 0u);
  EXPECT_EQ(set.find(0, 1 << 20), 0u);
}

TEST(LocationSet, NeighboursInOneGranuleDoNotOverlap) {
  LocationSet set;
  set.add(4, 8);
  EXPECT_EQ(set.find(12, 8), LocationSet::kNone);
  set.add(12, 8);
  EXPECT_EQ(set.find(11, 1), 0u);
  EXPECT_EQ(set.find(12, 1), 1u);
}

TEST(LocationSet, TakesRangesOfSimilarSizeOnly) {
  LocationSet set;
  EXPECT_TRUE(set.accepts(1));
  EXPECT_TRUE(set.accepts(1 << 20));
  set.add(0, 64);
  EXPECT_TRUE(set.accepts(8));
  EXPECT_TRUE(set.accepts(512));
  EXPECT_FALSE(set.accepts(4));
  EXPECT_FALSE(set.accepts(1024));
  set.clear();
  EXPECT_TRUE(set.accepts(1));
}

TEST(LocationSet, ClearedItIsEmpty) {
  LocationSet set;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < 1000; ++i) set.add(16 * i, 8);
    EXPECT_EQ(set.find(16 * 999, 8), 999u);
    set.clear();
    EXPECT_EQ(set.size(), 0u);
    EXPECT_EQ(set.find(16 * 999, 8), LocationSet::kNone);
  }
}

TEST(LocationSet, IsEmptyAfterSoManyRoundsThatTheyAreCountedAgain) {
  LocationSet set;
  for (std::uint64_t round = 0; round < 140'000; ++round) {
    ASSERT_EQ(set.find(8 * (round % 7), 8), LocationSet::kNone);
    set.add(8 * (round % 7), 8);
    ASSERT_EQ(set.find(8 * (round % 7), 8), 0u);
    set.clear();
  }
}

TEST(LocationSet, HoldsTensOfThousands) {
  LocationSet set;
  for (std::uint64_t i = 0; i < LocationSet::kMost; ++i) {
    ASSERT_TRUE(set.accepts(8));
    set.add(8 * i, 8);
  }
  EXPECT_FALSE(set.accepts(8));
  EXPECT_EQ(set.find(8 * (LocationSet::kMost - 1), 8), LocationSet::kMost - 1);
}

// Against a list that is searched from end to end.
TEST(LocationSet, AgreesWithAModelOnRandomRanges) {
  std::mt19937_64 random(29);
  for (int round = 0; round < 300; ++round) {
    LocationSet set;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> model;
    const std::uint64_t span = std::uint64_t{64} << random() % 12;
    const std::uint64_t typical = std::uint64_t{1} << random() % 7;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t bytes = 1 + random() % (2 * typical);
      const std::uint64_t begin = random() % span;
      const auto overlaps = [&](const auto& range) {
        return range.first < begin + bytes && begin < range.second;
      };
      bool any = false;
      for (const auto& range : model) any = any || overlaps(range);
      const std::uint32_t found = set.find(begin, bytes);
      ASSERT_EQ(found != LocationSet::kNone, any);
      if (any) {
        ASSERT_TRUE(overlaps(model[found]));
        ASSERT_EQ(set.begin_of(found), model[found].first);
        ASSERT_EQ(set.end_of(found), model[found].second);
      } else if (set.accepts(bytes)) {
        set.add(begin, bytes);
        model.emplace_back(begin, begin + bytes);
      }
    }
  }
}

}  // namespace
}  // namespace hob::batch
