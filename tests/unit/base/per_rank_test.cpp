#include "base/per_rank.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace hob {
namespace {

void expect_all(const PerRank& numbers, const std::vector<std::uint64_t>& each) {
  for (std::size_t rank = 0; rank < each.size(); ++rank)
    ASSERT_EQ(numbers.of(static_cast<int>(rank)), each[rank]) << rank;
}

TEST(PerRank, OneNumberTakesNothing) {
  EXPECT_EQ(PerRank(7).of(123'456), 7u);
  const std::vector<std::uint64_t> equal(100'000, 5);
  const PerRank numbers(equal);
  expect_all(numbers, equal);
  EXPECT_EQ(numbers.memory_bytes(), 0u);
}

TEST(PerRank, RunsTakeWhatTheyAre) {
  std::vector<std::uint64_t> each(100'000, 5);
  each.front() = each.back() = 0;
  for (std::size_t rank = 40'000; rank < 50'000; ++rank) each[rank] = 6;
  const PerRank numbers(each);
  expect_all(numbers, each);
  EXPECT_LT(numbers.memory_bytes(), 200u);
  const PerRank copy = numbers;
  expect_all(copy, each);
}

TEST(PerRank, AnyNumbersTakeEightBytesEach) {
  std::mt19937_64 random(3);
  for (const std::size_t ranks : {2u, 100u, 4096u, 4097u, 20'000u}) {
    for (const std::uint64_t kinds : {2u, 3u, 1'000'000u}) {
      std::vector<std::uint64_t> each(ranks);
      for (std::uint64_t& number : each) number = random() % kinds;
      const PerRank numbers(each);
      expect_all(numbers, each);
      EXPECT_LE(numbers.memory_bytes(), 8 * ranks + 100);
    }
  }
}

TEST(PerRank, ALongListIsKeptElsewhere) {
  std::vector<std::uint64_t> each(PerRank::kListed + 1);
  std::iota(each.begin(), each.end(), 5);
  PerRank numbers(each);
  const PerRank copy = numbers;
  ASSERT_EQ(numbers.long_list().size(), each.size());
  auto kept = std::make_shared<std::vector<std::uint64_t>>(each);
  const std::weak_ptr<std::vector<std::uint64_t>> watched = kept;
  const auto* const list = kept->data();
  numbers.keep_in(std::shared_ptr<const std::uint64_t>(std::move(kept), list));
  expect_all(numbers, each);
  expect_all(copy, each);
  EXPECT_TRUE(numbers.long_list().empty());
  EXPECT_LT(numbers.memory_bytes(), 200u);
  numbers = PerRank();
  EXPECT_TRUE(watched.expired());
}

TEST(PerRank, ShortListsRunsAndOneNumberStay) {
  std::vector<std::uint64_t> each(PerRank::kListed);
  std::iota(each.begin(), each.end(), 5);
  EXPECT_TRUE(PerRank(each).long_list().empty());
  std::vector<std::uint64_t> runs(100'000, 5);
  runs.back() = 0;
  EXPECT_TRUE(PerRank(runs).long_list().empty());
  EXPECT_TRUE(PerRank(7).long_list().empty());
}

}  // namespace
}  // namespace hob
