// Each eviction policy alone, on an engine that does nothing but keep entries: what all of them
// promise, and what is each one's own.
#include "cache/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "cache/baselines/queue_policies.hpp"
#include "cache/hash.hpp"
#include "cache/paper/paper_policy.hpp"
#include "cache/region_store.hpp"
#include "cache/segregated_fit.hpp"
#include "cache/value_policy.hpp"

namespace hob::cache {
namespace {

/// Entries of one size in a storage that holds kRoom of them. Slots of the index are their numbers.
template <class Policy>
class FakeEngine {
 public:
  using StoreType = RegionStore<SegregatedFit>;
  static constexpr std::uint64_t kSize = 1024;
  static constexpr std::uint32_t kRoom = 16;

  explicit FakeEngine(const Config& config = {}) : policy_(config) {
    static_assert(EvictionPolicy<Policy, FakeEngine>);
    EXPECT_TRUE(store_.init(kRoom * kSize, kRoom * kSize, 1024));
    EXPECT_TRUE(policy_.allocate(1024));
    entries_.reserve(1024);
  }

  // What policies ask.
  Entry& entry(std::uint32_t e) { return entries_[e]; }
  std::uint64_t now() const { return now_; }
  std::uint64_t dropped_at() const { return 0; }
  bool live(std::uint32_t e) const { return entries_[e].birth != 0 && !dropped_.count(e); }
  StoreType& store() { return store_; }
  bool fits(std::uint64_t bytes) { return store_.fits(bytes); }
  std::uint64_t adjacent_free(std::uint32_t e) const {
    return store_.adjacent_free(entries_[e].region);
  }
  std::uint64_t slots() const { return entries_.size(); }
  std::uint32_t at_slot(std::uint64_t slot) const {
    const auto e = static_cast<std::uint32_t>(slot);
    return entries_[e].birth != 0 ? e : kNone;
  }
  std::uint64_t entries_used() const { return entries_.size(); }
  std::uint64_t entries() const { return store_.used() / kSize; }
  std::uint64_t used_bytes() const { return store_.used(); }
  void count_selection(std::uint64_t, std::uint64_t) {}
  void evict(std::uint32_t e) {
    policy_.on_remove(*this, e, true);
    store_.release(entries_[e].region);
    entries_[e].birth = 0;
    evicted_.push_back(e);
  }

  // What tests do.
  static Key key(std::uint64_t number) { return {0, number * kSize, 0}; }
  /// A newcomer in free room; its number.
  std::uint32_t insert(std::uint64_t number, bool pending = false) {
    const std::uint64_t hash = hash_key(key(number));
    ++now_;
    policy_.on_get(kSize);
    policy_.on_reserve(*this, hash, kSize, false);
    const auto e = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    Entry& entry = entries_.back();
    entry.displacement = key(number).displacement;
    entry.birth = e + 1;
    entry.size = kSize;
    entry.valid = pending ? 0 : kSize;
    entry.region = store_.allocate(kSize, e);
    EXPECT_NE(entry.region, kNone);
    policy_.on_insert(*this, e, hash);
    return e;
  }
  void hit(std::uint32_t e) {
    ++now_;
    policy_.on_get(kSize);
    policy_.on_hit(*this, e);
  }
  void drop(std::uint32_t e) { dropped_.insert(e); }
  bool make_room(std::uint64_t number) {
    ++now_;
    policy_.on_reserve(*this, hash_key(key(number)), kSize, false);
    return policy_.make_room(*this, kSize);
  }
  void fill(bool pending = false) {
    for (std::uint32_t i = 0; i < kRoom; ++i) insert(i, pending);
  }
  Policy& policy() { return policy_; }
  const std::vector<std::uint32_t>& evicted() const { return evicted_; }

 private:
  Policy policy_;
  StoreType store_;
  std::vector<Entry> entries_;
  std::set<std::uint32_t> dropped_;
  std::vector<std::uint32_t> evicted_;
  std::uint64_t now_ = 0;
};

template <class Policy>
class EveryPolicy : public ::testing::Test {
 protected:
  FakeEngine<Policy> engine_;
};

using Policies = ::testing::Types<ValuePolicy, PaperPolicy, LruPolicy, SievePolicy, S3FifoPolicy>;
TYPED_TEST_SUITE(EveryPolicy, Policies);

TYPED_TEST(EveryPolicy, WhatIsUnderWayStays) {
  this->engine_.fill(true);
  EXPECT_FALSE(this->engine_.make_room(100));
  EXPECT_TRUE(this->engine_.evicted().empty());
  const std::array<std::uint32_t, 3> candidates{0, 1, 2};
  EXPECT_EQ(this->engine_.policy().choose(this->engine_, candidates), kNone);
}

TYPED_TEST(EveryPolicy, WhatWasDroppedGoesFirst) {
  this->engine_.fill();
  for (int i = 0; i < 4; ++i) this->engine_.hit(2);
  this->engine_.drop(2);
  const std::array<std::uint32_t, 3> candidates{1, 2, 3};
  EXPECT_EQ(this->engine_.policy().choose(this->engine_, candidates), 2u);
}

TYPED_TEST(EveryPolicy, RoomForAKeyThatComesBackIsMade) {
  this->engine_.fill();
  // Known before, and asked for again and again.
  for (int i = 0; i < 40 && this->engine_.evicted().empty(); ++i) {
    if (!this->engine_.make_room(100))
      this->engine_.policy().on_reject(this->engine_, hash_key(FakeEngine<TypeParam>::key(100)));
  }
  ASSERT_FALSE(this->engine_.evicted().empty());
  EXPECT_TRUE(this->engine_.fits(FakeEngine<TypeParam>::kSize));
}

TYPED_TEST(EveryPolicy, AnEmptyCacheHasNobodyToEvict) {
  const std::uint32_t only = this->engine_.insert(0);
  this->engine_.evict(only);
  this->engine_.policy().clear();
  EXPECT_EQ(this->engine_.policy().choose(this->engine_, {}), kNone);
}

TEST(LruPolicy, EvictsWhatWasUsedLeastRecently) {
  FakeEngine<LruPolicy> engine;
  engine.fill();
  engine.hit(0);
  engine.hit(2);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(engine.make_room(100));
    engine.insert(100 + static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(engine.evicted(), (std::vector<std::uint32_t>{1, 3, 4}));
}

TEST(SievePolicy, AHitSparesOnceAndTheHandStays) {
  FakeEngine<SievePolicy> engine;
  engine.fill();
  engine.hit(0);
  engine.hit(1);
  ASSERT_TRUE(engine.make_room(100));
  engine.insert(100);
  ASSERT_TRUE(engine.make_room(101));
  EXPECT_EQ(engine.evicted(), (std::vector<std::uint32_t>{2, 3})) << "0 and 1 were visited";
}

TEST(S3FifoPolicy, WhatWasUsedOnceLeavesBeforeWhatWasUsedAgain) {
  FakeEngine<S3FifoPolicy> engine;
  engine.fill();
  engine.hit(0);
  engine.hit(0);
  ASSERT_TRUE(engine.make_room(100));
  EXPECT_EQ(engine.evicted(), std::vector<std::uint32_t>{1});
}

TEST(S3FifoPolicy, AKeyThatComesBackIsKeptLonger) {
  FakeEngine<S3FifoPolicy> engine;
  engine.fill();
  ASSERT_TRUE(engine.make_room(0));
  ASSERT_EQ(engine.evicted(), std::vector<std::uint32_t>{0});
  const std::uint32_t back = engine.insert(0);
  for (std::uint64_t i = 0; i < 12; ++i) {
    ASSERT_TRUE(engine.make_room(200 + i));
    engine.insert(200 + i);
  }
  EXPECT_EQ(std::count(engine.evicted().begin(), engine.evicted().end(), back), 0);
}

TEST(PaperPolicy, ByTimeAloneTheOldestGoes) {
  Config config;
  config.policy = Policy::temporal;
  config.sample = 256;  // all
  FakeEngine<PaperPolicy> engine(config);
  engine.fill();
  engine.hit(0);
  ASSERT_TRUE(engine.make_room(100));
  EXPECT_EQ(engine.evicted(), std::vector<std::uint32_t>{1});
}

TEST(PaperPolicy, EvictsOneForEachAccess) {
  FakeEngine<PaperPolicy> engine;
  engine.fill();
  for (std::size_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(engine.make_room(100));
    EXPECT_EQ(engine.evicted().size(), i);
  }
}

TEST(ValuePolicy, WhatIsUsedOftenOutlivesWhatIsNot) {
  FakeEngine<ValuePolicy> engine;
  engine.fill();
  for (int round = 0; round < 50; ++round)
    for (const std::uint32_t e : {3u, 7u}) engine.hit(e);
  for (std::uint64_t i = 0; i < 200 && engine.evicted().size() < 8; ++i)
    if (engine.make_room(100 + i % 4))
      engine.insert(100 + i % 4);
    else
      engine.policy().on_reject(engine, hash_key(FakeEngine<ValuePolicy>::key(100 + i % 4)));
  ASSERT_FALSE(engine.evicted().empty());
  for (const std::uint32_t e : {3u, 7u})
    EXPECT_EQ(std::count(engine.evicted().begin(), engine.evicted().end(), e), 0) << e;
}

TEST(ValuePolicy, AStreamOfNewKeysWantsNoRoom) {
  FakeEngine<ValuePolicy> engine;
  for (std::uint64_t i = 0; i < 1000; ++i)
    engine.policy().on_reserve(engine, hash_key(FakeEngine<ValuePolicy>::key(i)), 1024, false);
  EXPECT_FALSE(engine.policy().wants_room());
}

}  // namespace
}  // namespace hob::cache
