#include "gets/hot_lookup.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace hob::gets {
namespace {

constexpr std::uint64_t kInt = 7, kOther = 8;

class Hot : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 8; ++i) {
      const cache::Key key{1, static_cast<std::uint64_t>(4 * i), 0};
      const int value = 100 + i;
      cache_->find(key, 4);
      cache_->fill(cache_->reserve(key, 4).entry, &value, 4, 0, 50);
    }
    look(1000);
    look(1010);
  }

  void look(std::uint64_t now) { hot_.looked(now, {}); }
  void open(bool idle = true) {
    hot_.open({.target = 1,
               .idle = idle,
               .type = kInt,
               .types = 3,
               .bytes = 4,
               .unit = 4,
               .state = &target_});
  }
  bool get(std::int64_t at, int target = 1, std::uint64_t type = kInt, std::uint64_t types = 3,
           std::int64_t count = 1) {
    got_ = -1;
    return hot_.serve({.buffer = &got_,
                       .count = count,
                       .type = type,
                       .displacement = at,
                       .target = target},
                      types)
               .row != nullptr;
  }

  std::unique_ptr<cache::Cache> cache_ = cache::Cache::create({});
  HotLookup hot_{{.hits = 3, .ticks = 100}, *cache_};
  TargetState target_;
  int got_ = -1;
};

TEST_F(Hot, ServesNothingUntilARowIsOpen) {
  EXPECT_FALSE(get(2));
  open();
  EXPECT_TRUE(get(2));
  EXPECT_EQ(got_, 102);
  EXPECT_EQ(target_.hits, 1u);
  EXPECT_EQ(cache_->stats().hits_full, 1u);
}

TEST_F(Hot, ServesNothingOnceClosed) {
  open();
  hot_.close();
  EXPECT_FALSE(get(2));
  EXPECT_EQ(target_.hits, 0u);
  open();
  EXPECT_TRUE(get(2));
}

TEST_F(Hot, ServesWhatItsRowSaysAndNothingElse) {
  open();
  EXPECT_FALSE(get(2, 17)) << "a target in the same place";
  EXPECT_FALSE(get(2, -1));
  EXPECT_FALSE(get(2, 1, kOther));
  EXPECT_FALSE(get(2, 1, kInt, 4)) << "the handle may be another type's by now";
  EXPECT_FALSE(get(2, 1, kInt, 3, 0));
  EXPECT_FALSE(get(20)) << "not here";
  EXPECT_EQ(cache_->stats().hits_full, 0u);
}

TEST_F(Hot, TwoDatatypesOfATargetHaveARowEach) {
  open();
  hot_.open({.target = 1,
             .idle = true,
             .type = kOther,
             .types = 3,
             .bytes = 8,
             .unit = 4,
             .state = &target_});
  look(1020);
  EXPECT_FALSE(get(2, 1, kOther)) << "eight bytes are not here";
  EXPECT_TRUE(get(2));
  EXPECT_TRUE(hot_.flush(1));
  hot_.close();
  hot_.open({.target = 9,
             .idle = true,
             .type = kInt,
             .types = 3,
             .bytes = 4,
             .unit = 4,
             .state = &target_});
  EXPECT_FALSE(get(2)) << "another target has its place";
  open();
  EXPECT_TRUE(get(2));
  EXPECT_TRUE(hot_.flush(1));
}

TEST_F(Hot, TheOwnerLooksAtTheClockAfterSomeHits) {
  open();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(get(i));
  EXPECT_FALSE(get(3));
  look(1110);
  EXPECT_TRUE(get(3));
  look(1211);  // the program computes
  EXPECT_FALSE(get(4));
  look(1212);
  EXPECT_TRUE(get(4));
}

TEST_F(Hot, AFlushAfterHitsHasNothingToDo) {
  open();
  EXPECT_FALSE(hot_.flush(1)) << "there was none";
  EXPECT_TRUE(get(2));
  EXPECT_FALSE(hot_.flush(17));
  EXPECT_TRUE(hot_.flush(1));
  EXPECT_FALSE(hot_.flush(1)) << "a program that flushes for progress";
  EXPECT_TRUE(get(2));
  hot_.close();
  EXPECT_FALSE(hot_.flush(1));
}

TEST_F(Hot, AFlushOfATargetThatIsNotIdleIsTheOwners) {
  open(false);
  EXPECT_TRUE(get(2));
  EXPECT_FALSE(hot_.flush(1));
}

}  // namespace
}  // namespace hob::gets
