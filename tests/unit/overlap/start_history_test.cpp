#include "overlap/start_history.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>

namespace hob::overlap {
namespace {

constexpr std::uint64_t kLong = 100'000;

Start message(std::int64_t count, int peer = 1, std::uint64_t comm = 7) {
  return {.function = 1, .comm = comm, .peer = peer, .datatype = 3, .count = count};
}

TEST(StartHistory, LeavesOnlyWhatHasSucceededAndTookLong) {
  StartHistory history(kLong);
  EXPECT_FALSE(history.worth_postponing(message(1'000)));
  EXPECT_TRUE(history.took(message(1'000), kLong));
  EXPECT_TRUE(history.worth_postponing(message(1'000)));
  Start other = message(1'000);
  other.datatype = 4;
  EXPECT_FALSE(history.worth_postponing(other))
      << "it may be wrong: the program's call is to say so";
  EXPECT_FALSE(history.worth_postponing(message(1'000, 2)));
  EXPECT_FALSE(history.worth_postponing(message(1'000, 1, 8)));
  EXPECT_FALSE(history.took(message(1'000), kLong - 1));
  EXPECT_FALSE(history.worth_postponing(message(1'000))) << "it has become short";
}

TEST(StartHistory, TakesNoStartForAnotherOneWhereverTheyMeet) {
  StartHistory history(kLong);
  const Start known = message(1'000);
  ASSERT_TRUE(history.took(known, kLong));
  // Some of them share its place.
  for (int i = 1; i < 1'000; ++i) {
    Start function = known, comm = known, peer = known, datatype = known;
    function.function += i;
    comm.comm += static_cast<std::uint64_t>(i);
    peer.peer += i;
    datatype.datatype += static_cast<std::uint64_t>(i);
    for (const Start& other : {function, comm, peer, datatype})
      ASSERT_FALSE(history.worth_postponing(other)) << i;
  }
  EXPECT_TRUE(history.worth_postponing(known));
}

TEST(StartHistory, ExpectsTimeInProportionToElements) {
  StartHistory history(kLong);
  history.took(message(1'000), 2 * kLong);
  EXPECT_TRUE(history.worth_postponing(message(500)));
  EXPECT_FALSE(history.worth_postponing(message(499)));
  EXPECT_TRUE(history.worth_postponing(message(INT64_MAX)));
  EXPECT_FALSE(history.worth_postponing(message(0)));
  EXPECT_FALSE(history.worth_postponing(message(-1)));
}

// Libraries refuse some combinations of arguments at once: the program's call is to say so.
TEST(StartHistory, TakesNoStartForOneWithAnotherOperationTypeOrKindOfBuffers) {
  StartHistory history(kLong);
  Start known = message(1'000);
  known.other_datatype = 3;
  known.other_count = 1'000;
  known.op = 5;
  ASSERT_TRUE(history.took(known, kLong));
  ASSERT_TRUE(history.worth_postponing(known));
  Start op = known, type = known, buffers = known;
  op.op = 6;
  type.other_datatype = 4;
  buffers.buffers = 1;
  for (const Start& other : {op, type, buffers}) EXPECT_FALSE(history.worth_postponing(other));
}

TEST(StartHistory, BothEndsGrowAlikeOrItIsAnotherStart) {
  StartHistory history(kLong);
  Start known = message(1'000);
  known.other_datatype = 3;
  known.other_count = 4'000;
  ASSERT_TRUE(history.took(known, 2 * kLong));
  known.count = 2'000;
  EXPECT_FALSE(history.worth_postponing(known)) << "the other end has not grown";
  known.other_count = 8'000;
  EXPECT_TRUE(history.worth_postponing(known));
  known.count = INT64_MAX / 2;
  known.other_count = INT64_MAX;
  EXPECT_FALSE(history.worth_postponing(known));
}

TEST(StartHistory, OneWithoutElementsShowsNothing) {
  StartHistory all(kLong, true);
  EXPECT_FALSE(all.took(message(0), kLong));
  EXPECT_FALSE(all.worth_postponing(message(1'000))) << "its buffer may have been anything";
  all.took(message(1'000), 1);
  EXPECT_TRUE(all.worth_postponing(message(1'000)));
  EXPECT_FALSE(all.worth_postponing(message(0)));
  EXPECT_FALSE(all.worth_postponing(message(-1)));
}

TEST(StartHistory, EndsWithItsHandles) {
  StartHistory history(kLong);
  const Start first = message(1'000), other_comm = message(1'000, 1, 8);
  Start both = message(1'000);
  both.function = 2;
  both.datatype = 9;
  both.other_datatype = 4;
  for (const Start& each : {first, other_comm, both}) history.took(each, kLong);
  history.forget_comm(8);
  EXPECT_FALSE(history.worth_postponing(other_comm));
  EXPECT_TRUE(history.worth_postponing(first));
  history.forget_datatype(4);
  EXPECT_FALSE(history.worth_postponing(both)) << "one of its two datatypes has ended";
  EXPECT_TRUE(history.worth_postponing(first));
  history.forget_datatype(3);
  EXPECT_FALSE(history.worth_postponing(first));
  history.took(first, kLong);
  history.forget_all();
  EXPECT_FALSE(history.worth_postponing(first));
}

TEST(StartHistory, ShortOnesTakeNobodysPlace) {
  StartHistory history(kLong);
  for (int peer = 0; peer < 8; ++peer) history.took(message(1'000, peer), kLong);
  for (int peer = 8; peer < 10'000; ++peer) EXPECT_FALSE(history.took(message(1'000, peer), 10));
  int known = 0;
  for (int peer = 0; peer < 8; ++peer) known += history.worth_postponing(message(1'000, peer));
  EXPECT_GE(known, 6) << "of eight, some may share a place";
}

TEST(StartHistory, NoFourTakeOneAnothersPlace) {
  std::mt19937_64 handles(1);
  for (int round = 0; round < 10'000; ++round) {
    const Start starts[]{message(1'000, 1, handles()), message(1'000, 1, handles()),
                         message(1'000, 1, handles()), message(1'000, 1, handles())};
    StartHistory history(kLong);
    for (const Start& each : starts) history.took(each, kLong);
    for (const Start& each : starts) ASSERT_TRUE(history.worth_postponing(each)) << round;
  }
}

/// How many of so many starts are postponed, where all of these end so.
int postponed(StartHistory& history, int starts, StartHistory::End end) {
  int postponed = 0;
  for (int i = 0; i < starts; ++i) {
    if (!history.worth_postponing(message(1'000))) continue;
    ++postponed;
    history.ended(message(1'000), end);
  }
  return postponed;
}

TEST(StartHistory, LeavesMoreToTheProgramWhereItIsInVain) {
  StartHistory history(kLong);
  history.took(message(1'000), kLong);
  EXPECT_EQ(postponed(history, 1 + 1 + 1 + 3 + 1 + 7, StartHistory::End::came), 3);
  EXPECT_EQ(postponed(history, 800, StartHistory::End::came), 100) << "one in eight in the end";
  EXPECT_EQ(postponed(history, 16 + 32 + 640, StartHistory::End::in_turns), 12) << "one in 64";
  EXPECT_EQ(postponed(history, 100, StartHistory::End::by_thread), 100);
}

TEST(StartHistory, AlwaysLeavesAllThatHaveSucceeded) {
  StartHistory history(kLong, true);
  EXPECT_FALSE(history.worth_postponing(message(1)));
  history.took(message(1), 0);
  history.ended(message(1), StartHistory::End::came);
  EXPECT_TRUE(history.worth_postponing(message(1)));
}

}  // namespace
}  // namespace hob::overlap
