// Gets of a window that go to the library, by the classes that issue and finish them: each by
// itself, on a backend that copies bytes when it is told to.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "fake_mpi.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/cache/block_gets.hpp"
#include "mpi/rma/cache/get_issuer.hpp"
#include "mpi/rma/cache/requested_gets.hpp"

namespace hob::mpi {
namespace {

constexpr std::size_t kMemory = 65536;
constexpr std::uint64_t kBlock = 4096;
constexpr int kTarget = 1;

/// The memory of a target, and what was asked of it.
struct PlayedBackend final : Backend {
  int issue(const rma::Op& op) override {
    if (error != MPI_SUCCESS) return error;
    issued.push_back(op);
    if (op.request) return real::Rget(&word, 1, MPI_INT, kTarget, 0, 1, MPI_INT, win, op.request);
    return MPI_SUCCESS;
  }
  int synchronise(const rma::Sync&) override { return MPI_SUCCESS; }
  /// All gets bring their bytes.
  void arrive() {
    for (const rma::Op& op : issued)
      std::memcpy(op.result.address, memory.data() + op.disp,
                  static_cast<std::size_t>(op.result.count));
    issued.clear();
  }

  std::vector<std::byte> memory = std::vector<std::byte>(kMemory);
  std::vector<rma::Op> issued;
  int error = MPI_SUCCESS;
  int word = 0;
  MPI_Win win = MPI_WIN_NULL;
};

class IssuedGets : public testing::Test, public RequestedGets::Owner {
 protected:
  void SetUp() override {
    fake::reset();
    real::Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base_, &backend_.win);
    for (std::size_t i = 0; i < kMemory; ++i) backend_.memory[i] = std::byte(i * 7 % 251);
    bool lacking = false;
    t_ = &targets_.at(kTarget, lacking, [](TargetState&) {});
    ahead_.exposed->assign(PerRank(kMemory), PerRank(kAllReadable));
    issuer_.know_ahead(ahead_);
    acquire_users.fetch_add(1);  // else acquires are not counted
  }
  void TearDown() override {
    acquire_users.fetch_sub(1);
    real::Win_free(&backend_.win);
  }

  void get_arrived(PendingGet& pending, TargetState&, bool awaited) override {
    arrived_.push_back(awaited);
    cache_->fill(pending.entry, pending.first_byte(), pending.bytes);
  }
  void get_failed() override { ++failed_; }

  Get get_of(std::uint64_t displacement, int bytes, MPI_Request* request = nullptr) {
    return Get::get(buffer_.data(), bytes, MPI_BYTE, kTarget, static_cast<MPI_Aint>(displacement),
                    bytes, MPI_BYTE, request);
  }
  static CacheableGet wanted_of(const Get& get) {
    const Layout& bytes = layout_of(MPI_BYTE);
    return {&bytes,
            &bytes,
            {kTarget, static_cast<std::uint64_t>(get.disp), 0},
            static_cast<std::uint64_t>(get.target_count),
            true};
  }
  /// What a lookup finds of a get of so many bytes.
  cache::Hit found(std::uint64_t displacement, std::uint64_t bytes) {
    return cache_->find({kTarget, displacement, 0}, bytes).kind;
  }
  bool has_right_bytes(std::uint64_t displacement, std::size_t bytes) const {
    return std::memcmp(buffer_.data(), backend_.memory.data() + displacement, bytes) == 0;
  }
  bool issue_block(const Get& get) { return blocks_.issue(get, *t_, wanted_of(get), false); }
  PendingGet& only_pending() { return under_way_[t_->pending.at(0)]; }
  void finish_block() {
    backend_.arrive();
    blocks_.finish(only_pending());
    under_way_.remove(t_->pending, t_->pending[0]);
  }

  void* base_ = nullptr;
  std::array<std::byte, 256> buffer_{};
  std::vector<bool> arrived_;
  int failed_ = 0;

  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  PlayedBackend backend_;
  Outstanding results_;
  DisplacementUnits units_;
  Coherence coherence_{Mode::automatic, 0};
  NodeSharing sharing_{coherence_};
  ExclusiveSpin lock_;
  gets::HotLookup hot_{{}, *cache_};
  OwnEpoch own_epoch_;
  TargetTable targets_;
  TargetState* t_ = nullptr;
  GetsUnderWay under_way_;
  gets::HitCost hit_{100, 0.1};
  gets::Learning learning_{{.trips = {.profile = {.bypass = false}}}, hit_, under_way_, *cache_};
  gets::KeptCopies kept_{*cache_};
  gets::ProgressPace progress_{0, 0};
  GetStats stats_;
  GetIssuer issuer_{{.rank = 0},
                    {backend_, results_, *cache_, units_, coherence_, sharing_, hot_, own_epoch_,
                     under_way_, learning_, kept_, stats_}};
  Ahead ahead_{{.fixed_bytes = kBlock}, std::make_unique<ExposedSizes>(), {}, 8000, 0.25};
  RequestedGets requested_{{*this, lock_, hot_, issuer_, backend_, *cache_, targets_, under_way_,
                            learning_, kept_, progress_, stats_}};
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
    const auto before = acquires.load();
    const CacheableGet wanted = wanted_of(get);
    const cache::Lookup hit = cache_->find(wanted.key, 8);
    ASSERT_TRUE(blocks_.issue_again({get, *t_, wanted, hit}));
    finish_block();
    EXPECT_EQ(acquires.load() != before, changed);
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
