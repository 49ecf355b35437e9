#include "batch/operation_buffer.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace hob::batch {
namespace {

TEST(OperationBuffer, DeliversWhatCameBackToItsPlaces) {
  OperationBuffer operations;
  std::vector<std::byte> buffer(64, std::byte{0});
  operations.add(100, 4, &buffer[8]);
  operations.add(50, 2, &buffer[0]);
  EXPECT_FALSE(operations.uniform());
  EXPECT_FALSE(operations.consecutive());
  ASSERT_EQ(operations.bytes(), 6u);
  for (int i = 0; i < 6; ++i) operations.results()[i] = static_cast<std::byte>(i + 1);
  operations.deliver();
  EXPECT_EQ(buffer[8], std::byte{1});
  EXPECT_EQ(buffer[11], std::byte{4});
  EXPECT_EQ(buffer[0], std::byte{5});
  EXPECT_EQ(buffer[1], std::byte{6});
}

TEST(OperationBuffer, KnowsPlacesThatFollowEachOther) {
  OperationBuffer operations;
  std::vector<std::uint64_t> buffer(100);
  for (std::size_t i = 0; i < 100; ++i)
    operations.add(8 * (99 - i), 8, reinterpret_cast<std::byte*>(&buffer[i]));
  EXPECT_TRUE(operations.uniform());
  EXPECT_TRUE(operations.consecutive());
  EXPECT_EQ(operations.first_place(), reinterpret_cast<std::byte*>(buffer.data()));
}

TEST(OperationBuffer, WhatNobodyWantsAnyMoreIsReceivedNowhere) {
  OperationBuffer operations;
  std::vector<std::byte> buffer(24, std::byte{0});
  for (std::size_t i = 0; i < 3; ++i) operations.add(8 * i, 8, &buffer[8 * i]);
  ASSERT_TRUE(operations.consecutive());
  operations.discard(1);
  EXPECT_FALSE(operations.consecutive()) << "all of it would be received in one";
  std::memset(operations.results(), 1, operations.bytes());
  operations.deliver();
  EXPECT_EQ(buffer[7], std::byte{1});
  EXPECT_EQ(buffer[8], std::byte{0});
  EXPECT_EQ(buffer[15], std::byte{0});
  EXPECT_EQ(buffer[16], std::byte{1});
}

TEST(OperationBuffer, CopiesDataAtOnceAndInOrder) {
  OperationBuffer operations;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    operations.add(8 * i, 8, nullptr, reinterpret_cast<const std::byte*>(&i));
  }
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    std::memcpy(&value, operations.data_of(i), 8);
    ASSERT_EQ(value, i);
  }
  operations.add(0, 4, nullptr, nullptr);
  std::memcpy(&value, operations.data_of(999), 8);
  EXPECT_EQ(value, 999u);
  operations.clear();
  EXPECT_TRUE(operations.empty());
  EXPECT_TRUE(operations.uniform());
  EXPECT_EQ(operations.bytes(), 0u);
}

TEST(OperationBuffer, KnowsLengthsAlsoWhereTheyAreNotAlikeAnyMore) {
  OperationBuffer operations;
  std::vector<std::byte> data(64, std::byte{7});
  for (std::uint32_t i = 0; i < 100; ++i) {
    data[0] = static_cast<std::byte>(i);
    operations.add(100 * i, i < 50 ? 8 : 1 + i % 16, nullptr, data.data());
  }
  EXPECT_FALSE(operations.uniform());
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_EQ(operations.length_of(i), i < 50 ? 8 : 1 + i % 16);
    ASSERT_EQ(*operations.data_of(i), static_cast<std::byte>(i));
  }
  ASSERT_EQ(operations.lengths().size(), 100u);
  operations.clear();
  const std::uint64_t word = 42;
  operations.add_word(0, nullptr, reinterpret_cast<const std::byte*>(&word));
  EXPECT_TRUE(operations.uniform());
  EXPECT_EQ(operations.length_of(0), 8u);
  EXPECT_EQ(*operations.data_of(0), std::byte{42});
}

TEST(OperationBuffer, CountsTheMemoryThatItKeeps) {
  OperationBuffer operations;
  EXPECT_EQ(operations.memory_bytes(), 0u);
  const std::uint64_t word = 0;
  for (std::uint64_t i = 0; i < 100; ++i)
    operations.add(8 * i, 8, nullptr, reinterpret_cast<const std::byte*>(&word));
  const std::uint64_t full = operations.memory_bytes();
  EXPECT_GE(full, 100 * (sizeof(std::uint64_t) + sizeof(std::byte*) + 8));
  operations.clear();
  EXPECT_LE(operations.memory_bytes(), full);
}

}  // namespace
}  // namespace hob::batch
