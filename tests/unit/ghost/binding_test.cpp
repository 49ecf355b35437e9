#include "ghost/binding.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace hob::ghost {
namespace {

TEST(Names, RoundTrip) {
  for (const auto* name : {"rank", "segment", "random", "operations", "bytes"}) {
    ASSERT_TRUE(binding_from(name)) << name;
    EXPECT_EQ(name_of(*binding_from(name)), name);
  }
  EXPECT_FALSE(binding_from("ranks"));
}

TEST(Segments, CoverEveryTargetOnGrainBordersAndBalance) {
  std::mt19937 random(5);
  for (int round = 0; round < 500; ++round) {
    const unsigned ghosts = 1 + random() % 5;
    std::vector<std::uint64_t> sizes(1 + random() % 6);
    for (auto& size : sizes) size = random() % 3 == 0 ? 0 : random() % 5000;
    const Segments segments(sizes, ghosts);
    std::vector<std::uint64_t> load(ghosts, 0);
    unsigned last = 0;
    for (std::size_t t = 0; t < sizes.size(); ++t) {
      std::uint64_t at = 0;
      for (const auto& piece : segments.pieces(t)) {
        EXPECT_EQ(piece.begin, at);
        EXPECT_EQ(piece.begin % Segments::kGrain, 0U);
        EXPECT_GE(piece.ghost, last);  // segments are in memory order
        last = piece.ghost;
        load[piece.ghost] += piece.end - piece.begin;
        at = piece.end;
      }
      EXPECT_EQ(at, sizes[t]);
    }
    const std::uint64_t total = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
    for (const std::uint64_t bytes : load) {
      EXPECT_LE(bytes, total / ghosts + Segments::kGrain * (sizes.size() + ghosts) + ghosts);
    }
  }
}

// Splitting keeps every byte once, in order, and no element in two parts.
TEST(Split, WholeElementsInOrder) {
  std::mt19937 random(9);
  for (int round = 0; round < 500; ++round) {
    const std::uint64_t element = std::vector<std::uint64_t>{1, 2, 4, 8, 12, 16}[random() % 6];
    const Segments segments({4096, 1000, 8192}, 1 + random() % 4);
    std::vector<Block> blocks;
    std::uint64_t at = random() % 100;
    while (at + 20 * element < 8192 && blocks.size() < 50) {
      const std::uint64_t length = element * (1 + random() % 20);
      blocks.push_back({static_cast<std::int64_t>(at), length});
      at += length + 1 + random() % 300;
    }
    std::uint64_t packed = 0;
    std::vector<Block> together;
    const auto& pieces = segments.pieces(2);
    for (const Share& share : split(pieces, blocks, element)) {
      EXPECT_EQ(share.at, packed);
      for (const Block& block : share.target) {
        EXPECT_EQ(block.length % element, 0U);
        // The first byte of every element belongs to the part's ghost.
        for (std::uint64_t e = 0; e < block.length; e += element) {
          const auto byte = static_cast<std::uint64_t>(block.offset) + e;
          for (const auto& piece : pieces) {
            if (byte >= piece.begin && byte < piece.end) {
              EXPECT_EQ(piece.ghost, share.ghost);
            }
          }
        }
        append_block(together, block);
        packed += block.length;
      }
    }
    EXPECT_EQ(together, blocks);
  }
}

TEST(Choose, BalancesWhatItCounts) {
  std::mt19937 random(2);
  for (const Binding binding : {Binding::random, Binding::operations, Binding::bytes}) {
    Load load(4);
    unsigned turn = 0;
    for (int i = 0; i < 4000; ++i) {
      const std::uint64_t bytes = 1 + random() % 1000;
      load.add(choose(binding, load, turn), bytes);
    }
    const auto spread = [](const std::vector<std::uint64_t>& counts) {
      return *std::max_element(counts.begin(), counts.end()) -
             *std::min_element(counts.begin(), counts.end());
    };
    if (binding == Binding::bytes) {
      EXPECT_LE(spread(load.bytes), 1000U);
    } else {
      EXPECT_LE(spread(load.operations), 1U);
    }
  }
}

// One ghost has accumulates that nobody else may take: counting makes up for them, going round does
// not (Fig. 7b of the ghost paper).
TEST(Choose, CountingMakesUpForAccumulates) {
  for (const Binding binding : {Binding::random, Binding::operations}) {
    Load load(2);
    unsigned turn = 0;
    for (int i = 0; i < 100; ++i) {
      load.add(0, 8);
      load.add(choose(binding, load, turn), 8);
    }
    EXPECT_EQ(load.operations[0], binding == Binding::random ? 150U : 100U);
  }
}

}  // namespace
}  // namespace hob::ghost
