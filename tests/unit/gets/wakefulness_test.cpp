// When what a process does with one window must be seen.
#include "gets/wakefulness.hpp"

#include <gtest/gtest.h>

namespace hob::gets {
namespace {

TEST(Wakefulness, RestsAfterManyCallsWithoutUseAndEverLater) {
  Wakefulness window;
  for (const std::uint32_t patience : {768u, 1536u, 3072u}) {
    window.wake(false);
    for (std::uint32_t i = 1; i < patience; ++i) EXPECT_FALSE(window.useless()) << i;
    EXPECT_TRUE(window.useless());
    EXPECT_TRUE(window.useless()) << "it could not rest yet";
    window.rest();
    EXPECT_FALSE(window.useless()) << "it rests";
    EXPECT_FALSE(window.awake());
  }
}

TEST(Wakefulness, OneGetOfUseBeginsAnew) {
  Wakefulness window;
  window.wake(false);
  for (std::uint32_t i = 1; i < Wakefulness::kPatience; ++i) window.useless();
  window.useful();
  EXPECT_FALSE(window.useless());
}

TEST(Wakefulness, RestsWhereNobodyReadsAnyMore) {
  Wakefulness window;
  window.wake(false);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(window.unread(i % 8 == 0));
  EXPECT_FALSE(window.unread(true));
  for (std::uint32_t i = 1; i < Wakefulness::kUnread; ++i) EXPECT_FALSE(window.unread(false));
  EXPECT_TRUE(window.unread(false));
  window.rest();
  EXPECT_FALSE(window.unread(false));
}

TEST(Wakefulness, WritesAreUnseenUntilAllAreComplete) {
  Wakefulness window;
  EXPECT_TRUE(window.slept());
  window.wake(true);
  EXPECT_TRUE(window.slept());
  window.completed();
  EXPECT_FALSE(window.slept());
  window.lose_track();
  EXPECT_TRUE(window.slept());
  window.completed();
  window.rest();
  EXPECT_TRUE(window.slept());
}

/// What was unseen when others were told may arrive until they are told next.
TEST(Wakefulness, UnseenWritesAreToldOnceMoreThanTheyAreUnseen) {
  Wakefulness window;
  EXPECT_TRUE(window.tell());
  window.wake(true);
  EXPECT_TRUE(window.tell());
  window.completed();
  EXPECT_TRUE(window.tell());
  EXPECT_FALSE(window.tell());
}

TEST(Wakefulness, ARestBetweenTwoCallsIsTold) {
  Wakefulness window;
  window.wake(false);
  window.tell();
  EXPECT_FALSE(window.tell());
  window.rest();
  window.wake(false);
  EXPECT_TRUE(window.tell());
  EXPECT_FALSE(window.tell());
}

TEST(Wakefulness, WhatIsLeftAloneStaysSo) {
  Wakefulness window;
  window.wake(false);
  window.leave_alone();
  EXPECT_TRUE(window.left_alone());
  EXPECT_FALSE(window.awake());
  EXPECT_TRUE(window.tell());
}

}  // namespace
}  // namespace hob::gets
