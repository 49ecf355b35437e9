#include "gets/kept_copies.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace hob::gets {
namespace {

constexpr std::uint64_t kWindow = 3, kBytes = 1 << 20;

class Kept : public testing::Test, protected KeptCopies::Dropper {
 protected:
  void SetUp() override {
    kept_.expect(PerRank(kBytes));
    changes_.begin(4, 4);
  }

  void drop_copies(int rank, TargetState&) override {
    dropped_.push_back("all of " + std::to_string(rank));
  }
  void drop_bytes(int rank, std::uint64_t first, std::uint64_t bytes) override {
    dropped_.push_back(std::to_string(rank) + ": " + std::to_string(first) + "+" +
                       std::to_string(bytes));
  }

  TargetState& target(int rank) {
    bool lacking = false;
    return targets_.at(rank, lacking, [](TargetState&) {});
  }
  KeptCopies::Outcome keep(std::span<const validation::ShownEdges> shown = {}) {
    return kept_.keep({kWindow, changes_, shown}, targets_, *this, 500);
  }
  using Dropped = std::vector<std::string>;
  using Outcome = KeptCopies::Outcome;

  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  KeptCopies kept_{*cache_};
  TargetTable targets_;
  validation::Changes changes_;
  Dropped dropped_;
};

TEST_F(Kept, EverythingIsWhereNoMemberWrote) {
  target(1);
  EXPECT_EQ(kept_.known_at(100), 100u);
  EXPECT_EQ(keep(), Outcome::kept);
  EXPECT_EQ(dropped_, Dropped{});
  EXPECT_EQ(kept_.at(), 500u);
  EXPECT_EQ(kept_.known_at(100), 500u);
  EXPECT_EQ(kept_.known_at(600), 600u);
  kept_.dropped();
  EXPECT_EQ(kept_.known_at(100), 100u);
}

TEST_F(Kept, CopiesOfATargetThatWasWrittenToAreDropped) {
  target(1);
  target(2);
  changes_.add(kWindow, 2);
  EXPECT_EQ(keep(), Outcome::kept_in_part);
  EXPECT_EQ(dropped_, Dropped{"all of 2"});
}

TEST_F(Kept, NothingIsWhereAllTargetsOrAnyMayHaveChanged) {
  target(2);
  changes_.add(kWindow, 2);
  EXPECT_EQ(keep(), Outcome::nothing);
  target(1);
  changes_.add_all(kWindow);
  EXPECT_EQ(keep(), Outcome::nothing);
  EXPECT_EQ(kept_.at(), 0u);
}

TEST_F(Kept, EdgesInDoubtThatNoMemberShowsAreDropped) {
  kept_.fetches(1, target(1), 100, 8);
  kept_.fetches(2, target(2), kBytes / 2, 8);
  EXPECT_TRUE(kept_.wants_edges(targets_, false));
  changes_.doubt_edges(kWindow);
  EXPECT_EQ(keep(), Outcome::kept);
  constexpr std::uint64_t kEdge = validation::kEdgeBytes;
  EXPECT_EQ(dropped_,
            (Dropped{"1: 0+" + std::to_string(kEdge),
                     "1: " + std::to_string(kBytes - kEdge) + "+" + std::to_string(kEdge)}));
  EXPECT_FALSE(kept_.wants_edges(targets_, true)) << "nothing of them is here";
}

TEST_F(Kept, EdgesThatAMemberShowsAreComparedInstead) {
  const auto copy = [&](std::uint64_t at, char value) {
    const std::vector<char> bytes(8, value);
    kept_.fetches(1, target(1), at, 8);
    cache_->find({1, at, 0}, 8);
    cache_->fill(cache_->reserve({1, at, 0}, 8).entry, bytes.data(), 8);
  };
  copy(0, 5);
  copy(64, 6);
  changes_.doubt_edges(kWindow);
  std::vector<validation::ShownEdges> shown(1);
  shown[0] = {.window = kWindow, .bytes = kBytes, .rank = 1, .head = 128, .tail = 0, .data = {}};
  shown[0].data.fill(std::byte{5});
  EXPECT_EQ(keep(shown), Outcome::kept);
  EXPECT_EQ(dropped_, Dropped{});
  EXPECT_TRUE(cache_->entry_of({1, 0, 0}));
  EXPECT_FALSE(cache_->entry_of({1, 64, 0})) << "it differs";
}

TEST_F(Kept, WithoutExposedSizesNoByteIsOfAnEdge) {
  KeptCopies unexpected(*cache_);
  unexpected.fetches(1, target(1), 0, 8);
  EXPECT_FALSE(unexpected.wants_edges(targets_, true));
}

TEST_F(Kept, SaysWhetherTheWindowWasReadSinceItWasAsked) {
  EXPECT_TRUE(kept_.read_since(4));
  EXPECT_FALSE(kept_.read_since(4));
  EXPECT_TRUE(kept_.read_since(5));
}

}  // namespace
}  // namespace hob::gets
