#include "cache/reuse_model.hpp"

#include <gtest/gtest.h>

namespace hob::cache {
namespace {

using History = ReuseModel::History;

TEST(ReuseModel, SoonerUsedIsWorthMore) {
  ReuseModel model;
  History often;
  History seldom;
  for (int i = 0; i < 5000; ++i) {
    model.used_after(often, 64, 10);
    model.used_after(seldom, 64, 1000);
  }
  EXPECT_GT(model.density(often, 64, 0), 20 * model.density(seldom, 64, 0));
}

TEST(ReuseModel, ALoopMakesEntriesMoreValuableUntilTheirUse) {
  ReuseModel model;
  History loop;
  for (int i = 0; i < 20000; ++i) model.used_after(loop, 64, 1000);
  EXPECT_GT(model.density(loop, 64, 900), 1.3f * model.density(loop, 64, 0));
  EXPECT_GT(model.density(loop, 64, 900), 1.3f * model.density(loop, 64, 50000));
}

TEST(ReuseModel, BurstsMakeThemWorthlessSoonAfterAUse) {
  ReuseModel model;
  // Used 9 times in short order, then for a long time not, again and again.
  History burst;
  for (int i = 0; i < 20000; ++i) model.used_after(burst, 64, i % 9 == 8 ? 20000 : 4);
  History within = burst;
  while (within.last > 3) model.used_after(within, 64, 4);
  EXPECT_GT(model.density(within, 64, 2), 20 * model.density(within, 64, 300));
  // Right after the long pause the next burst has begun.
  History begun = within;
  model.used_after(begun, 64, 20000);
  EXPECT_GT(model.density(begun, 64, 1), 0.1f);
}

TEST(ReuseModel, LearnsWhatIsUsualForASize) {
  ReuseModel model;
  for (int i = 0; i < 20000; ++i) {
    History small;
    model.used_after(small, 64, 100);
    model.lost_after(History{}, 8192, 20000);
  }
  EXPECT_GT(model.density({}, 64, 0), 50 * model.density({}, 8192, 0));
}

TEST(ReuseModel, AnySizeAndAgeIsAnswered) {
  ReuseModel model;
  History history;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    model.used_after(history, value, value);
    model.lost_after(history, value, value);
    for (const std::uint64_t age : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      EXPECT_GE(model.density(history, value, age), 0.0f);
  }
}

}  // namespace
}  // namespace hob::cache
