#include "cache/reuse_model.hpp"

#include <gtest/gtest.h>

namespace hob::cache {
namespace {

using History = ReuseModel::History;

void use(ReuseModel& model, History& history, std::uint64_t size, std::uint64_t age) {
  model.learn_use(history, size, age);
  ReuseModel::used_after(history, age);
}

TEST(ReuseModel, SoonerUsedIsWorthMore) {
  ReuseModel model;
  History often;
  History seldom;
  for (int i = 0; i < 5000; ++i) {
    use(model, often, 64, 10);
    use(model, seldom, 64, 1000);
  }
  EXPECT_GT(model.density(often, 64, 0), 20 * model.density(seldom, 64, 0));
}

TEST(ReuseModel, ALoopMakesEntriesMoreValuableUntilTheirUse) {
  ReuseModel model;
  History loop;
  for (int i = 0; i < 20000; ++i) use(model, loop, 64, 1000);
  EXPECT_GT(model.density(loop, 64, 900), 1.3f * model.density(loop, 64, 0));
  EXPECT_GT(model.density(loop, 64, 900), 1.3f * model.density(loop, 64, 50000));
}

TEST(ReuseModel, BurstsMakeThemWorthlessSoonAfterAUse) {
  ReuseModel model;
  // Used 9 times in short order, then for a long time not, again and again.
  History burst;
  for (int i = 0; i < 20000; ++i) use(model, burst, 64, i % 9 == 8 ? 20000 : 4);
  History within = burst;
  while (within.last > 3) use(model, within, 64, 4);
  EXPECT_GT(model.density(within, 64, 2), 20 * model.density(within, 64, 300));
  // Right after the long pause the next burst has begun.
  History begun = within;
  use(model, begun, 64, 20000);
  EXPECT_GT(model.density(begun, 64, 1), 0.1f);
}

TEST(ReuseModel, LearnsWhatIsUsualForASize) {
  ReuseModel model;
  for (int i = 0; i < 20000; ++i) {
    History small;
    use(model, small, 64, 100);
    model.learn_loss(History{}, 8192, 20000);
  }
  EXPECT_GT(model.density({}, 64, 0), 50 * model.density({}, 8192, 0));
}

TEST(ReuseModel, AnySizeAndAgeIsAnswered) {
  ReuseModel model;
  History history;
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    use(model, history, value, value);
    model.learn_loss(history, value, value);
    for (const std::uint64_t age : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      EXPECT_GE(model.density(history, value, age), 0.0f);
  }
}

}  // namespace
}  // namespace hob::cache
