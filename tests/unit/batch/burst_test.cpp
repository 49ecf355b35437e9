#include "batch/burst.hpp"

#include <gtest/gtest.h>

namespace hob::batch {
namespace {

TEST(Burst, GathersALongOneFromTheLimitOn) {
  Burst burst;
  for (int i = 0; i < 16; ++i) EXPECT_FALSE(burst.gathers(16));
  EXPECT_TRUE(burst.gathers(16));
}

TEST(Burst, GathersFromTheStartAfterALongOne) {
  Burst burst;
  for (int i = 0; i < 20; ++i) burst.gathers(16);
  burst.complete();
  EXPECT_TRUE(burst.gathers(16));
  burst.complete();
  EXPECT_FALSE(burst.gathers(16));
}

TEST(Burst, CompletionsWithoutOperationsSayNothing) {
  Burst burst;
  for (int i = 0; i < 20; ++i) burst.gathers(16);
  burst.complete();
  burst.complete();
  EXPECT_TRUE(burst.gathers(16));
}

}  // namespace
}  // namespace hob::batch
