// A table with two places for each hash.
#include "base/two_ways.hpp"

#include <gtest/gtest.h>

namespace hob {
namespace {

struct Slot {
  int key = 0;
  int value = 0;
};

struct Table : testing::Test {
  TwoWays<Slot, 4> table;
  Slot* find(int key) {
    return table.find(1, [key](const Slot& slot) { return slot.key == key; });
  }
};

TEST_F(Table, IsEmptyAtFirst) { EXPECT_EQ(find(7), nullptr); }

TEST_F(Table, TwoKeysOfOneHashStayWhileTheyAreUsedInTurn) {
  table.put(1, {7, 70});
  table.put(1, {8, 80});
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(find(7), nullptr);
    EXPECT_EQ(find(7)->value, 70);
    ASSERT_NE(find(8), nullptr);
    EXPECT_EQ(find(8)->value, 80);
  }
}

TEST_F(Table, AThirdTakesThePlaceOfTheOldest) {
  table.put(1, {7, 70});
  table.put(1, {8, 80});
  EXPECT_EQ(table.put(1, {9, 90}).value, 90);
  EXPECT_EQ(find(7), nullptr);
  EXPECT_NE(find(8), nullptr);
  EXPECT_NE(find(9), nullptr);
}

}  // namespace
}  // namespace hob
