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

TEST(PlaceHeater, TakesAnotherCoreOfTheSameCache) {
  Placement placement = place_heater(5, {}, two_sockets);
  EXPECT_EQ(placement.cpu, 4);
  EXPECT_EQ(placement.cache_level, 3);
  EXPECT_GT(placement.cache_bytes, 0u);
  EXPECT_EQ(placement.reason, "");
}

TEST(PlaceHeater, PrefersTheSmallestSharedCache) {
  Placement placement = place_heater(2, {}, paired_cores);
  EXPECT_EQ(placement.cpu, 3);
  EXPECT_EQ(placement.cache_level, 2);
  placement = place_heater(2, {3}, paired_cores);
  EXPECT_EQ(placement.cpu, 0);
  EXPECT_EQ(placement.cache_level, 3);
}

TEST(PlaceHeater, LeavesTheOwnCoreAlone) { EXPECT_EQ(place_heater(0, {}, hyperthreads).cpu, 2); }

TEST(PlaceHeater, AvoidsProcessorsOfOtherRanks) {
  EXPECT_EQ(place_heater(5, {4, 6}, two_sockets).cpu, 7);
  Placement placement = place_heater(5, {4, 6, 7}, two_sockets);
  EXPECT_EQ(placement.cpu, -1);
  EXPECT_NE(placement.reason.find("runs a rank itself"), std::string::npos);
}

TEST(PlaceHeater, SaysWhyThereIsNoPlace) {
  EXPECT_EQ(place_heater(0, {}, one_core).reason, "there is only one core");
  EXPECT_EQ(place_heater(0, {}, nothing_shared).reason,
            "no other core shares a cache with the rank's");
  EXPECT_EQ(place_heater(99, {}, two_sockets).reason, "the rank's processor is not known to hwloc");
  EXPECT_EQ(place_heater(0, {}, "nonsense").reason, "hwloc cannot read the machine's topology");
}

}  // namespace
}  // namespace hob::heat
