// Memory in which blocks arrive that are fetched ahead.
#include "gets/ahead_pool.hpp"

#include <gtest/gtest.h>

namespace hob::gets {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(AheadPool, WhatCameBackIsUsedAgain) {
  AheadPool pool;
  auto fetch = pool.take(3000);
  ASSERT_NE(fetch, nullptr);
  EXPECT_EQ(fetch->capacity, 4096u);
  EXPECT_EQ(pool.memory_bytes(), 4096u);
  const AheadFetch* const first = fetch.get();
  fetch->again = fetch->aged = true;
  pool.give_back(std::move(fetch));
  EXPECT_EQ(pool.memory_bytes(), 4096u);
  fetch = pool.take(4096);
  EXPECT_EQ(fetch.get(), first);
  EXPECT_FALSE(fetch->again);
  EXPECT_FALSE(fetch->aged);
  pool.give_back(nullptr);
}

TEST(AheadPool, MoreThanItsShareIsRefusedWhileItIsUnderWay) {
  AheadPool pool;
  auto one = pool.take(16 * kMiB), two = pool.take(16 * kMiB);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(pool.take(1), nullptr);
  pool.give_back(std::move(one));
  EXPECT_EQ(pool.memory_bytes(), 32 * kMiB);
  EXPECT_NE(pool.take(16 * kMiB), nullptr);
}

TEST(AheadPool, PlacesAreSortedWithTheirBytes) {
  AheadFetch fetch;
  std::vector<RecalledPlace>& places = fetch.recalled;
  places = {{{}, 60, 40}, {{}, 50, 100}, {{}, 700, 8}};
  lay_out(fetch, 48);
  EXPECT_EQ(places[0].displacement, 50u);
  EXPECT_EQ(places[0].offset, 0u);
  EXPECT_EQ(places[1].displacement, 60u);
  EXPECT_EQ(places[1].offset, 100u);
  EXPECT_EQ(places[2].offset, 140u);
  fetch.spans = true;
  lay_out(fetch, 48);
  EXPECT_EQ(places[0].offset, 2u);
  EXPECT_EQ(places[1].offset, 12u);
  EXPECT_EQ(places[2].offset, 652u);
}

TEST(AheadPool, WhatLiesUnusedMakesRoom) {
  AheadPool pool;
  pool.give_back(pool.take(kMiB));
  auto large = pool.take(32 * kMiB);
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(pool.memory_bytes(), 32 * kMiB);
}

}  // namespace
}  // namespace hob::gets
