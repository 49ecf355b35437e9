// What hits pay for, of large gets.
#include "gets/copy_worth.hpp"

#include <gtest/gtest.h>

namespace hob::gets {
namespace {

constexpr std::uint64_t kBytes = CopyWorth::kLarge;

TEST(CopyWorth, NothingIsKnownBeforeBothPricesAre) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  EXPECT_FALSE(worth.known());
  worth.waited(1, kBytes, 8000);
  EXPECT_TRUE(worth.known());
}

TEST(CopyWorth, AGetThatTakesEightCopiesPaysForSeveral) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  worth.waited(1, kBytes, 8000);
  EXPECT_GT(worth.stores_per_hit(), 4);
  EXPECT_LT(worth.stores_per_hit(), 7) << "a hit is a copy, too";
}

TEST(CopyWorth, AGetThatTakesTwoCopiesDoesNotPayForOne) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  worth.waited(64, 64 * kBytes, 128'000);
  EXPECT_LT(worth.stores_per_hit(), 1);
  EXPECT_GT(worth.stores_per_hit(), 0.3);
}

TEST(CopyWorth, AGetAsQuickAsACopyPaysForNothing) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  worth.waited(1, kBytes, 900);
  EXPECT_EQ(worth.stores_per_hit(), 0);
}

TEST(CopyWorth, SmallGetsSayNothing) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  worth.waited(4, kBytes, 8000);
  EXPECT_FALSE(worth.known());
}

/// Another process has the core now and then.
TEST(CopyWorth, OneInThreeThatTakesAHundredTimesAsLongChangesNothing) {
  CopyWorth worth;
  for (int i = 0; i < 30; ++i) {
    worth.stored(kBytes, i % 3 == 0 ? 100'000 : 1000);
    worth.waited(1, kBytes, i % 3 == 1 ? 200'000 : 2000);
  }
  EXPECT_LT(worth.stores_per_hit(), 1);
  EXPECT_GT(worth.stores_per_hit(), 0.3);
}

TEST(CopyWorth, WhatBecomesDearerIsFoundWithinTwentyWaits) {
  CopyWorth worth;
  worth.stored(kBytes, 1000);
  for (int i = 0; i < 1000; ++i) worth.waited(1, kBytes, 2000);
  for (int i = 0; i < 20; ++i) worth.waited(1, kBytes, 8000);
  EXPECT_GT(worth.stores_per_hit(), 4);
}

}  // namespace
}  // namespace hob::gets
