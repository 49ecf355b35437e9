// The two indexes, against each other's promises: what is in is found, what is out is not.

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "cache/bucket_index.hpp"
#include "cache/paper/cuckoo_index.hpp"

namespace hob::cache {
namespace {

template <class Index>
class AnyIndex : public testing::Test {
 protected:
  auto hash_of() {
    return [this](std::uint32_t e) { return hashes_.at(e); };
  }
  auto set_slot() {
    return [this](std::uint32_t e, std::uint32_t slot) { slots_[e] = slot; };
  }
  bool insert(std::uint32_t e, std::uint64_t hash) {
    if (!index_.prepare(hash, hash_of())) return false;
    hashes_[e] = hash;
    return index_.commit(hash, e, hash_of(), set_slot());
  }
  void erase(std::uint32_t e) {
    index_.erase(slots_.at(e));
    hashes_.erase(e);
  }
  bool finds(std::uint32_t e, std::uint64_t hash) {
    return index_.find(hash, [&](std::uint32_t other) { return other == e; }) == e;
  }

  Index index_;
  std::map<std::uint32_t, std::uint64_t> hashes_;
  std::map<std::uint32_t, std::uint32_t> slots_;
};

using Indexes = testing::Types<BucketIndex, CuckooIndex>;
TYPED_TEST_SUITE(AnyIndex, Indexes);

TYPED_TEST(AnyIndex, RandomInsertionsAndRemovals) {
  ASSERT_TRUE(this->index_.allocate(2000, 3));
  Random random(11);
  std::uint32_t next = 0;
  for (int i = 0; i < 40000; ++i) {
    if (this->hashes_.size() < 1500 && random.below(3) != 0) {
      const std::uint64_t hash = mix(random.next(), i);
      if (!this->insert(next, hash)) continue;
      ++next;
    } else if (!this->hashes_.empty()) {
      auto it = this->hashes_.lower_bound(static_cast<std::uint32_t>(random.below(next)));
      if (it == this->hashes_.end()) it = this->hashes_.begin();
      const auto [e, hash] = *it;
      ASSERT_TRUE(this->finds(e, hash));
      this->erase(e);
      ASSERT_FALSE(this->finds(e, hash));
    }
  }
  ASSERT_GT(this->hashes_.size(), 500u);
  for (const auto& [e, hash] : this->hashes_) ASSERT_TRUE(this->finds(e, hash)) << e;
  this->index_.clear();
  for (const auto& [e, hash] : this->hashes_) ASSERT_FALSE(this->finds(e, hash));
}

TYPED_TEST(AnyIndex, AFullIndexNamesCandidatesAndTakesTheirPlace) {
  ASSERT_TRUE(this->index_.allocate(64, 5));
  std::uint32_t inserted = 0;
  std::uint32_t conflicts = 0;
  for (std::uint32_t e = 0; e < 500; ++e) {
    const std::uint64_t hash = mix(e, 99);
    this->hashes_[e] = hash;
    if (!this->index_.prepare(hash, this->hash_of())) {
      ++conflicts;
      ASSERT_FALSE(this->index_.candidates().empty());
      const std::uint32_t victim = this->index_.candidates()[e % this->index_.candidates().size()];
      ASSERT_TRUE(this->finds(victim, this->hashes_.at(victim)));
      this->erase(victim);
    } else {
      ++inserted;
    }
    ASSERT_TRUE(this->index_.commit(hash, e, this->hash_of(), this->set_slot()));
    for (const auto& [other, h] : this->hashes_) ASSERT_TRUE(this->finds(other, h)) << other;
  }
  EXPECT_GE(inserted, 50u);
  EXPECT_LE(this->hashes_.size(), 64u);
  EXPECT_GT(conflicts, 400u);
}

TYPED_TEST(AnyIndex, NothingIsMovedByAPathThatIsNotCommitted) {
  ASSERT_TRUE(this->index_.allocate(64, 5));
  for (std::uint32_t e = 0; e < 200; ++e) this->insert(e, mix(e, 1));
  const auto before = this->slots_;
  for (std::uint32_t e = 0; e < 1000; ++e) this->index_.prepare(mix(e, 2), this->hash_of());
  EXPECT_EQ(this->slots_, before);
  for (const auto& [e, hash] : this->hashes_) ASSERT_TRUE(this->finds(e, hash)) << e;
}

TEST(CuckooIndex, FillsNearlyAllOfItsSlots) {
  // The paper (III-C1): up to 97% with four functions; less with a bounded path.
  CuckooIndex index;
  ASSERT_TRUE(index.allocate(10000, 1));
  std::map<std::uint32_t, std::uint64_t> hashes;
  const auto hash_of = [&](std::uint32_t e) { return hashes.at(e); };
  int inserted = 0;
  for (std::uint32_t e = 0; e < 10000; ++e) {
    hashes[e] = mix(e, 7);
    if (!index.prepare(hashes[e], hash_of)) continue;
    ASSERT_TRUE(index.commit(hashes[e], e, hash_of, [](std::uint32_t, std::uint32_t) {}));
    ++inserted;
  }
  EXPECT_GT(inserted, 9000);
}

TEST(CuckooIndex, FourFunctionsSpreadEvenlyAndDiffer) {
  CuckooIndex index;
  ASSERT_TRUE(index.allocate(100, 4));
  std::vector<int> counts(100);
  int equal = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    std::set<std::uint64_t> places;
    for (std::uint32_t f = 0; f < CuckooIndex::kFunctions; ++f) {
      const std::uint64_t place = index.position(mix(i * 64, 0), f);
      ASSERT_LT(place, 100u);
      places.insert(place);
      ++counts[place];
    }
    equal += places.size() < 4 ? 1 : 0;
  }
  for (const int count : counts) EXPECT_NEAR(count, 400, 120);
  EXPECT_LT(equal, 900);  // 6% by chance
}

}  // namespace
}  // namespace hob::cache
