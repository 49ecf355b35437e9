// Gets of places that phases before have read (RecallGets), by themselves.
#include "mpi/rma/cache/recall_gets.hpp"

#include "base/clock.hpp"
#include "batch/operation_buffer.hpp"
#include "mpi/core/context.hpp"
#include "mpi/rma/batch/indexed.hpp"
#include "played_window.hpp"

namespace hob::mpi {
namespace {

class RecalledGets : public PlayedWindow, public RecallGets::Owner {
 protected:
  static constexpr int kPlaces = 20;
  static constexpr std::uint64_t kApart = 3000;
  static constexpr int kBytes = 8;
  static constexpr double kTripNs = 5e4;

  /// `ahead`: null where nothing is fetched ahead.
  explicit RecalledGets(Ahead* ahead = nullptr, bool indexed = true)
      : recalls_({.indexed = indexed, .judged = false, .longest_fetch = kMemory},
                 {*this, backend_, backend_, room_, ahead, issuer_, *cache_, units_, coherence_,
                  sharing_, tracking_, under_way_, learning_, kept_, stats_}) {}
  void SetUp() override {
    PlayedWindow::SetUp();
    // The first one of a process is dear.
    batch::OperationBuffer buffer;
    buffer.add(0, 8, nullptr);
    buffer.add(16, 8, nullptr);
    ASSERT_TRUE(IndexedType(buffer, 0, MPI_BYTE, 1).good());
  }
  TargetState& target_of(int) override { return *t_; }

  /// What the window does with a get that was looked up. Returns whether it went with places.
  bool ask(std::uint64_t displacement) {
    const Get get = get_of(displacement, kBytes);
    const CacheableGet wanted = wanted_of(get);
    const cache::Lookup hit = cache_->find(wanted.key, wanted.size);
    const LookedUp asked{get, *t_, wanted, hit};
    const bool missing = hit.kind == cache::Hit::missing;
    const bool recalled = missing && recalls_.issue(asked);
    if (missing && !recalled) issuer_.fetch(get, *t_, wanted);
    if (hit.kind == cache::Hit::full) std::memcpy(buffer_.data(), hit.data, kBytes);
    recalls_.looked_up(asked, true, false);
    return recalled;
  }
  void flush() {
    // No more is spared than gets take.
    if (!backend_.issued.empty()) recalls_.spent(ticks_in(kTripNs));
    backend_.arrive();
    under_way_.finish_until(t_->pending, under_way_.last_birth(), [&](PendingGet& pending) {
      if (pending.purpose == PendingGet::Purpose::recall) return recalls_.finish(pending);
      cache_->fill(pending.entry, pending.first_byte(), pending.bytes);
    });
    recalls_.completed();
  }
  void expect_read(std::uint64_t displacement) {
    ask(displacement);
    flush();
    EXPECT_TRUE(has_right_bytes(displacement, kBytes)) << displacement;
  }
  /// An acquire: others have written.
  void next_phase() {
    cache_->drop_all();
    recalls_.phase_ended(0);
    for (std::byte& byte : backend_.memory) byte ^= std::byte{0x55};
  }
  /// Phases that read the same places. The next one begins as they did.
  void learn(std::uint64_t first = 0) {
    for (int phase = 0; phase < 3; ++phase) {
      expect_read(first);
      for (int i = 1; i < kPlaces; ++i) expect_read(kApart * static_cast<std::uint64_t>(i));
      next_phase();
    }
  }

  TrackingState tracking_;
  recall::Room room_{std::uint64_t{1} << 20};
  RecallGets recalls_;
};

class RecalledGetsBesideBlocks : public RecalledGets {
 protected:
  RecalledGetsBesideBlocks() : RecalledGets(&ahead_) {}
};

/// Through ghosts.
class RecalledGetsOneByOne : public RecalledGets {
 protected:
  RecalledGetsOneByOne() : RecalledGets(nullptr, false) {}
};

TEST_F(RecalledGetsOneByOne, AGetThatBeginsAtNoMultipleOfTheUnitIsIssuedAsTheProgramSays) {
  learn(1);  // a datatype may begin there
  units_.assign(PerRank(8));
  EXPECT_FALSE(ask(1));
  ASSERT_GT(backend_.issued.size(), 1U) << "the others are recalled";
  EXPECT_EQ(backend_.issued.back().disp, 1);
  for (std::size_t i = 0; i + 1 < backend_.issued.size(); ++i)
    EXPECT_EQ(backend_.issued[i].disp % static_cast<MPI_Aint>(kApart / 8), 0);
  flush();
}

TEST_F(RecalledGets, ThePlacesGoWithTheFirstGetAndAreHitsThen) {
  learn();
  const GetStats before = stats_;
  EXPECT_TRUE(ask(0));
  EXPECT_EQ(backend_.issued.size(), 1U);
  flush();
  EXPECT_TRUE(has_right_bytes(0, kBytes)) << "the program's get waits for them";
  for (int i = 1; i < kPlaces; ++i) expect_read(kApart * static_cast<std::uint64_t>(i));
  EXPECT_EQ(stats_.native_gets - before.native_gets, 1U);
  EXPECT_EQ(stats_.recalled - before.recalled, kPlaces - 1U);
  EXPECT_EQ(stats_.recall_used - before.recall_used, kPlaces - 1U);
}

/// New memory takes as long as what arrives there.
TEST_F(RecalledGetsBesideBlocks, TheyArriveInTheMemoryOfBlocks) {
  const std::uint64_t before = ahead_.pool.memory_bytes();
  learn();
  ASSERT_NE(stats_.recalled, 0U);
  EXPECT_GT(ahead_.pool.memory_bytes(), before);
}

TEST_F(RecalledGets, AHitOnPlacesUnderWaySaysWhereItsBytesArrive) {
  learn();
  ASSERT_TRUE(ask(0));
  const std::uint32_t index = t_->pending.at(0);
  const Get get = get_of(kApart + 4, 4);
  const CacheableGet wanted = wanted_of(get);
  const cache::Lookup hit = cache_->find(wanted.key, wanted.size);
  const gets::RecalledPlace* const place = recalls_.place_of(index, wanted, hit);
  ASSERT_NE(place, nullptr);
  EXPECT_EQ(place->displacement, kApart);
  flush();
}

/// They could be what an own write under way overwrites.
TEST_F(RecalledGets, NothingIsRecalledWhileThisProcessWrites) {
  learn();
  t_->written = 1;
  EXPECT_FALSE(ask(0));
  EXPECT_EQ(backend_.issued.size(), 1U);
  flush();
}

TEST_F(RecalledGets, WhatTheLibraryRefusesLeavesNothingAndIsTheLast) {
  learn();
  backend_.error = MPI_ERR_RANK;
  EXPECT_FALSE(ask(0));
  EXPECT_EQ(found(kApart, kBytes), cache::Hit::missing);
  EXPECT_FALSE(recalls_.records());
  backend_.error = MPI_SUCCESS;
  flush();
  EXPECT_FALSE(ask(0));
  flush();
}

TEST_F(RecalledGets, BytesThatChangedEndRecallAndAreAnAcquire) {
  learn();
  ASSERT_TRUE(ask(0));
  flush();
  const auto before = acquires.count.load();
  recalls_.end();
  EXPECT_NE(acquires.count.load(), before);
  EXPECT_EQ(stats_.recall_changed, 1U);
  next_phase();
  EXPECT_FALSE(ask(0));
  flush();
}

/// The get with a request was issued before: the places go beside it, with a request of Hob's own.
TEST_F(RecalledGets, BesideAGetWithARequestTheyHaveOneOfTheirOwn) {
  learn();
  MPI_Request request = MPI_REQUEST_NULL;
  MadeRequest made{&request};
  const Get get = get_of(0, kBytes, &request);
  const CacheableGet wanted = wanted_of(get);
  const cache::Lookup hit = cache_->find(wanted.key, wanted.size);
  const LookedUp asked{get, *t_, wanted, hit};
  ASSERT_EQ(requested_.issue(asked, Plan::exact, made), MPI_SUCCESS);
  recalls_.looked_up(asked, true, true);
  ASSERT_EQ(t_->pending.size(), 2U);
  const PendingGet& recall = under_way_[t_->pending[1]];
  EXPECT_EQ(recall.purpose, PendingGet::Purpose::recall);
  EXPECT_NE(recall.request, 0U);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_TRUE(requested_.wait_for(under_way_[t_->pending[1]]));
  flush();
  expect_read(kApart);
}

}  // namespace
}  // namespace hob::mpi
