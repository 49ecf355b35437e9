#include "batch/lane.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hob::batch {
namespace {

TEST(Lane, DeliversWhatCameBackToItsPlaces) {
  Lane lane;
  std::vector<std::byte> buffer(64, std::byte{0});
  lane.add(100, 4, &buffer[8]);
  lane.add(50, 2, &buffer[0]);
  EXPECT_FALSE(lane.uniform());
  EXPECT_FALSE(lane.consecutive());
  ASSERT_EQ(lane.bytes(), 6u);
  for (int i = 0; i < 6; ++i) lane.results()[i] = static_cast<std::byte>(i + 1);
  lane.deliver();
  EXPECT_EQ(buffer[8], std::byte{1});
  EXPECT_EQ(buffer[11], std::byte{4});
  EXPECT_EQ(buffer[0], std::byte{5});
  EXPECT_EQ(buffer[1], std::byte{6});
}

TEST(Lane, KnowsPlacesThatFollowEachOther) {
  Lane lane;
  std::vector<std::uint64_t> buffer(100);
  for (std::size_t i = 0; i < 100; ++i)
    lane.add(8 * (99 - i), 8, reinterpret_cast<std::byte*>(&buffer[i]));
  EXPECT_TRUE(lane.uniform());
  EXPECT_TRUE(lane.consecutive());
  EXPECT_EQ(lane.first_place(), reinterpret_cast<std::byte*>(buffer.data()));
}

TEST(Lane, WhatNobodyWantsAnyMoreIsReceivedNowhere) {
  Lane lane;
  std::vector<std::byte> buffer(24, std::byte{0});
  for (std::size_t i = 0; i < 3; ++i) lane.add(8 * i, 8, &buffer[8 * i]);
  ASSERT_TRUE(lane.consecutive());
  lane.discard(1);
  EXPECT_FALSE(lane.consecutive()) << "all of it would be received in one";
  std::memset(lane.results(), 1, lane.bytes());
  lane.deliver();
  EXPECT_EQ(buffer[7], std::byte{1});
  EXPECT_EQ(buffer[8], std::byte{0});
  EXPECT_EQ(buffer[15], std::byte{0});
  EXPECT_EQ(buffer[16], std::byte{1});
}

TEST(Lane, CopiesDataAtOnceAndInOrder) {
  Lane lane;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    lane.add(8 * i, 8, nullptr, reinterpret_cast<const std::byte*>(&i));
  }
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    std::memcpy(&value, lane.data_of(i), 8);
    ASSERT_EQ(value, i);
  }
  lane.add(0, 4, nullptr, nullptr);
  std::memcpy(&value, lane.data_of(999), 8);
  EXPECT_EQ(value, 999u);
  lane.clear();
  EXPECT_TRUE(lane.empty());
  EXPECT_TRUE(lane.uniform());
  EXPECT_EQ(lane.bytes(), 0u);
}

TEST(Lane, KnowsLengthsAlsoWhereTheyAreNotAlikeAnyMore) {
  Lane lane;
  std::vector<std::byte> data(64, std::byte{7});
  for (std::uint32_t i = 0; i < 100; ++i) {
    data[0] = static_cast<std::byte>(i);
    lane.add(100 * i, i < 50 ? 8 : 1 + i % 16, nullptr, data.data());
  }
  EXPECT_FALSE(lane.uniform());
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(lane.length_of(i), i < 50 ? 8 : 1 + i % 16);
    ASSERT_EQ(*lane.data_of(i), static_cast<std::byte>(i));
  }
  ASSERT_EQ(lane.lengths().size(), 100u);
  lane.clear();
  const std::uint64_t word = 42;
  lane.add_word(0, nullptr, reinterpret_cast<const std::byte*>(&word));
  EXPECT_TRUE(lane.uniform());
  EXPECT_EQ(lane.length_of(0), 8u);
  EXPECT_EQ(*lane.data_of(0), std::byte{42});
}

TEST(Lane, CountsTheMemoryThatItKeeps) {
  Lane lane;
  EXPECT_EQ(lane.memory_bytes(), 0u);
  const std::uint64_t word = 0;
  for (std::uint64_t i = 0; i < 100; ++i)
    lane.add(8 * i, 8, nullptr, reinterpret_cast<const std::byte*>(&word));
  const std::uint64_t full = lane.memory_bytes();
  EXPECT_GE(full, 100 * (sizeof(std::uint64_t) + sizeof(std::byte*) + 8));
  lane.clear();
  EXPECT_LE(lane.memory_bytes(), full);
}

}  // namespace
}  // namespace hob::batch
