#include "validation/sampling.hpp"

#include <gtest/gtest.h>

namespace hob::validation {
namespace {

constexpr double kFaults = 1000, kShort = 100, kLong = 100'000;

/// A program that makes reports, and stores to its memory before some of them.
struct Program {
  Sampling sampling;
  bool all = false;      ///< are all pages watched
  bool sampled = false;  ///< is a sample
  int broken = 0;        ///< watches of all pages that cost a fault for each

  /// Whether copies of the memory may be kept.
  bool report(bool stored, double passed = kShort) {
    if (all) {
      sampling.watched(stored);
      if (!stored) return true;
      ++broken;
    } else if (sampled) {
      sampling.sampled(stored);
    }
    all = !sampling.samples(kFaults, passed);
    sampled = !all;
    if (all) sampling.watches_all();
    return false;
  }
};

TEST(Sampling, AllPagesAreWatchedOnceTheSampleWasNotStoredTo) {
  Program program;
  EXPECT_FALSE(program.report(true));
  EXPECT_TRUE(program.sampled);
  EXPECT_FALSE(program.report(false));
  EXPECT_TRUE(program.sampled);
  EXPECT_FALSE(program.report(false));
  EXPECT_TRUE(program.all);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(program.report(false));
  EXPECT_FALSE(program.report(true));
  EXPECT_TRUE(program.all) << "there were times without stores";
}

TEST(Sampling, WhereEachIterationStoresAllPagesAreNeverWatched) {
  Program program;
  for (int i = 0; i < 1000; ++i) program.report(i % 2 == 0);
  EXPECT_EQ(program.broken, 0);
}

TEST(Sampling, SeveralReportsInEachIterationCostFewWatches) {
  Program program;
  for (int i = 0; i < 10'000; ++i) program.report(i % 3 == 0);
  EXPECT_EQ(program.broken, 1);
}

TEST(Sampling, StoresThatEndEachWatchMakeWatchesRare) {
  Program program;
  // Stores exactly where all pages are watched: the worst that a program can do.
  for (int i = 0; i < 1000; ++i) program.report(program.all);
  EXPECT_LE(program.broken, 20);
}

TEST(Sampling, WhatCostsLittleIsDoneAtOnce) {
  Program program;
  EXPECT_FALSE(program.report(true, kLong));
  EXPECT_TRUE(program.all);
  EXPECT_TRUE(program.report(false, kLong));
}

TEST(Sampling, BeginsAnewAfterAWatchThatHeld) {
  Program program;
  for (int i = 0; i < 100; ++i) program.report(i % 3 == 0);
  int reports = 0;
  while (!program.report(false)) ASSERT_LT(++reports, 70);
  EXPECT_FALSE(program.report(true));
  EXPECT_TRUE(program.all);
  EXPECT_FALSE(program.report(true));
  EXPECT_TRUE(program.sampled);
  reports = 0;
  while (!program.report(false)) ++reports;
  EXPECT_EQ(reports, 4);
}

}  // namespace
}  // namespace hob::validation
