// What the members of a window report to each other of their writes (WriteReports), by itself.
#include "mpi/rma/cache/write_reports.hpp"

#include "played_window.hpp"

namespace hob::mpi {
namespace {

class Reports : public PlayedWindow, public WriteReports::Owner {
 protected:
  static constexpr std::uint64_t kWindow = 5;  // as its members know it
  static constexpr int kMe = 0;

  void turn_tracking_on() override { tracking_.turn_on(false); }
  void try_turn_tracking_off() override { tracking_.turn_off(); }
  void phase_ended() override { ++phases_; }
  double typical_trip() const override { return 10'000; }
  void drop_copies(int rank, TargetState&) override {
    cache_->drop_target(static_cast<std::uint32_t>(rank));
  }
  void drop_bytes(int rank, std::uint64_t first, std::uint64_t bytes) override {
    cache_->drop_range(static_cast<std::uint32_t>(rank), first, bytes);
  }

  void keep_something() {
    const Get get = get_of(100, 8);
    ASSERT_EQ(issuer_.fetch(get, *t_, wanted_of(get)), MPI_SUCCESS);
    backend_.arrive();
    PendingGet& pending = only_pending();
    cache_->fill(pending.entry, pending.first_byte(), pending.bytes);
    under_way_.remove(t_->pending, t_->pending[0]);
  }
  bool notifies(int rank) {
    validation::Changes changes;
    reports_.notify(kWindow, changes);
    return changes.may_have_changed(kWindow, rank);
  }

  TrackingState tracking_;
  OwnRank own_rank_;
  int phases_ = 0;
  WriteReports reports_{
      kMe,
      {*this, lock_, hot_, *cache_, coherence_, tracking_, targets_, own_rank_, kept_, stats_}};
};

TEST_F(Reports, AWriteIsReportedOnceWhenItIsComplete) {
  reports_.expect(*ahead_.exposed, true);
  EXPECT_TRUE(tracking_.is_on());
  static_cast<void>(notifies(kTarget));  // what was before
  static_cast<void>(notifies(kTarget));
  EXPECT_FALSE(notifies(kTarget));
  coherence_.note_write(*t_);
  t_->settled = t_->written;
  EXPECT_TRUE(notifies(kTarget));
  EXPECT_FALSE(notifies(kTarget));
}

TEST_F(Reports, AWindowThatNobodyReadsIsNotTrackedAnyMore) {
  reports_.expect(*ahead_.exposed, true);
  for (std::uint32_t i = 0; i < 2 * TrackingState::kUnread; ++i) reports_.notify_nothing();
  EXPECT_FALSE(tracking_.is_on());
}

TEST_F(Reports, CopiesOutliveACallInWhichNobodyReportsAWrite) {
  reports_.expect(*ahead_.exposed, true);
  keep_something();
  reports_.keep_unchanged(kWindow, validation::Changes{}, {}, 0);
  EXPECT_EQ(stats_.kept, 1U);
  EXPECT_TRUE(coherence_.is_current(1)) << "the call was acquire number 1";
  EXPECT_EQ(found(100, 8), cache::Hit::full);
}

TEST_F(Reports, CopiesOfATargetThatSomebodyHasWrittenToAreDropped) {
  reports_.expect(*ahead_.exposed, true);
  keep_something();
  bool lacking = false;
  targets_.at(kTarget + 1, lacking, [](TargetState&) {});
  validation::Changes changes;
  changes.add(kWindow, kTarget);
  reports_.keep_unchanged(kWindow, changes, {}, 0);
  EXPECT_EQ(stats_.kept, 1U) << "those of other targets are";
  EXPECT_NE(found(100, 8), cache::Hit::full);
  EXPECT_EQ(phases_, 1);
}

TEST_F(Reports, NothingIsKeptOfACallThatWasNotTheOnlyAcquire) {
  reports_.expect(*ahead_.exposed, true);
  keep_something();
  reports_.keep_unchanged(kWindow, validation::Changes{}, {}, 1);
  EXPECT_EQ(stats_.kept, 0U);
  EXPECT_FALSE(coherence_.is_current(2));
}

}  // namespace
}  // namespace hob::mpi
