// The decision about a get, case by case; model_test.cpp plays whole lives of cached bytes.
#include "gets/plan.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hob::gets {
namespace {

struct Context {
  bool is_writing = false, is_polled = false, is_aged = false, is_divisible = true;
  bool is_shared = false, has_readahead = false;

  bool writing() const { return is_writing; }
  bool polled() const { return is_polled; }
  bool aged() const { return is_aged; }
  bool divisible() const { return is_divisible; }
  bool shared() const { return is_shared; }
  bool readahead() const { return has_readahead; }
};

/// All that is tried, where nothing but the last can be done.
std::vector<Plan> tried(cache::Hit found, const Context& context) {
  std::vector<Plan> plans{decide(found, context)};
  while (plans.back() != Plan::replace && plans.back() != Plan::exact &&
         plans.back() != Plan::unkept && plans.back() != Plan::hit && plans.back() != Plan::refetch)
    plans.push_back(otherwise(plans.back(), context));
  return plans;
}

using Plans = std::vector<Plan>;

TEST(Plan, AHitIsServed) { EXPECT_EQ(tried(cache::Hit::full, {}), Plans{Plan::hit}); }

TEST(Plan, AHitThatCannotBeServedIsFetchedAgain) {
  EXPECT_EQ(otherwise(Plan::hit, Context{}), Plan::refetch);
  EXPECT_EQ(otherwise(Plan::hit, Context{.is_writing = true}), Plan::refetch);
}

TEST(Plan, AHitInARowIsFetchedAgain) {
  EXPECT_EQ(tried(cache::Hit::full, {.is_polled = true}), Plans{Plan::refetch});
}

TEST(Plan, OldBytesThatNobodyAskedForAreRenewedFirst) {
  EXPECT_EQ(tried(cache::Hit::full, {.is_aged = true}), (Plans{Plan::renew, Plan::hit}));
  EXPECT_EQ(tried(cache::Hit::full, {.is_polled = true, .is_aged = true}),
            (Plans{Plan::renew, Plan::refetch}));
}

TEST(Plan, AHitDoesNotDependOnOwnWrites) {
  // They have dropped what they overlap.
  EXPECT_EQ(tried(cache::Hit::full, {.is_writing = true}), Plans{Plan::hit});
}

TEST(Plan, AMissAsksTheNodeThenFetchesBlocksThenItself) {
  EXPECT_EQ(tried(cache::Hit::missing, {}), Plans{Plan::exact});
  EXPECT_EQ(tried(cache::Hit::missing, {.has_readahead = true}),
            (Plans{Plan::blocks, Plan::exact}));
  EXPECT_EQ(tried(cache::Hit::missing, {.is_shared = true, .has_readahead = true}),
            (Plans{Plan::from_node, Plan::blocks, Plan::exact}));
}

TEST(Plan, NothingIsKeptThatMayOvertakeAnOwnWrite) {
  for (const cache::Hit found : {cache::Hit::missing, cache::Hit::partial})
    EXPECT_EQ(tried(found, {.is_writing = true, .is_shared = true, .has_readahead = true}),
              Plans{Plan::unkept});
  EXPECT_EQ(tried(cache::Hit::split, {.is_writing = true, .has_readahead = true}),
            (Plans{Plan::fragments, Plan::unkept}));
}

TEST(Plan, WhatIsUnderWayIsJoinedOrFetchedForTheProgramAlone) {
  EXPECT_EQ(tried(cache::Hit::pending_full, {.has_readahead = true}),
            (Plans{Plan::join, Plan::unkept}));
  EXPECT_EQ(tried(cache::Hit::pending_partial, {.has_readahead = true}), Plans{Plan::unkept});
}

TEST(Plan, OfAPartTheEndIsFetchedOrAllAnew) {
  EXPECT_EQ(tried(cache::Hit::partial, {}), (Plans{Plan::tail, Plan::replace}));
  EXPECT_EQ(tried(cache::Hit::partial, {.is_divisible = false}), Plans{Plan::replace});
}

TEST(Plan, BetweenTwoBlocksItIsAMissWhereOneIsGone) {
  EXPECT_EQ(tried(cache::Hit::split, {.is_shared = true, .has_readahead = true}),
            (Plans{Plan::fragments, Plan::from_node, Plan::blocks, Plan::exact}));
}

TEST(Plan, WhatFailedForGoodIsFetched) {
  for (const Plan plan : {Plan::refetch, Plan::replace, Plan::exact, Plan::unkept}) {
    EXPECT_EQ(otherwise(plan, Context{}), Plan::exact) << name_of(plan);
    EXPECT_EQ(otherwise(plan, Context{.is_writing = true}), Plan::unkept) << name_of(plan);
  }
}

TEST(Plan, EachHasAName) {
  EXPECT_STREQ(name_of(Plan::hit), "hit");
  EXPECT_STREQ(name_of(Plan::from_node), "from node");
  EXPECT_STREQ(name_of(Plan::unkept), "unkept");
}

}  // namespace
}  // namespace hob::gets
