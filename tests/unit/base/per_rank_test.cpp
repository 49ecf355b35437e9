#include "base/per_rank.hpp"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace hob
