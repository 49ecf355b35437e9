#include "ghost/slices.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hob::ghost {
namespace {

TEST(Slices, NeverOverlapAndAllComesBack) {
  std::mt19937 random(1);
  constexpr std::uint64_t begin = 4096;
  constexpr std::uint64_t end = begin + (1 << 20);
  Slices slices(begin, end);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> held;
  for (int step = 0; step < 20000; ++step) {
    if (held.empty() || random() % 2 == 0) {
      const std::uint64_t bytes = 1 + random() % 20000;
      const std::uint64_t alignment = 1ULL << (random() % 13);
      if (const auto at = slices.allocate(bytes, alignment)) {
        ASSERT_EQ(*at % alignment, 0U);
        ASSERT_GE(*at, begin);
        ASSERT_LE(*at + bytes, end);
        for (const auto& [other, size] : held)
          ASSERT_TRUE(*at + bytes <= other || other + size <= *at);
        held.emplace_back(*at, bytes);
        continue;
      }
    }
    if (held.empty()) continue;
    const std::size_t i = random() % held.size();
    slices.free(held[i].first, held[i].second);
    held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (const auto& [at, bytes] : held) slices.free(at, bytes);
  EXPECT_EQ(slices.allocate(end - begin, 4096), begin);  // one region again
  EXPECT_FALSE(slices.allocate(1, 1));
}

}  // namespace
}  // namespace hob::ghost
