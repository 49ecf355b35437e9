#include <gtest/gtest.h>

#include "generate.hpp"
#include "generators.hpp"
#include "simulate.hpp"

namespace hob::replay {
namespace {

const Latency latency{10, 1000};  // a get of 0 bytes 10 us, 1 us for each KB

Outcome run(const Records& records, std::uint64_t bytes,
            cache::Policy policy = cache::Policy::standard) {
  cache::Config config;
  config.policy = policy;
  return replay(records, config, bytes, latency);
}

TEST(Replay, CountsHitsAndNetworkTime) {
  Records records;
  for (int round = 0; round < 4; ++round)
    for (std::uint64_t i = 0; i < 5; ++i) get(records, 1, i * 4096, 1000);
  const Shape shape = shape_of(records);
  EXPECT_EQ(shape.gets, 20u);
  EXPECT_EQ(shape.distinct, 5u);
  EXPECT_EQ(shape.footprint_bytes, 5000u);
  const Outcome all = run(records, 1 << 20);
  EXPECT_EQ(all.hits, 15u);
  EXPECT_DOUBLE_EQ(all.native_us, 20 * 11.0);
  EXPECT_DOUBLE_EQ(all.network_us, 5 * 11.0);
  EXPECT_DOUBLE_EQ(all.saved(), 0.75);
}

TEST(Replay, IndexesHaveTheSizeThatIsAskedFor) {
  Records records;
  for (int round = 0; round < 20; ++round)
    for (std::uint64_t i = 0; i < 200; ++i) get(records, 1, i * 4096, 1000);
  cache::Config config;
  config.policy = cache::Policy::paper;
  const Outcome small = replay_indexed(records, config, 100'000, 64, latency);
  const Outcome large = replay_indexed(records, config, 100'000, 2048, latency);
  EXPECT_EQ(small.slots, 64u);
  EXPECT_EQ(large.slots, 2048u);
  // Of 2,048 slots at most 100 have an entry: a victim is long in being found.
  EXPECT_GT(large.selections, 0u);
  EXPECT_GT(large.visits(), small.visits());
  EXPECT_GT(large.empty(), 0.9);
  // And the storage is full, which the small index does not let it become.
  EXPECT_GT(large.occupied(), 0.9);
  EXPECT_LT(small.occupied(), 0.8);
}

/// Each round reads what the one before did, when all of it was dropped.
TEST(Replay, WhatRecursIsRecalled) {
  Records records;
  report::TraceRecord drop;
  drop.kind = report::TraceKind::drop_all;
  for (int round = 0; round < 10; ++round) {
    for (std::uint64_t i = 0; i < 100; ++i) get(records, 1, i * 40'960, 8);
    records.push_back(drop);
  }
  const Outcome off = replay(records, {}, 1 << 20, latency);
  EXPECT_EQ(off.hits, 0u);
  EXPECT_EQ(off.recalled, 0u);
  const Outcome on = replay(records, {}, 1 << 20, latency, {.recall = true});
  EXPECT_LT(on.trips, 100u + 10 + 8);
  EXPECT_GT(on.saved(), 0.8);
  EXPECT_EQ(on.recall_used, on.recalled);
}

TEST(Replay, DropsAreReplayed) {
  Records records;
  get(records, 1, 0, 100);
  get(records, 2, 0, 100);
  report::TraceRecord drop;
  drop.kind = report::TraceKind::drop_target;
  drop.target = 1;
  records.push_back(drop);
  get(records, 1, 0, 100);
  get(records, 2, 0, 100);
  drop.kind = report::TraceKind::drop_range;
  drop.target = 2;
  drop.displacement = 99;
  drop.size = 1;
  records.push_back(drop);
  get(records, 1, 0, 100);
  get(records, 2, 0, 100);
  drop.kind = report::TraceKind::drop_all;
  records.push_back(drop);
  get(records, 1, 0, 100);
  EXPECT_EQ(run(records, 1 << 20).hits, 2u);
  EXPECT_EQ(replay_blocks(records, 64, 1 << 20, latency).hits, 2u);
}

TEST(Replay, PartialHitsFetchTheTail) {
  Records records;
  get(records, 1, 0, 1000);
  get(records, 1, 0, 3000);
  get(records, 1, 0, 3000);
  const Outcome outcome = run(records, 1 << 20);
  EXPECT_DOUBLE_EQ(outcome.network_us, 11.0 + 12.0);
  EXPECT_EQ(outcome.hits, 1u);
}

TEST(Replay, WindowsHaveCachesOfTheirOwn) {
  Records records;
  get(records, 1, 0, 100);
  get(records, 1, 0, 100);
  records.back().window = 3;
  get(records, 1, 0, 100);
  EXPECT_EQ(run(records, 1 << 20).hits, 1u);
}

TEST(Blocks, WholeBlocksAreFetchedNeighboursTogether) {
  Records records;
  get(records, 1, 10, 200);  // blocks 0 to 3 of 64 bytes: one get of 256 bytes
  get(records, 1, 250, 2);   // within block 3
  const Outcome outcome = replay_blocks(records, 64, 1 << 20, latency);
  EXPECT_DOUBLE_EQ(outcome.network_us, 10.256);
  EXPECT_EQ(outcome.hits, 1u);
}

TEST(Bound, IsWhatAnIdealCacheSaves) {
  Records records;
  for (int round = 0; round < 10; ++round)
    for (std::uint64_t i = 0; i < 10; ++i) get(records, 1, i * 4096, 100);
  EXPECT_NEAR(bound(records, 1000, latency).saved(), 0.9, 1e-9) << "all of it fits";
  // Half of the bytes keep half of the keys, at most.
  EXPECT_NEAR(bound(records, 500, latency).saved(), 0.5, 0.01);
}

TEST(BlockBound, IsWhatAnIdealCacheOfBlocksSaves) {
  Records records;
  for (int round = 0; round < 10; ++round)
    for (std::uint64_t i = 0; i < 100; ++i) get(records, 1, i * 64, 64);
  // 7 blocks of 1,000 bytes; six gets lie in two of them.
  const Outcome all = bound_of_blocks(records, 1000, 7000, latency);
  EXPECT_NEAR(all.native_us, 1000 * 10.064, 1e-6);
  EXPECT_EQ(all.trips, 7u) << "once each";
  EXPECT_EQ(all.bytes, 7000u);
  EXPECT_NEAR(all.network_us, 77, 1e-9);
  // Of a loop over N, with room for C, MIN finds (C - 1) of (N - 1).
  EXPECT_NEAR(static_cast<double>(bound_of_blocks(records, 1000, 4000, latency).trips), 7 + 9 * 3.5,
              2);
  EXPECT_LE(bound_of_best_blocks(records, 3500, latency).network_us,
            bound_of_blocks(records, 1024, 3500, latency).network_us);
}

TEST(BlockBound, BlocksOfOneSizeDoNotPassIt) {
  for (const Family& family : choosing_suite()) {
    const Records records = family.make(3);
    const std::uint64_t bytes = shape_of(records).footprint_bytes / 4;
    for (const std::uint64_t block : {512u, 4096u})
      EXPECT_LE(replay_blocks(records, block, bytes, latency).saved(),
                bound_of_blocks(records, block, bytes, latency).saved() + 1e-9)
          << family.name << " " << block;
  }
}

TEST(Bound, NoPolicyPassesIt) {
  for (const Family& family : choosing_suite()) {
    const Records records = family.make(3);
    const Shape shape = shape_of(records);
    const std::uint64_t bytes = shape.footprint_bytes / 4;
    const double best = bound(records, bytes, latency).saved();
    for (const cache::Policy policy : {cache::Policy::standard, cache::Policy::sieve})
      EXPECT_LE(run(records, bytes, policy).saved(), best) << family.name;
  }
}

TEST(Suites, ShareNoProgramAndAreTheSameForASeed) {
  for (const Family& judging : judging_suite())
    for (const Family& choosing : choosing_suite()) EXPECT_NE(judging.name, choosing.name);
  for (const auto* suite : {&choosing_suite(), &judging_suite()})
    for (const Family& family : *suite) {
      const Records once = family.make(5);
      EXPECT_GT(once.size(), 10000u) << family.name;
      EXPECT_EQ(once, family.make(5)) << family.name;
      EXPECT_NE(once, family.make(6)) << family.name;
    }
}

}  // namespace
}  // namespace hob::replay
