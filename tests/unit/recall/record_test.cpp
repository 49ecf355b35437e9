// The record of one kind of phase: what it finds, what joins, what leaves.
#include "recall/record.hpp"

#include <gtest/gtest.h>

#include "recall/phase_log.hpp"

namespace hob::recall {
namespace {

struct Read {
  std::uint32_t target;
  std::uint64_t displacement, bytes;
};

class RecordTest : public testing::Test {
 protected:
  Record::Outcome phase(std::initializer_list<Read> reads, bool strict = false) {
    PhaseLog log(room, 1 << 20);
    for (const Read& read : reads) log.add(read.target, read.displacement, read.bytes);
    record.mark(log.sorted(), rest);
    return record.close(rest, strict);
  }

  Room room{1 << 24};
  Record record{room};
  std::vector<Place> rest;
};

TEST_F(RecordTest, FindsWhatAPlaceContains) {
  phase({{1, 100, 8}, {1, 200, 16}, {2, 100, 8}});
  EXPECT_NE(record.find(1, 100, 8), Record::kNone);
  EXPECT_NE(record.find(1, 204, 8), Record::kNone);
  EXPECT_EQ(record.find(1, 204, 16), Record::kNone);
  EXPECT_EQ(record.find(3, 100, 8), Record::kNone);
  EXPECT_EQ(record.find(1, 99, 2), Record::kNone);
}

TEST_F(RecordTest, PlacesThatTouchBecomeOneWhereTheyAreLong) {
  PhaseLog log(room, 1 << 20);
  for (std::uint64_t at = 0; at < 1024; at += 8) log.add(1, at, 8);
  record.close(log.sorted(), false);
  EXPECT_EQ(record.of(1).end - record.of(1).first, 1u);
  EXPECT_NE(record.find(1, 504, 8), Record::kNone);
}

TEST_F(RecordTest, ShortNeighboursStayApart) {
  phase({{1, 0, 8}, {1, 8, 8}});
  EXPECT_EQ(record.size(), 2u);
}

TEST_F(RecordTest, WhatIsRecalledInVainTwiceLeaves) {
  phase({{1, 0, 8}, {1, 100, 8}});
  phase({{1, 0, 8}, {1, 100, 8}});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(record.size(), 2u);
    record[1].set(Place::kRecalled);
    EXPECT_EQ(phase({{1, 0, 8}}).vain_bytes, 8u);
  }
  EXPECT_EQ(record.size(), 1u);
}

TEST_F(RecordTest, ANewcomerThatDoesNotComeAgainLeavesAtOnce) {
  phase({{1, 0, 8}, {1, 100, 8}});
  phase({{1, 0, 8}, {1, 100, 8}, {1, 200, 8}});
  EXPECT_EQ(record.size(), 3u);
  const Record::Outcome outcome = phase({{1, 0, 8}, {1, 100, 8}});
  EXPECT_EQ(outcome.fresh, 1u);
  EXPECT_EQ(outcome.fresh_asked, 0u);
  EXPECT_EQ(record.size(), 2u);
}

TEST_F(RecordTest, TargetsThatAPhaseDoesNotReadStay) {
  phase({{1, 0, 8}, {2, 0, 8}});
  for (int i = 0; i < 5; ++i) phase({{1, 0, 8}});
  EXPECT_NE(record.find(2, 0, 8), Record::kNone);
}

TEST_F(RecordTest, WithoutRoomNothingEnters) {
  Room none(0);
  Record poor(none);
  const Place place(1, 0, 8, 0);
  EXPECT_FALSE(poor.close({&place, 1}, false).whole);
  EXPECT_EQ(poor.size(), 0u);
}

TEST_F(RecordTest, ItsRoomIsGivenBack) {
  {
    Record other(room);
    const Place place(1, 0, 8, 0);
    other.close({&place, 1}, false);
    EXPECT_GT(room.taken(), 0u);
    const Record moved = std::move(other);
    EXPECT_GT(room.taken(), 0u);
  }
  EXPECT_EQ(room.taken(), 0u);
}

TEST(PhaseLogTest, BeyondItsBoundItSaysSo) {
  Room room(1 << 20);
  PhaseLog log(room, 100);
  for (std::uint64_t i = 0; i < 101; ++i) log.add(0, 8 * i, 8);
  EXPECT_TRUE(log.overflowed());
  log.clear();
  EXPECT_FALSE(log.overflowed());
}

TEST(PhaseLogTest, ASampleIsTheSameInEachOrder) {
  Room room(1 << 20);
  PhaseLog log(room, 1000), again(room, 1000);
  for (std::uint64_t i = 0; i < 800; ++i) {
    log.add(static_cast<std::uint32_t>(i % 3), 4096 * i, 8);
    again.add(static_cast<std::uint32_t>((799 - i) % 3), 4096 * (799 - i), 8);
  }
  std::vector<Place> sample, same;
  log.sample(sample);
  again.sample(same);
  EXPECT_GT(sample.size(), 60u);
  EXPECT_LT(sample.size(), 160u);
  ASSERT_EQ(same.size(), sample.size());
  for (std::size_t i = 0; i < sample.size(); ++i)
    EXPECT_EQ(same[i].displacement(), sample[i].displacement());
}

TEST(PhaseLogTest, WhatIsReadTwiceIsThereOnce) {
  Room room(1 << 20);
  PhaseLog log(room, 100);
  log.add(0, 80, 8);
  log.add(0, 0, 8);
  log.add(0, 0, 16);
  log.add(0, 80, 8);
  EXPECT_EQ(log.sorted().size(), 2u);
}

}  // namespace
}  // namespace hob::recall
