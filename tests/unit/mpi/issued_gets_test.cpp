// Gets of a window that go to the library, by the classes that issue and finish them: each by
// itself.
#include "played_window.hpp"

namespace hob::mpi {
namespace {

class IssuedGets : public PlayedWindow {
 protected:
  bool issue_block(const Get& get) { return blocks_.issue(get, *t_, wanted_of(get), false); }
  void finish_block() {
    backend_.arrive();
    blocks_.finish(only_pending());
    under_way_.remove(t_->pending, t_->pending[0]);
  }

  BlockGets blocks_{kMemory,
                    {ahead_, issuer_, requested_, *cache_, units_, coherence_, sharing_, under_way_,
                     learning_, kept_, stats_}};
};

TEST_F(IssuedGets, WhatIsFetchedIsUnderWayAndHasAPlace) {
  const Get get = get_of(100, 8);
  EXPECT_EQ(issuer_.fetch(get, *t_, wanted_of(get)), MPI_SUCCESS);
  EXPECT_EQ(backend_.issued.size(), 1u);
  EXPECT_EQ(t_->pending.size(), 1u);
  EXPECT_EQ(found(100, 8), cache::Hit::pending_full);
  EXPECT_EQ(stats_.native_gets, 1u);
}

TEST_F(IssuedGets, WhatIsIssuedAloneIsNotKept) {
  EXPECT_EQ(issuer_.issue(get_of(100, 8), *t_), MPI_SUCCESS);
  EXPECT_TRUE(t_->pending.empty());
  EXPECT_EQ(found(100, 8), cache::Hit::missing);
  EXPECT_TRUE(results_.none());
}

TEST_F(IssuedGets, WhatTheLibraryRefusesIsNotUnderWay) {
  backend_.error = MPI_ERR_RANK;
  const Get get = get_of(100, 8);
  EXPECT_EQ(issuer_.fetch(get, *t_, wanted_of(get)), MPI_ERR_RANK);
  EXPECT_TRUE(t_->pending.empty());
  EXPECT_EQ(found(100, 8), cache::Hit::missing);
}

/// What an atomic read returns may announce writes.
TEST_F(IssuedGets, ResultsOfAtomicReadsAreNoted) {
  const Get get = Get::get_accumulate(nullptr, 0, MPI_BYTE, buffer_.data(), 8, MPI_BYTE, kTarget, 0,
                                      8, MPI_BYTE, MPI_NO_OP);
  EXPECT_EQ(issuer_.issue(get, *t_), MPI_SUCCESS);
  EXPECT_TRUE(results_.covers(kTarget));
}

TEST_F(IssuedGets, ABlockBringsTheGetAndItsNeighbours) {
  ASSERT_TRUE(issue_block(get_of(100, 8)));
  ASSERT_EQ(backend_.issued.size(), 1u);
  EXPECT_GE(backend_.issued[0].result.count, static_cast<MPI_Count>(kBlock));
  EXPECT_TRUE(under_way_.brings(t_->pending[0], kTarget, 200, 8));
  EXPECT_FALSE(under_way_.brings(t_->pending[0], kTarget, 2 * kBlock, 8));
  EXPECT_FALSE(under_way_.brings(t_->pending[0], kTarget + 1, 200, 8));
  finish_block();
  EXPECT_TRUE(has_right_bytes(100, 8));
  EXPECT_EQ(found(200, 8), cache::Hit::full);
  EXPECT_EQ(stats_.ahead_gets, 1u);
}

/// The block could hold what an own write under way overwrites.
TEST_F(IssuedGets, NoBlockIsFetchedWhileThisProcessWrites) {
  t_->written = 1;
  EXPECT_FALSE(issue_block(get_of(100, 8)));
  EXPECT_TRUE(backend_.issued.empty());
}

TEST_F(IssuedGets, ABlockThatTheLibraryRefusesLeavesNothingAndIsTheLast) {
  backend_.error = MPI_ERR_RANK;
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_FALSE(issue_block(get_of(100, 8, &request)));
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_TRUE(t_->pending.empty());
  EXPECT_EQ(found(100, 8), cache::Hit::missing);
  backend_.error = MPI_SUCCESS;
  EXPECT_FALSE(issue_block(get_of(100, 8)));
}

/// Another process writes with no acquire in between: what it announced so is to be seen.
TEST_F(IssuedGets, ABlockThatChangedEndsReadaheadAndIsAnAcquire) {
  ASSERT_TRUE(issue_block(get_of(100, 8)));
  finish_block();
  const Get get = get_of(200, 8);
  for (const bool changed : {false, true}) {
    if (changed) backend_.memory[300] ^= std::byte{1};
    const auto before = acquires.count.load();
    const CacheableGet wanted = wanted_of(get);
    const cache::Lookup hit = cache_->find(wanted.key, 8);
    ASSERT_TRUE(blocks_.issue_again({get, *t_, wanted, hit}));
    finish_block();
    EXPECT_EQ(acquires.count.load() != before, changed);
    EXPECT_EQ(stats_.ahead_changed, changed ? 1u : 0u);
    EXPECT_EQ(ahead_.readahead.enabled(), !changed);
  }
  EXPECT_EQ(stats_.ahead_refetches, 2u);
}

TEST_F(IssuedGets, ARequestThatIsCompleteEndsItsGet) {
  MPI_Request request = MPI_REQUEST_NULL;
  MadeRequest made{&request};
  const Get get = get_of(100, 8, &request);
  EXPECT_EQ(requested_.issue({get, *t_, wanted_of(get), {}}, Plan::exact, made), MPI_SUCCESS);
  ASSERT_NE(made.watch, 0u);
  requested_.watch(made);
  EXPECT_EQ(found(100, 8), cache::Hit::pending_full);
  backend_.arrive();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(arrived_, std::vector<bool>{true});
  EXPECT_TRUE(t_->pending.empty());
  EXPECT_EQ(found(100, 8), cache::Hit::full);
}

/// It is not known until when the program leaves the buffer as it is.
TEST_F(IssuedGets, NothingIsKeptOfARequestThatIsFreed) {
  MPI_Request request = MPI_REQUEST_NULL;
  MadeRequest made{&request};
  const Get get = get_of(100, 8, &request);
  EXPECT_EQ(requested_.issue({get, *t_, wanted_of(get), {}}, Plan::exact, made), MPI_SUCCESS);
  requested_.watch(made);
  MPI_Request_free(&request);
  EXPECT_TRUE(arrived_.empty());
  EXPECT_TRUE(t_->pending.empty());
  EXPECT_EQ(found(100, 8), cache::Hit::missing);
}

TEST_F(IssuedGets, ARequestForABlockIsCompleteWhenTheBlockIsHere) {
  MPI_Request request = MPI_REQUEST_NULL;
  ASSERT_TRUE(issue_block(get_of(100, 8, &request)));
  ASSERT_NE(request, MPI_REQUEST_NULL);
  EXPECT_NE(only_pending().request, 0u);
  EXPECT_TRUE(requested_.wait_for(only_pending()));
  finish_block();
  EXPECT_TRUE(has_right_bytes(100, 8));
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_EQ(failed_, 0);
}

}  // namespace
}  // namespace hob::mpi
