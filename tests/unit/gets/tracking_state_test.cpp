// When what a process does with one window must be seen.
#include "gets/tracking_state.hpp"

#include <gtest/gtest.h>

namespace hob::gets {
namespace {

TEST(TrackingState, EndsAfterManyCallsWithoutUseAndLaterEachTime) {
  TrackingState window;
  for (const std::uint32_t patience : {768u, 1536u, 3072u}) {
    window.turn_on(false);
    for (std::uint32_t i = 1; i < patience; ++i) EXPECT_FALSE(window.useless()) << i;
    EXPECT_TRUE(window.useless());
    EXPECT_TRUE(window.useless()) << "it could not end yet";
    window.turn_off();
    EXPECT_FALSE(window.useless()) << "it is off";
    EXPECT_FALSE(window.is_on());
  }
}

TEST(TrackingState, OneGetOfUseBeginsAnew) {
  TrackingState window;
  window.turn_on(false);
  for (std::uint32_t i = 1; i < TrackingState::kPatience; ++i) window.useless();
  window.useful();
  EXPECT_FALSE(window.useless());
}

TEST(TrackingState, EndsWhereNoGetIsMadeAnyMore) {
  TrackingState window;
  window.turn_on(false);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(window.unread(i % 8 == 0));
  EXPECT_FALSE(window.unread(true));
  for (std::uint32_t i = 1; i < TrackingState::kUnread; ++i) EXPECT_FALSE(window.unread(false));
  EXPECT_TRUE(window.unread(false));
  window.turn_off();
  EXPECT_FALSE(window.unread(false));
}

TEST(TrackingState, WritesAreUnseenUntilAllAreComplete) {
  TrackingState window;
  EXPECT_TRUE(window.was_off());
  window.turn_on(true);
  EXPECT_TRUE(window.was_off());
  window.completed();
  EXPECT_FALSE(window.was_off());
  window.lose_track();
  EXPECT_TRUE(window.was_off());
  window.completed();
  window.turn_off();
  EXPECT_TRUE(window.was_off());
}

/// What is unseen when others are notified may arrive until they are notified next.
TEST(TrackingState, UnseenWritesAreNotifiedOnceMoreThanTheyAreUnseen) {
  TrackingState window;
  EXPECT_TRUE(window.notify());
  window.turn_on(true);
  EXPECT_TRUE(window.notify());
  window.completed();
  EXPECT_TRUE(window.notify());
  EXPECT_FALSE(window.notify());
}

TEST(TrackingState, TrackingThatWasOffBetweenTwoCallsIsNotified) {
  TrackingState window;
  window.turn_on(false);
  window.notify();
  EXPECT_FALSE(window.notify());
  window.turn_off();
  window.turn_on(false);
  EXPECT_TRUE(window.notify());
  EXPECT_FALSE(window.notify());
}

TEST(TrackingState, OffForGoodStaysSo) {
  TrackingState window;
  window.turn_on(false);
  window.turn_off_for_good();
  EXPECT_TRUE(window.is_off_for_good());
  EXPECT_FALSE(window.is_on());
  EXPECT_TRUE(window.notify());
}

}  // namespace
}  // namespace hob::gets
