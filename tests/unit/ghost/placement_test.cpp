#include "ghost/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "os/numa.hpp"

namespace hob::ghost {
namespace {

using Domains = std::vector<std::vector<int>>;

/// So many domains, each of so many processors, which are numbered through.
Domains machine_of(int domains, int processors) {
  Domains result;
  for (int d = 0; d < domains; ++d) {
    std::vector<int>& domain = result.emplace_back();
    for (int i = 0; i < processors; ++i) domain.push_back(d * processors + i);
  }
  return result;
}

std::vector<std::vector<int>> unbound(int ranks, int cpus) {
  std::vector<int> all;
  for (int cpu = 0; cpu < cpus; ++cpu) all.push_back(cpu);
  return std::vector<std::vector<int>>(static_cast<std::size_t>(ranks), all);
}

std::vector<std::vector<int>> one_core_each(int ranks) {
  std::vector<std::vector<int>> result;
  for (int r = 0; r < ranks; ++r) result.push_back({r});
  return result;
}

// Users per ghost differ by at most one inside a domain, and everybody's ghost is of its domain.
void expect_local(const Placement& placement, const Domains& domains,
                  const std::vector<std::vector<int>>& allowed) {
  for (std::size_t r = 0; r < allowed.size(); ++r) {
    if (std::count(placement.ghosts.begin(), placement.ghosts.end(), static_cast<int>(r))) continue;
    EXPECT_EQ(placement.domains[placement.home[r]], domain_of(domains, allowed[r])) << "rank " << r;
  }
}

TEST(Placement, TwoSocketsOneGhostEach) {
  const Domains domains = machine_of(2, 12);
  const auto allowed = one_core_each(24);
  const Placement placement = place(domains, allowed, 2);
  EXPECT_EQ(placement.ghosts, (std::vector<int>{11, 23}));
  EXPECT_EQ(placement.domains, (std::vector<int>{0, 1}));
  EXPECT_TRUE(placement.cpus[0].empty());  // its launcher has bound it already
  expect_local(placement, domains, allowed);
}

TEST(Placement, UnboundRanksBindGhostsToDomains) {
  const Domains domains = machine_of(2, 24);
  const Placement placement = place(domains, unbound(24, 48), 4);
  EXPECT_EQ(placement.ghosts, (std::vector<int>{10, 11, 22, 23}));
  EXPECT_EQ(placement.cpus[0], domains[0]);
  EXPECT_EQ(placement.cpus[3], domains[1]);
  std::vector<int> users(4, 0);
  for (int r = 0; r < 24; ++r) {
    if (!std::count(placement.ghosts.begin(), placement.ghosts.end(), r)) {
      ++users[placement.home[static_cast<std::size_t>(r)]];
    }
  }
  EXPECT_EQ(users, (std::vector<int>{5, 5, 5, 5}));
}

TEST(Placement, FourDomainsOfManyCores) {
  const Domains domains = machine_of(4, 64);
  std::vector<std::vector<int>> allowed;  // one rank a core, both hardware threads
  for (int r = 0; r < 128; ++r) allowed.push_back({2 * r, 2 * r + 1});
  const Placement placement = place(domains, allowed, 8);
  EXPECT_EQ(placement.domains, (std::vector<int>{0, 0, 1, 1, 2, 2, 3, 3}));
  expect_local(placement, domains, allowed);
}

TEST(Placement, FewerGhostsThanDomains) {
  const Domains domains = machine_of(4, 8);
  const auto allowed = one_core_each(32);
  const Placement placement = place(domains, allowed, 2);
  ASSERT_EQ(placement.ghosts.size(), 2U);
  EXPECT_NE(placement.domains[0], placement.domains[1]);
}

TEST(Placement, GhostsFollowTheRanksOfAnUnevenNode) {
  const Domains domains = machine_of(2, 8);
  std::vector<std::vector<int>> allowed;  // six ranks on one socket, two on the other
  for (int r = 0; r < 6; ++r) allowed.push_back({r});
  for (int r = 8; r < 10; ++r) allowed.push_back({r});
  const Placement placement = place(domains, allowed, 3);
  EXPECT_EQ(std::count(placement.domains.begin(), placement.domains.end(), 0), 2);
  EXPECT_EQ(std::count(placement.domains.begin(), placement.domains.end(), 1), 1);
}

TEST(Placement, EveryCountLeavesUsers) {
  const Domains domains = machine_of(2, 4);
  for (int ranks = 2; ranks <= 8; ++ranks) {
    for (int ghosts = 1; ghosts < ranks; ++ghosts) {
      const Placement placement = place(domains, one_core_each(ranks), ghosts);
      EXPECT_EQ(placement.ghosts.size(), static_cast<std::size_t>(ghosts));
      EXPECT_TRUE(std::is_sorted(placement.ghosts.begin(), placement.ghosts.end()));
      for (const unsigned home : placement.home) EXPECT_LT(home, static_cast<unsigned>(ghosts));
    }
  }
}

TEST(Placement, ThisMachine) {
  const Domains domains = os::numa_domains();
  EXPECT_EQ(place(domains, unbound(3, 2), 1).ghosts, (std::vector<int>{2}));
}

TEST(KeptRanks, OneProgramKeepsNone) {
  EXPECT_EQ(kept_ranks({4, 5, 6}, {}), (std::vector<bool>{false, false, false}));
}

TEST(KeptRanks, EachProgramKeepsItsFirstRank) {
  const std::vector<int> programs{0, 0, 1, 1, 2};
  EXPECT_EQ(kept_ranks({0, 1, 2}, programs), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(kept_ranks({3, 4}, programs), (std::vector<bool>{false, true}));
}

TEST(Spare, AGhostThatIsToBeKeptChangesPlacesWithTheLastThatNeedNotBe) {
  Placement placed{.ghosts = {1, 3}, .cpus = {}, .domains = {0, 1}, .home = {0, 0, 1, 1, 1}};
  spare({false, false, false, true, false}, placed);
  EXPECT_EQ(placed.ghosts, (std::vector<int>{1, 4}));
  EXPECT_EQ(placed.home, (std::vector<unsigned>{0, 0, 1, 1, 1}));
  EXPECT_TRUE(is_ghost(placed, 4));
  EXPECT_FALSE(is_ghost(placed, 3));
}

TEST(Spare, TwoGhostsChangePlacesWithTwoRanks) {
  Placement placed{.ghosts = {2, 3}, .cpus = {}, .domains = {0, 0}, .home = {0, 1, 0, 1}};
  spare({false, false, true, true}, placed);
  EXPECT_EQ(placed.ghosts, (std::vector<int>{1, 0}));
  EXPECT_EQ(placed.home, (std::vector<unsigned>{0, 1, 1, 0}));
}

}  // namespace
}  // namespace hob::ghost
