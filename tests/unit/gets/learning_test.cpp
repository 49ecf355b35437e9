#include "gets/learning.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "gets/progress_pace.hpp"
#include "gets/request_book.hpp"

namespace hob::gets {
namespace {

class Learns : public testing::Test {
 protected:
  std::uint32_t issue(TargetState& target, int rank, std::uint64_t when = 1) {
    return under_way_.add(target.pending, rank, {.bytes = 8, .issue_ticks = 10, .when = when});
  }
  void arrive(TargetState& target) {
    under_way_.finish_until(target.pending, under_way_.last_birth(), [](PendingGet&) {});
  }
  TargetState& target(int rank) {
    bool lacking = false;
    return targets_.at(rank, lacking, [](TargetState&) {});
  }

  HitCost hit_{100, 0};
  GetsUnderWay under_way_;
  TargetTable targets_;
  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  Learning learning_{
      {.poll = {.hits = 64, .age = 1000, .share = 0.01}, .trips = {}}, hit_, under_way_, *cache_};
};

TEST_F(Learns, HitsThatAreNotDueAreThoseOfTheTerms) {
  EXPECT_EQ(learning_.not_due(0, 5000).oldest, 4000u);
  EXPECT_EQ(learning_.not_due(3999, 5000).oldest, 4000u);
  EXPECT_EQ(learning_.not_due(4000, 5000).oldest, 0u) << "all copies were true then";
  EXPECT_EQ(learning_.not_due(0, 5000).longest_row, 64u);
  EXPECT_TRUE(learning_.due(1, 3999, 5000));
  EXPECT_FALSE(learning_.due(1, 4000, 5000));
  learning_.refetch_begins(5000);
  EXPECT_EQ(learning_.not_due(0, 5100).oldest, 0u) << "one is under way";
  learning_.refetch_arrived(5010);
  EXPECT_EQ(learning_.not_due(0, 6001).oldest, 5001u) << "10 ticks at a share of a hundredth";
}

TEST_F(Learns, GetsWithRequestsOnOneNodeAreCheap) {
  TargetState far;
  EXPECT_FALSE(learning_.cheap(far, false));
  EXPECT_TRUE(learning_.cheap(far, true)) << "in a batch";
  learning_.requested(false);
  EXPECT_FALSE(learning_.cheap(far, false));
  learning_.requested(true);
  EXPECT_TRUE(learning_.cheap(far, false));
}

TEST_F(Learns, CheapGetsThatMissMoreThanTheyHitAreLeftToTheLibrary) {
  TargetState far;
  for (std::uint32_t i = 0; i < ReuseTrial::kTrial; ++i) {
    learning_.missed(far, 8, true);
    if (i % 2 == 0) learning_.served_cheaply();
  }
  EXPECT_TRUE(learning_.skips());
}

TEST_F(Learns, LargeGetsThatDoNotComeBackAreLeftToTheLibrary) {
  TargetState far;
  constexpr std::uint64_t size = OnceTrial::kLarge;
  const auto ask = [&](std::uint64_t place) {
    if (cache_->find({1, place, 0}, size).kind != cache::Hit::missing)
      return learning_.served(far, false);
    cache_->reserve({1, place, 0}, size);
    learning_.missed(far, size, false);
  };
  for (std::uint32_t i = 0; i < OnceTrial::kLargeGets.trial; ++i) ask(i * size);
  std::uint64_t left = 0;
  for (std::uint64_t i = 100; i < 200; ++i) left += learning_.leaves(1, i * i * size, size) ? 1 : 0;
  EXPECT_GT(left, 80u);
  ask(0);
  EXPECT_FALSE(learning_.leaves(1, 100 * size, size)) << "one was here";
  for (std::uint32_t i = 0; i < OnceTrial::kLargeGets.trial; ++i) ask((300 + i % 32) * size);
  for (std::uint64_t i = 100; i < 200; ++i) EXPECT_FALSE(learning_.leaves(1, i * size, size));
}

TEST_F(Learns, SmallGetsOfBurstsThatDoNotComeBackAreLeftToTheLibrary) {
  TargetState far;
  for (std::uint32_t i = 0; i < OnceTrial::kSmallGets.trial; ++i) {
    ASSERT_FALSE(learning_.leaves(1, 31 * i * i, 8)) << i;
    cache_->find({1, 31 * i * i, 0}, 8);
    learning_.missed(far, 8, false);
    if (i % 8 == 0) learning_.completed();
  }
  std::uint64_t left = 0;
  for (std::uint64_t i = 100; i < 200; ++i) left += learning_.leaves(1, 31 * i * i, 8) ? 1 : 0;
  EXPECT_GT(left, 80u);
  for (std::uint64_t i = 100; i < 200; ++i)
    EXPECT_FALSE(learning_.leaves(1, 31 * i * i, OnceTrial::kLarge)) << "larger ones are not known";
  for (int i = 0; i < 4; ++i) learning_.served(far, false);
  EXPECT_FALSE(learning_.leaves(1, 7, 8));
}

TEST_F(Learns, AWaitForTheGetsToOneOfAllTargetsIsAWaitForThatTarget) {
  for (int i = 0; i < 8; ++i) {
    issue(target(1), 1);
    target(2);
    learning_.waited_for_all(targets_, 200, false, [](const TargetState&) { return true; });
    arrive(target(1));
  }
  EXPECT_TRUE(target(1).profile.bypassed()) << "no dearer than hits";
}

TEST_F(Learns, AWaitForSeveralTargetsOrForOtherThreadsTellsOfNone) {
  for (int i = 0; i < 8; ++i) {
    issue(target(1), 1);
    learning_.waited_for_all(targets_, 200, false, [](const TargetState&) { return false; });
    issue(target(2), 2);
    learning_.waited_for_all(targets_, 200, false, [](const TargetState&) { return true; });
    arrive(target(1));
    arrive(target(2));
  }
  EXPECT_TRUE(target(1).profile.sampling());
  EXPECT_TRUE(target(2).profile.sampling());
}

TEST_F(Learns, OfRequestsUnderWayTogetherTheFirstWaitIsAPrice) {
  for (std::uint64_t now = 20'000; now <= 400'000; now += 20'000) {
    for (int k = 0; k < 2; ++k) {
      TargetState& one = target(k);
      issue(one, k, now - 10'000);
      learning_.waited_for_request(one, now - 10'000, k == 0 ? 9000 : 1, now, false);
      arrive(one);
    }
  }
  EXPECT_EQ(learning_.typical_trip(), 9010u);
}

TEST(ProgressPace, IsDueAtLeastOnceInAnInterval) {
  ProgressPace pace(100, 1000);
  EXPECT_FALSE(pace.due(1100));
  EXPECT_TRUE(pace.due(1101));
  pace.entered(1101);
  EXPECT_FALSE(pace.due(1201));
  EXPECT_FALSE(ProgressPace(0, 0).due(~std::uint64_t{0})) << "never";
}

TEST(RequestBook, FindsAGetByItsNameUntilItIsComplete) {
  GetsUnderWay under_way;
  RequestBook book(under_way);
  GetsUnderWay::List list;
  const std::uint32_t index = under_way.add(list, 1, {.bytes = 8});
  const std::uint64_t name = book.cookie_of(index);
  EXPECT_NE(name, 0u);
  EXPECT_EQ(RequestBook::index_of(name), index);
  ASSERT_NE(book.find(name), nullptr);
  EXPECT_EQ(book.find(name)->bytes, 8u);
  under_way.remove(list, index);
  EXPECT_EQ(book.find(name), nullptr);
  EXPECT_EQ(under_way.add(list, 1, {.bytes = 16}), index);
  EXPECT_EQ(book.find(name), nullptr) << "another get in its place";
  EXPECT_EQ(book.find(std::uint64_t{1} << 32 | 77), nullptr);
}

TEST(RequestBook, RemembersErrors) {
  GetsUnderWay under_way;
  RequestBook book(under_way);
  EXPECT_EQ(book.error_of(5, 0), 0);
  book.failed(5, 17);
  EXPECT_EQ(book.error_of(5, 0), 17);
  for (std::uint64_t other = 100; other < 200; ++other) book.failed(other, 1);
  EXPECT_EQ(book.error_of(100, 0), 1);
  EXPECT_EQ(book.error_of(199, 0), 0) << "the first ones";
}

}  // namespace
}  // namespace hob::gets
