#include "validation/target_set.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "validation/changes.hpp"

namespace hob::validation {
namespace {

TargetSet set_of(const std::set<std::uint64_t>& targets) {
  TargetSet result;
  for (const std::uint64_t target : targets) result.add(target);
  return result;
}

std::uint64_t count(const TargetSet& set, std::uint64_t targets) {
  std::uint64_t in = 0;
  for (std::uint64_t target = 0; target < targets; ++target) in += set.has(target) ? 1 : 0;
  return in;
}

TEST(TargetSet, IsExactWhileItFits) {
  // Far apart, and all of some that are neighbours.
  std::set<std::uint64_t> scattered, neighbours;
  for (std::uint64_t i = 0; i < TargetSet::kBlocks; ++i) scattered.insert(i * 1637);
  for (std::uint64_t i = 0; i < TargetSet::kBlocks * 32; ++i) neighbours.insert(3200 + i);
  for (const auto& targets : {scattered, neighbours}) {
    const TargetSet set = set_of(targets);
    EXPECT_EQ(set.neighbours(), 1u);
    for (const std::uint64_t target : targets) EXPECT_TRUE(set.has(target)) << target;
    EXPECT_EQ(count(set, 100'000), targets.size());
  }
}

TEST(TargetSet, GetsCoarserByWhatItMust) {
  std::set<std::uint64_t> targets;
  for (std::uint64_t i = 0; i <= TargetSet::kBlocks; ++i) targets.insert(i * 64);
  const TargetSet set = set_of(targets);
  EXPECT_EQ(set.neighbours(), 4u);  // of 32 and of 64 neighbours, one block each would be too many
  for (std::uint64_t target = 0; target < 64 * 62; ++target)
    EXPECT_EQ(set.has(target), target % 64 < 4) << target;
  std::uint64_t all = 100'000;
  TargetSet full;
  for (std::uint64_t target = 0; target < all; ++target) full.add(target);
  EXPECT_EQ(count(full, all), all);
  EXPECT_EQ(full.neighbours(), 64u);
  EXPECT_FALSE(full.has(200'000)) << "another window's";
}

TEST(TargetSet, HasNothingWhereNothingWasAdded) {
  TargetSet set;
  EXPECT_EQ(count(set, 4096), 0u);
  TargetSet one;
  one.add(7);
  set.unite(one);
  EXPECT_EQ(set, one);
  set.unite(TargetSet{});
  EXPECT_EQ(set, one);
}

TEST(TargetSet, TheLargestNumbersAreFound) {
  TargetSet set;
  std::vector<std::uint64_t> targets;
  for (std::uint64_t i = 1; i <= 200; ++i) targets.push_back(~std::uint64_t{0} - i * i * 977);
  for (const std::uint64_t target : targets) set.add(target);
  for (const std::uint64_t target : targets) EXPECT_TRUE(set.has(target)) << target;
}

/// However sets are united, and whatever was made coarser on the way, the result has the same
/// words.
TEST(TargetSet, TheUnionDoesNotDependOnTheOrder) {
  std::mt19937 random(4711);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  for (int round = 0; round < 300; ++round) {
    const std::uint64_t range = std::uint64_t{1} << (6 + below(26));
    std::set<std::uint64_t> targets;
    std::vector<TargetSet> parts(1 + below(20));
    for (std::size_t i = below(600); i != 0; --i) {
      const std::uint64_t target = random() % range;
      targets.insert(target);
      parts[below(parts.size())].add(target);
      if (below(3) == 0) parts[below(parts.size())].add(target);
    }
    const TargetSet whole = set_of(targets);
    for (const std::uint64_t target : targets) ASSERT_TRUE(whole.has(target));
    while (parts.size() > 1) {
      const std::size_t from = below(parts.size() - 1);
      parts[from].unite(parts.back());
      parts.pop_back();
    }
    ASSERT_EQ(parts.front(), whole) << round;
  }
}

/// Members of a communicator of 100,000 in one call. Libraries unite what they report in one order
/// or another: along a binomial tree, by recursive doubling.
class Simulated : public testing::Test {
 protected:
  static constexpr int kMembers = 100'000;
  static constexpr std::uint64_t kWindow = 12;

  Simulated() : members_(kMembers) {
    Changes empty;
    empty.begin(kMembers, kMembers);
    EXPECT_TRUE(empty.large());
    for (Changes& member : members_) member = empty;
  }

  void binomial() {
    for (std::size_t step = 1; step < members_.size(); step *= 2)
      for (std::size_t to = 0; to + step < members_.size(); to += 2 * step)
        members_[to].many().unite(members_[to + step].many());
  }

  /// The same as halves that are united, those beyond the largest power of two first.
  TargetSet halves() const {
    std::vector<TargetSet> notified;
    for (const Changes& member : members_) notified.push_back(member.many().targets);
    for (std::size_t half = std::size_t{1} << 16; half != 0; half /= 2)
      for (std::size_t i = 0; i < half && i + half < notified.size(); ++i)
        notified[i].unite(notified[i + half]);
    return notified.front();
  }

  const Changes& result() const { return members_.front(); }
  int changed() const {
    int many = 0;
    for (int rank = 0; rank < kMembers; ++rank)
      many += result().may_have_changed(kWindow, rank) ? 1 : 0;
    return many;
  }

  std::vector<Changes> members_;
};

TEST_F(Simulated, AMessageIsShort) {
  EXPECT_EQ(sizeof(Changes::Large), 512u);
  Changes small;
  small.begin(512, 512);
  EXPECT_FALSE(small.large()) << "as many as have a bit each";
}

TEST_F(Simulated, FewWritersAreToldExactly) {
  std::set<int> written;
  for (int i = 0; i < 60; ++i) written.insert(i * 1663 % kMembers);
  for (const int target : written)
    members_[static_cast<std::size_t>(kMembers - 1 - target)].add(kWindow, target);
  const TargetSet other = halves();
  binomial();
  for (int rank = 0; rank < kMembers; ++rank)
    ASSERT_EQ(result().may_have_changed(kWindow, rank), written.count(rank) != 0) << rank;
  EXPECT_TRUE(result().any());
  EXPECT_FALSE(result().asked());
  EXPECT_EQ(result().many().targets, other) << "in whatever order";
}

/// Two in a thousand write to their own memory: no more than 64 ranks each are taken for written.
TEST_F(Simulated, ManyWritersAreNeverMissed) {
  std::set<int> written;
  for (int rank = 3; rank < kMembers; rank += 500) written.insert(rank);
  for (const int rank : written) members_[static_cast<std::size_t>(rank)].add(kWindow, rank);
  const TargetSet other = halves();
  binomial();
  EXPECT_EQ(result().many().targets, other);
  for (const int rank : written) ASSERT_TRUE(result().may_have_changed(kWindow, rank)) << rank;
  EXPECT_LE(changed(), 64 * static_cast<int>(written.size()));
  EXPECT_FALSE(result().may_have_changed(kWindow + 1, 3));
}

TEST_F(Simulated, WholeWindowsAndEverythingAreTold) {
  members_[77].add_all(kWindow + 1);
  members_[78].ask();
  members_[99'999].add(kWindow, 99'999);
  binomial();
  EXPECT_TRUE(result().may_have_changed(kWindow + 1));
  EXPECT_TRUE(result().may_have_changed(kWindow + 1, 5));
  EXPECT_FALSE(result().may_have_changed(kWindow));
  EXPECT_EQ(changed(), 1);
  EXPECT_TRUE(result().asked());
  members_[1].add_everything();
  binomial();
  EXPECT_TRUE(result().may_have_changed(kWindow));
  EXPECT_EQ(changed(), kMembers);
}

/// Many windows of few members: 64 ranks and 1,000 windows, of which some are written to.
TEST(ChangesOfManyWindows, AreToldApart) {
  Changes changes;
  changes.begin(64, 64'000);
  std::set<std::pair<std::uint64_t, int>> written;
  for (int i = 0; i < 50; ++i) written.insert({1 + (i * 37) % 1000, i * 7 % 64});
  for (const auto& [window, rank] : written) changes.add(window, rank);
  for (std::uint64_t window = 1; window <= 1000; ++window)
    for (int rank = 0; rank < 64; ++rank)
      ASSERT_EQ(changes.may_have_changed(window, rank), written.count({window, rank}) != 0);
}

}  // namespace
}  // namespace hob::validation
