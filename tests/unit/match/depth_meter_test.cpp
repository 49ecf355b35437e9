#include "match/depth_meter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hob::match {
namespace {

TEST(DepthMeter, CountsTheEntriesThatAPlainListInspects) {
  DepthMeter meter;
  auto a = meter.append();
  auto b = meter.append();
  auto c = meter.append();
  EXPECT_EQ(meter.match(b), 2u);
  EXPECT_EQ(meter.match(c), 2u);
  meter.miss();
  meter.withdraw(a);
  EXPECT_EQ(meter.length(), 0u);

  const DepthStats& stats = meter.stats();
  EXPECT_EQ(stats.appended, 3u);
  EXPECT_EQ(stats.matched, 2u);
  EXPECT_EQ(stats.missed, 1u);
  EXPECT_EQ(stats.withdrawn, 1u);
  EXPECT_EQ(stats.depth_sum, 4u);
  EXPECT_EQ(stats.max_length, 3u);
  EXPECT_EQ(stats.depth.counts[2], 2u);  // the matches, 2 deep
  EXPECT_EQ(stats.depth.counts[1], 1u);  // the missed search of one entry
  // Lengths 1, 2, 3 on the way up, 2, 1, 0 on the way down.
  EXPECT_EQ(stats.length.counts[0], 1u);
  EXPECT_EQ(stats.length.counts[1], 2u);
  EXPECT_EQ(stats.length.counts[2], 3u);
}

TEST(DepthMeter, IsExactWhateverIsRemoved) {
  std::mt19937_64 random(7);
  for (std::size_t longest : {3u, 64u, 65u, 1000u, 20000u}) {
    DepthMeter meter;
    std::vector<DepthMeter::Ticket> list;
    bool growing = true;
    for (int step = 0; step < 60000; ++step) {
      if (list.empty()) growing = true;
      if (list.size() >= longest) growing = false;
      if (random() % 4 == 0 ? !growing : growing) {
        list.push_back(meter.append());
        continue;
      }
      if (list.empty()) continue;
      std::size_t at = random() % list.size();
      ASSERT_EQ(meter.match(list[at]), at + 1) << "step " << step << " of " << longest;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      ASSERT_EQ(meter.length(), list.size());
    }
    EXPECT_EQ(meter.stats().estimated, 0u);
  }
}

TEST(DepthMeter, StaysExactBehindAnEntryThatStays) {
  DepthMeter meter;
  auto first = meter.append();
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(meter.match(meter.append()), 2u);
  EXPECT_EQ(meter.match(first), 1u);
}

TEST(DepthMeter, EstimatesBeyondTheLimitAndSaysSo) {
  DepthMeter meter(10);
  std::vector<DepthMeter::Ticket> tickets;
  for (int i = 0; i < 30; ++i) tickets.push_back(meter.append());
  EXPECT_EQ(meter.length(), 30u);
  EXPECT_EQ(meter.match(tickets[25]), 20u);  // the middle of 11 ... 30
  EXPECT_EQ(meter.stats().estimated, 1u);
  EXPECT_EQ(meter.match(tickets[4]), 5u);
  EXPECT_EQ(meter.stats().estimated, 1u);
  for (int i = 10; i < 30; ++i) {
    if (i != 25) meter.withdraw(tickets[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(meter.match(meter.append()), 10u);  // exact again
  EXPECT_EQ(meter.stats().estimated, 1u);
}

TEST(Log2Histogram, CountsByPowersOfTwo) {
  Log2Histogram histogram;
  for (std::uint64_t value : {0, 1, 2, 3, 4, 7, 8}) histogram.add(value);
  histogram.add(~std::uint64_t{0});
  EXPECT_EQ(histogram.counts[0], 1u);
  EXPECT_EQ(histogram.counts[1], 1u);
  EXPECT_EQ(histogram.counts[2], 2u);
  EXPECT_EQ(histogram.counts[3], 2u);
  EXPECT_EQ(histogram.counts[4], 1u);
  EXPECT_EQ(histogram.trimmed().size(), 65u);
  EXPECT_EQ(histogram.counts.back(), 1u);
  histogram.counts.back() = 0;
  EXPECT_EQ(histogram.trimmed(), (std::vector<std::uint64_t>{1, 1, 2, 2, 1}));
}

}  // namespace
}  // namespace hob::match
