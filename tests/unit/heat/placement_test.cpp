#include "heat/placement.hpp"

#include <gtest/gtest.h>

namespace hob::heat {
namespace {

// hwloc's descriptions of machines; processors are numbered in order.
constexpr const char* two_sockets = "package:2 l3:1 core:4 pu:1";
constexpr const char* hyperthreads = "package:1 l3:1 l2:2 core:1 pu:2";
constexpr const char* paired_cores = "package:1 l3:1 l2:2 core:2 pu:1";
constexpr const char* one_core = "package:1 l3:1 core:1 pu:2";
constexpr const char* nothing_shared = "package:1 core:4 l2:1 pu:1";

HeaterPlacement place_on(const char* machine, int rank_cpu, const std::vector<int>& occupied) {
  return place_heater(Machine::synthetic(machine), rank_cpu, occupied);
}

TEST(PlaceHeater, TakesAnotherCoreOfTheSameCache) {
  HeaterPlacement placement = place_on(two_sockets, 5, {});
  EXPECT_EQ(placement.cpu, 4);
  EXPECT_EQ(placement.cache_level, 3);
  EXPECT_GT(placement.cache_bytes, 0u);
  EXPECT_EQ(placement.reason, "");
}

TEST(PlaceHeater, PrefersTheSmallestSharedCache) {
  HeaterPlacement placement = place_on(paired_cores, 2, {});
  EXPECT_EQ(placement.cpu, 3);
  EXPECT_EQ(placement.cache_level, 2);
  placement = place_on(paired_cores, 2, {3});
  EXPECT_EQ(placement.cpu, 0);
  EXPECT_EQ(placement.cache_level, 3);
}

TEST(PlaceHeater, LeavesTheOwnCoreAlone) { EXPECT_EQ(place_on(hyperthreads, 0, {}).cpu, 2); }

TEST(PlaceHeater, AvoidsProcessorsOfOtherRanks) {
  EXPECT_EQ(place_on(two_sockets, 5, {4, 6}).cpu, 7);
  HeaterPlacement placement = place_on(two_sockets, 5, {4, 6, 7});
  EXPECT_EQ(placement.cpu, -1);
  EXPECT_NE(placement.reason.find("runs a rank itself"), std::string::npos);
}

TEST(PlaceHeater, SaysWhyThereIsNoPlace) {
  EXPECT_EQ(place_on(one_core, 0, {}).reason, "there is only one core");
  EXPECT_EQ(place_on(nothing_shared, 0, {}).reason, "no other core shares a cache with the rank's");
  EXPECT_EQ(place_on(two_sockets, 99, {}).reason, "the rank's processor is not known to hwloc");
  EXPECT_EQ(place_on("nonsense", 0, {}).reason, "hwloc cannot read the machine's topology");
}

}  // namespace
}  // namespace hob::heat
