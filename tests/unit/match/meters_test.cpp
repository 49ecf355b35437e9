#include "match/meters.hpp"

#include <gtest/gtest.h>

#include "match/source_share.hpp"

namespace hob::match {
namespace {

TEST(Meters, LoneReceivesAreAmongThoseThatWereWatched) {
  Meters meters;
  EXPECT_FALSE(meters.stats().any());
  meters.counters.lone = 3;
  const QueueStats stats = meters.stats();
  EXPECT_TRUE(stats.any());
  EXPECT_EQ(stats.posted.appended, 3u);
  EXPECT_EQ(stats.posted.matched, 3u);
  EXPECT_EQ(stats.posted.depth_sum, 3u);
  EXPECT_EQ(stats.counters.longest, 1u);
}

TEST(Meters, TheLongestQueueIsThatOfAllReceives) {
  Meters meters;
  DepthMeter::Ticket ticket = 0;
  ASSERT_TRUE(meters.append_posted(ticket));
  meters.wait(3872);
  meters.wait(5);
  EXPECT_EQ(meters.stats().counters.longest, 3872u);
  EXPECT_EQ(meters.stats().posted.max_length, 1u);
}

TEST(Meters, StatsAddUp) {
  Meters meters;
  meters.counters.native = 2;
  meters.counters.in_prq = 3;
  meters.counters.immediate = 4;
  meters.counters.reposted = 1;
  meters.wait(7);
  QueueStats sum = meters.stats();
  sum.add(meters.stats());
  EXPECT_EQ(sum.counters.receives(), 16u);
  EXPECT_EQ(sum.counters.longest, 7u);
}

TEST(SourceShare, IsOfTheSourceAndOfAny) {
  SourceShare share;
  EXPECT_EQ(share.of_message(3, 0), 1);
  for (int i = 0; i < 6; ++i) share.add(3);
  for (int i = 0; i < 2; ++i) share.add(kAnySource);
  for (int i = 0; i < 8; ++i) share.add(5);
  EXPECT_EQ(share.of_message(3, 16), 0.5);
  EXPECT_EQ(share.of_message(7, 16), 0.125);
  for (int i = 0; i < 6; ++i) share.remove(3);
  EXPECT_EQ(share.of_message(3, 10), 0.2);
}

}  // namespace
}  // namespace hob::match
