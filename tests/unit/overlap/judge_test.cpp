#include "overlap/judge.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "base/random.hpp"

namespace hob::overlap {
namespace {

/// Phases in which waits take so long with help and without. Returns how many were helped.
int play(Judge& judge, int phases, std::uint64_t with, std::uint64_t without) {
  int helped = 0;
  for (int i = 0; i < phases; ++i) {
    const bool helps = judge.begin();
    helped += helps;
    judge.end({.outside_ns = 1'000'000, .waited_ns = helps ? with : without});
  }
  return helped;
}

TEST(Judge, HelpsWhereWaitsGetShorter) {
  Judge judge(false, 1);
  const int helped = play(judge, 10'000, 100, 1000);
  EXPECT_GT(helped, 9'700);
  EXPECT_LT(helped, 9'980) << "one in 128 is left alone in the end";
  EXPECT_FALSE(judge.resting());
  EXPECT_NEAR(judge.saved().usual, 900.0 * helped, 900 * 1100)
      << "a trial that is not decided yet is not counted";
  EXPECT_EQ(judge.helped() + judge.alone(), 10'000u);
}

TEST(Judge, HelpsNotWhereItMayNot) {
  Judge judge(false, 1);
  for (int phase = 0; phase < 100; ++phase) {
    EXPECT_FALSE(judge.begin(false));
    judge.end({.outside_ns = 1'000'000, .waited_ns = 1000});
  }
  EXPECT_EQ(judge.helped(), 0u);
  EXPECT_EQ(judge.alone(), 100u);
  EXPECT_TRUE(Judge(true, 1).begin(false)) << "of one that always helps";
}

TEST(Judge, WhatChanceGivesIsNoSaving) {
  Judge judge(false, 4);
  Random random{7};
  std::uint64_t waits = 0;
  for (int i = 0; i < 100'000; ++i) {
    const bool helps = judge.begin();
    // Now and then the machine is busy.
    const std::uint64_t waited = 100'000 + (random.below(50) == 0 ? 4'000'000 : 0);
    if (helps) waits += waited;
    judge.end({.outside_ns = 1'000'000, .waited_ns = waited, .moved = true});
  }
  EXPECT_GT(judge.helped(), 90'000u) << "it moves something";
  EXPECT_LT(judge.saved().least, 0.1 * static_cast<double>(waits));
  EXPECT_LE(judge.saved().least, judge.saved().usual);
  EXPECT_LE(judge.saved().usual, judge.saved().most);
}

/// As play(), while one phase in 16 takes thirty times as long since the machine is busy.
int play_busy(Judge& judge, int phases, std::uint64_t with, std::uint64_t without) {
  Random random{11};
  int helped = 0;
  for (int i = 0; i < phases; ++i) {
    const bool helps = judge.begin();
    helped += helps;
    const std::uint64_t times = random.below(16) == 0 ? 30 : 1;
    judge.end({.outside_ns = 1'000'000, .waited_ns = times * (helps ? with : without)});
  }
  return helped;
}

TEST(Judge, ABusyMachineHardlyMakesItErr) {
  int gained = 0, vain = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Judge gains(false, seed), not_so(false, seed);
    gained += play_busy(gains, 10'000, 100'000, 1'000'000);
    vain += play_busy(not_so, 10'000, 1'000'000, 1'000'000);
  }
  EXPECT_GT(gained, 20 * 9'500);
  EXPECT_LT(vain, 20 * 1'500);
}

TEST(Judge, ATrialTakesSomeDozenPhases) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Judge judge(false, seed);
    play(judge, 50, 1000, 1000);
    EXPECT_TRUE(judge.resting()) << seed;
    Judge helps(false, seed);
    play(helps, 50, 100, 1000);
    EXPECT_GT(play(helps, 100, 100, 1000), 70) << seed;
  }
}

TEST(Judge, RanksWithTheSamePhasesLeaveTheSameOnesAlone) {
  Judge one(false, 1), other(false, 1);
  for (int i = 0; i < 1000; ++i) {
    const bool helps = one.begin();
    EXPECT_EQ(other.begin(), helps);
    one.end({.outside_ns = 1'000'000, .waited_ns = helps ? 10u : 100u});
    other.end({.outside_ns = 1'000'000, .waited_ns = helps ? 20u : 150u});
  }
}

TEST(Judge, TriesEverMoreRarelyWhereTheyDoNot) {
  Judge judge(false, 2);
  const int first = play(judge, 10'000, 1000, 1000);
  const int later = play(judge, 100'000, 1000, 1000);
  EXPECT_LT(first, 600);
  EXPECT_LT(later, 400) << "of ten times as many";
  EXPECT_TRUE(judge.resting());
  EXPECT_EQ(judge.saved().usual, 0);
}

TEST(Judge, BeginsAgainWhenTheProgramChanges) {
  Judge judge(false, 3);
  play(judge, 2'000, 1000, 1000);
  EXPECT_GT(play(judge, 20'000, 100, 1000), 10'000);
}

// Two ranks that exchange with each other. A message moves only if both help; only the other's wait
// gets shorter by it, and that of `one` depends on something else: on chance, and longer where it
// helps.
struct Pair {
  Judge one{false, 1}, other{false, 1};
  Random random{5};
  int together = 0;

  void play(int phases, bool seen, std::uint64_t longer_ns) {
    for (int i = 0; i < phases; ++i) {
      const bool one_helps = one.begin(), other_helps = other.begin();
      const bool moves = one_helps && other_helps;
      together += moves;
      one.end({.outside_ns = 1'000'000,
               .waited_ns = 5'000'000 + random.below(1'000'000) + (one_helps ? longer_ns : 0),
               .moved = moves && seen});
      other.end({.outside_ns = 1'000'000, .waited_ns = moves ? 1'000u : 300'000u, .moved = moves});
    }
  }
};

TEST(Judge, GoesOnWhereOnlyThePeerGains) {
  Pair pair;
  pair.play(1000, true, 100'000);
  EXPECT_FALSE(pair.one.resting());
  EXPECT_FALSE(pair.other.resting());
  EXPECT_GT(pair.together, 930);
  EXPECT_GT(pair.other.saved().least, 0);
}

TEST(Judge, EndsWhereItMovesNothing) {
  Pair pair;
  pair.play(100, false, 0);
  EXPECT_TRUE(pair.one.resting());
}

TEST(Judge, EndsWhereWhatItMovesMakesPhasesLonger) {
  Pair pair;
  pair.play(100, true, 1'500'000);
  EXPECT_TRUE(pair.one.resting());
}

TEST(Judge, EndsWhereComputingPaysForShorterWaits) {
  Judge judge(false, 8);
  for (int i = 0; i < 200; ++i) {
    const bool helps = judge.begin();
    judge.end({.outside_ns = helps ? 1'200'000u : 1'000'000u,
               .waited_ns = helps ? 1'000u : 100'000u,
               .moved = helps});
  }
  EXPECT_TRUE(judge.resting());
  EXPECT_EQ(judge.saved().usual, 0);
}

TEST(Judge, RanksThatHaveStoppedTryAgainTogether) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Judge one(false, seed), other(false, seed);
    int together = 0, tried = 0;
    for (int i = 0; i < 5'000; ++i) {
      const bool one_helps = one.begin(), other_helps = other.begin();
      together += one_helps && other_helps;
      tried += one_helps || other_helps;
      // Some phases of the other one leave no time: it stops a little later.
      one.end({.outside_ns = 1'000'000, .waited_ns = 1'000});
      other.end({.outside_ns = i % 5 == 0 ? 0u : 1'000'000u, .waited_ns = 1'000});
    }
    EXPECT_GE(together, 32) << seed << ": four trials of eight and more";
    EXPECT_LT(tried - together, together) << seed;
  }
}

TEST(Judge, PhasesThatAreLeftAloneLaterAreAmongThoseBefore) {
  // The one goes on, and leaves ever fewer alone; the other begins, with the same count of phases.
  Judge goes_on(false, 1), begins(false, 1);
  int alone = 0, alone_together = 0;
  for (int i = 0; i < 3'000; ++i) {
    const bool first = goes_on.begin(), second = begins.begin();
    if (!begins.resting() && !first) {
      ++alone;
      alone_together += !second;
    }
    goes_on.end({.outside_ns = 1'000'000, .waited_ns = first ? 10u : 1'000u});
    begins.end({.outside_ns = 1'000'000, .waited_ns = 1'000});
  }
  EXPECT_GT(alone, 0);
  EXPECT_EQ(alone_together, alone);
}

TEST(Judge, TriesAgainWhenWaitsHaveBecomeLonger) {
  Judge judge(false, 6);
  play(judge, 6'000, 1'000, 1'000);  // the third rest has 4,096 phases
  ASSERT_TRUE(judge.resting());
  EXPECT_GT(play(judge, 300, 500, 5'000), 150);
  EXPECT_FALSE(judge.resting());
}

TEST(Judge, TriesOnceInARestOnly) {
  Judge judge(false, 7);
  play(judge, 6'000, 1'000, 1'000);
  EXPECT_LT(play(judge, 1'500, 5'000, 5'000), 80);
  EXPECT_EQ(play(judge, 500, 50'000, 50'000), 0);
}

TEST(Judge, PhasesWithoutTimeToComputeSayNothing) {
  Judge judge(false, 4);
  for (int i = 0; i < 1000; ++i) {
    judge.begin();
    judge.end({.outside_ns = 0, .waited_ns = 1000});
  }
  EXPECT_EQ(judge.helped() + judge.alone(), 0u);
  EXPECT_FALSE(judge.resting());
}

TEST(Judge, AlwaysHelpsWhenAsked) {
  Judge judge(true, 5);
  EXPECT_EQ(play(judge, 1000, 1000, 100), 1000);
}

}  // namespace
}  // namespace hob::overlap
