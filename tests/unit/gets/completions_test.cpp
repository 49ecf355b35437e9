#include "gets/completions.hpp"

#include <gtest/gtest.h>

namespace hob::gets {
namespace {

class Completes : public testing::Test {
 protected:
  TargetState& target(int rank) {
    bool lacking = false;
    return targets_.at(rank, lacking, [](TargetState&) {});
  }
  std::uint32_t issue(int rank) {
    ++target(rank).gets;
    return under_way_.add(target(rank).pending, rank, {.bytes = 8});
  }
  void arrive(int rank) {
    under_way_.finish_until(target(rank).pending, under_way_.last_birth(), [](PendingGet&) {});
  }

  TargetTable targets_;
  GetsUnderWay under_way_;
  Completions completions_{targets_, under_way_};
};

TEST_F(Completes, AFlushAfterHitsAloneIsSkipped) {
  EXPECT_FALSE(completions_.skip(target(1))) << "for progress";
  ++target(1).hits;
  EXPECT_TRUE(completions_.skip(target(1)));
  EXPECT_FALSE(completions_.skip(target(1)));
}

TEST_F(Completes, AFlushOfWhatIsOutstandingIsNotSkipped) {
  ++target(1).hits;
  issue(1);
  EXPECT_FALSE(completions_.skip(target(1)));
  const Completions::Token token = completions_.begin(&target(1), false, 0);
  ++target(1).hits;
  EXPECT_FALSE(completions_.skip(target(1))) << "another thread's flush is not over";
  completions_.end(&target(1));
  arrive(1);
  completions_.settle(target(1), token);
  EXPECT_TRUE(completions_.skip(target(1)));
  target(1).written = 4;
  ++target(1).hits;
  EXPECT_FALSE(completions_.skip(target(1))) << "a write is under way";
}

TEST_F(Completes, AFlushOfAllIsSkippedWhereEachTargetsWouldBe) {
  ++target(1).hits;
  target(2);
  EXPECT_FALSE(completions_.skip_all(true)) << "of writes that were not seen";
  completions_.pass_by();
  EXPECT_FALSE(completions_.skip_all(false));
  completions_.none_passed_by();
  static_cast<void>(completions_.begin(nullptr, false, 0));
  ++target(1).hits;
  EXPECT_FALSE(completions_.skip_all(false));
  EXPECT_FALSE(completions_.is_idle(target(2)));
  completions_.end(nullptr);
  EXPECT_TRUE(completions_.skip_all(false));
  EXPECT_FALSE(completions_.skip(target(1))) << "its hits are flushed";
  issue(2);
  ++target(1).hits;
  EXPECT_FALSE(completions_.skip_all(false));
}

TEST_F(Completes, ALocalFlushOfPendingGetsHasToBeAFullOne) {
  EXPECT_TRUE(completions_.begin(&target(1), true, 7).local);
  issue(2);
  EXPECT_FALSE(completions_.begin(&target(2), true, 7).local);
  EXPECT_FALSE(completions_.begin(nullptr, true, 7).local);
}

TEST_F(Completes, WritesAreCompleteAfterAFullFlushUpToItsBegin) {
  target(1).written = 9;
  const Completions::Token local = completions_.begin(&target(1), true, 7);
  completions_.settle(target(1), local);
  EXPECT_EQ(target(1).settled, 0u);
  const Completions::Token full = completions_.begin(&target(1), false, 7);
  completions_.settle(target(1), full);
  EXPECT_EQ(target(1).settled, 7u);
  EXPECT_TRUE(target(1).writing());
  Completions::close(target(1), 9, true);
  EXPECT_FALSE(target(1).writing());
  EXPECT_TRUE(target(1).closed);
}

TEST_F(Completes, OneThreadsWaitIsNotAloneWhileAnotherWaitsOrIssues) {
  issue(1);
  const Completions::Token token = completions_.begin(&target(1), false, 0);
  completions_.end(&target(1));
  EXPECT_TRUE(completions_.waited_alone(target(1), token.last_get));
  const Completions::Token other = completions_.begin(nullptr, false, 0);
  EXPECT_FALSE(completions_.waited_alone(target(1), token.last_get));
  completions_.end(nullptr);
  EXPECT_TRUE(completions_.waited_alone(target(1), other.last_get));
  issue(1);
  EXPECT_FALSE(completions_.waited_alone(target(1), token.last_get));
}

TEST_F(Completes, AWaitIsNotForTheGetsAloneWhereOthersWereLeftToTheLibrary) {
  issue(1);
  target(1).left = true;
  const Completions::Token token = completions_.begin(&target(1), true, 0);
  completions_.end(&target(1));
  EXPECT_FALSE(completions_.waited_alone(target(1), token.last_get));
  completions_.settle(target(1), token);
  EXPECT_TRUE(completions_.waited_alone(target(1), token.last_get));
  target(1).left = true;
  Completions::close(target(1), 0, true);
  EXPECT_FALSE(target(1).left);
}

TEST_F(Completes, AWindowIsBusyWhileGetsAreUnderWayOrCompleted) {
  target(1);
  EXPECT_FALSE(completions_.busy());
  issue(1);
  EXPECT_TRUE(completions_.busy());
  arrive(1);
  EXPECT_FALSE(completions_.busy());
  static_cast<void>(completions_.begin(nullptr, false, 0));
  EXPECT_TRUE(completions_.busy());
}

}  // namespace
}  // namespace hob::gets
