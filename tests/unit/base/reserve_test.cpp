// Memory that was set aside.
#include "base/reserve.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace hob {
namespace {

constexpr std::size_t kBytes = 64 * 1024;
using Small = Reserve<kBytes>;

TEST(Reserve, ItsPiecesAreAlignedAndApart) {
  static Small reserve;
  std::vector<std::byte*> pieces;
  while (auto* piece = static_cast<std::byte*>(reserve.take(100, 64))) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 64, 0u);
    std::memset(piece, static_cast<int>(pieces.size()), 100);
    pieces.push_back(piece);
  }
  EXPECT_EQ(pieces.size(), kBytes / 128);
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (int k = 0; k < 100; ++k) ASSERT_EQ(pieces[i][k], static_cast<std::byte>(i));
}

TEST(Reserve, WhatIsGivenBackIsThereAgain) {
  static Small reserve;
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> pieces;
    while (void* piece = reserve.take(1 + random() % 1000, 8)) pieces.push_back(piece);
    std::shuffle(pieces.begin(), pieces.end(), random);
    for (void* piece : pieces) EXPECT_TRUE(reserve.give_back(piece));
  }
  std::size_t large = 0;
  while (reserve.take(Small::kLargest, 8)) ++large;
  EXPECT_EQ(large, kBytes / Small::kLargest);
}

TEST(Reserve, RefusesWhatIsLargeOrNotItsOwn) {
  static Small reserve;
  EXPECT_EQ(reserve.take(Small::kLargest + 1, 8), nullptr);
  EXPECT_EQ(reserve.take(8, 128), nullptr);
  EXPECT_NE(reserve.take(0, 8), nullptr);
  int other = 0;
  EXPECT_FALSE(reserve.give_back(&other));
  EXPECT_FALSE(reserve.give_back(nullptr));
}

TEST(Reserve, ThreadsShareIt) {
  static Small reserve;
  std::array<std::thread, 4> threads;
  for (std::size_t id = 0; id < threads.size(); ++id)
    threads[id] = std::thread([id] {
      for (int i = 0; i < 2000; ++i) {
        auto* const piece = static_cast<std::byte*>(reserve.take(200, 8));
        ASSERT_NE(piece, nullptr);
        std::memset(piece, static_cast<int>(id), 200);
        for (int k = 0; k < 200; ++k) ASSERT_EQ(piece[k], static_cast<std::byte>(id));
        reserve.give_back(piece);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hob
