#include "validation/changes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "validation/devices.hpp"
#include "validation/edge_pacing.hpp"
#include "validation/gain.hpp"
#include "validation/schedule.hpp"
#include "validation/write_marks.hpp"

namespace hob::validation {
namespace {

TEST(Changes, OfOneWindowTargetsAreToldApart) {
  Changes changes;
  changes.add(3, 7);
  changes.add(3, 511);
  for (int rank = 0; rank < 512; ++rank)
    EXPECT_EQ(changes.may_have_changed(3, rank), rank == 7 || rank == 511) << rank;
  EXPECT_FALSE(changes.may_have_changed(3));
  EXPECT_FALSE(changes.asked());
}

TEST(Changes, NoChangeIsEverMissed) {
  for (std::uint64_t window = 0; window < 200; window += 7)
    for (const int rank : {0, 1, 63, 64, 511, 512, 100'000}) {
      Changes changes;
      changes.add(window, rank);
      EXPECT_TRUE(changes.may_have_changed(window, rank));
    }
  Changes all;
  all.add_all(65);
  EXPECT_TRUE(all.may_have_changed(65));
  EXPECT_TRUE(all.may_have_changed(65, 12));
  EXPECT_FALSE(all.may_have_changed(2, 12));
}

TEST(Changes, TheUnionIsTheOrOfTheWords) {
  Changes one, other;
  one.add(1, 2);
  other.add_all(4);
  other.ask();
  for (std::size_t i = 0; i < Changes::kWords; ++i) one.words()[i] |= other.words()[i];
  EXPECT_TRUE(one.may_have_changed(1, 2));
  EXPECT_TRUE(one.may_have_changed(4, 0));
  EXPECT_FALSE(one.may_have_changed(1, 3));
  EXPECT_TRUE(one.asked());
}

TEST(Changes, EdgesAreShownWhereSomeDoubtAndSomeWantThem) {
  for (const std::uint64_t members : {2u, 1000u}) {
    Changes one, other;
    one.begin(members, members);
    other.begin(members, members);
    one.doubt_edges(7);
    one.doubt_edges(8);
    other.want_edges(7);
    other.want_edges(9);
    EXPECT_EQ(one.edges_to_show() | other.edges_to_show(), 0u);
    one.words()[0] |= other.words()[0];
    EXPECT_EQ(one.edges_to_show(), std::uint64_t{1} << Changes::edge_place(7));
    EXPECT_TRUE(one.edges_doubted(7));
    EXPECT_TRUE(one.edges_doubted(8));
    EXPECT_FALSE(one.edges_doubted(9));
    EXPECT_FALSE(one.any());
    EXPECT_FALSE(one.asked());
    EXPECT_FALSE(one.pages_only());
    one.add_everything();
    EXPECT_TRUE(one.edges_doubted(9));
  }
}

TEST(EdgePacing, WhoFetchesOtherEdgesEachTimeAsksSeldom) {
  EdgePacing pacing;
  int asked = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool due = pacing.due();
    asked += due ? 1 : 0;
    pacing.notified(true, due);
  }
  EXPECT_LE(asked, 20);
  EXPECT_GE(asked, 10);
  for (int i = 0; i < 100; ++i) {  // once, and then again and again the same
    pacing.notified(false, false);
    EXPECT_TRUE(pacing.due());
    pacing.notified(true, true);
  }
}

/// Calls of a thousand in which members notify, and no one asks.
int notified_without_use(Schedule& schedule, bool barriers) {
  int notified = 0;
  for (int i = 0; i < 1000; ++i)
    if (schedule.due(barriers)) {
      ++notified;
      schedule.reported(false, true);
    }
  return notified;
}

TEST(Schedule, BarriersTellUntilNobodyHasAskedForLong) {
  Schedule schedule;
  schedule.begin_window();
  for (std::uint32_t i = 0; i < Schedule::kPatience; ++i) {
    EXPECT_TRUE(schedule.due(true)) << i;
    schedule.reported(false, false);
  }
  EXPECT_LE(notified_without_use(schedule, true), 8);
}

TEST(Schedule, OtherCallsTellEverLessOften) {
  Schedule schedule;
  schedule.begin_window();
  EXPECT_EQ(notified_without_use(schedule, false),
            13);  // at 0, 2, 6, 14, 30, 62, 126, 254, and so on
  while (!schedule.due(false)) {
  }
  schedule.reported(true, true);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(schedule.due(false));
    schedule.reported(true, true);
  }
}

TEST(Schedule, AnotherWindowIsBelievedLessAfterSomeThatNobodyRead) {
  Schedule schedule;
  int notified = 0;
  for (int window = 0; window < 100; ++window) {
    schedule.begin_window();
    for (int i = 0; i < 20; ++i)
      if (schedule.due(true)) {
        ++notified;
        schedule.reported(false, false);
      }
  }
  EXPECT_LT(notified, 40);  // of 2,000
  while (!schedule.due(true)) {
  }
  schedule.reported(true, true);
  schedule.begin_window();
  for (std::uint32_t i = 0; i < Schedule::kPatience; ++i) {
    EXPECT_TRUE(schedule.due(true)) << i;
    schedule.reported(false, false);
  }
}

TEST(Schedule, DetailsAreToldAtOnceWhereTheyWereNeeded) {
  Schedule schedule;
  EXPECT_FALSE(schedule.details());
  schedule.reported(true, false);
  EXPECT_FALSE(schedule.details());
  schedule.reported(true, true);
  EXPECT_TRUE(schedule.details());
  schedule.reported(false, true);
  EXPECT_FALSE(schedule.details());
}

/// A process that asks, in phases of so many ticks.
struct Asking {
  Gain gain;
  std::uint64_t phase = 1'000'000;
  std::uint64_t now = 0;

  bool asks(std::uint64_t gets, std::uint64_t hits, double trip, double cost) {
    return gain.asks(
        {.gets = gets, .kept_hits = hits, .trip = trip, .cost = cost, .now = now += phase});
  }
};

TEST(Gain, AsksWhileCopiesAreHitAndAWhileThereafter) {
  Asking program;
  std::uint64_t gets = 0, hits = 0;
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(program.asks(gets += 8, hits += 8, 1000, 100)) << i;
  int asked = 0;
  while (program.asks(gets, hits, 1000, 0)) ++asked;
  EXPECT_EQ(asked, 63);
  EXPECT_TRUE(program.asks(gets += 8, hits, 1000, 0)) << "the program reads again";
  EXPECT_TRUE(program.asks(gets += 8, hits += 8, 1000, 0));
}

TEST(Gain, IsOverSoonerWhereTellingCosts) {
  Asking program;
  program.asks(8, 0, 1000, 0);
  EXPECT_TRUE(program.asks(16, 8, 1000, 0));  // 8,000 ticks
  int asked = 0;
  while (program.asks(16, 8, 1000, 500)) ++asked;
  EXPECT_EQ(asked, 8);  // at twice 500 each
}

TEST(Gain, TriesEverLessOftenWithoutHits) {
  Asking program;
  std::uint64_t gets = 0;
  int asked = 0;
  for (int i = 0; i < 4000; ++i) asked += program.asks(++gets, 0, 1000, 100) ? 1 : 0;
  EXPECT_LT(asked, 4000 * 7 / 100);
  asked = 0;
  for (int i = 0; i < 800; ++i) asked += program.asks(++gets, 0, 1000, 100) ? 1 : 0;
  EXPECT_GE(asked, 32) << "programs have phases";
}

TEST(Gain, TrialsTakeASmallShareOfTheTime) {
  Asking program;
  program.phase = 1000;
  std::uint64_t gets = 0;
  int asked = 0;
  for (int i = 0; i < 100'000; ++i) asked += program.asks(++gets, 0, 1000, 500) ? 1 : 0;
  EXPECT_GE(asked, 64);
  EXPECT_LE(asked, 100'000 / 100);
}

TEST(Gain, DoesNotBeginWhereThatTakesLongAndNothingCameAgain) {
  const auto calls_until_it_asks = [](double begin, bool reused) {
    Gain gain;
    std::uint64_t calls = 0;
    const auto asks = [&] {
      return gain.asks({.gets = ++calls,
                        .kept_hits = 0,
                        .trip = 1000,
                        .cost = 10,
                        .now = 1000 * calls,
                        .begin = begin,
                        .reused = reused});
    };
    while (!asks()) continue;
    return calls;
  };
  EXPECT_EQ(calls_until_it_asks(0, false), 1u);
  EXPECT_EQ(calls_until_it_asks(1e6, true), 1u);
  EXPECT_EQ(calls_until_it_asks(1000, false), 129u);  // after 128 times as long
}

TEST(Gain, ATrialEndsWhereEverythingIsDroppedEachTime) {
  Asking program;
  std::uint64_t gets = 0;
  int asked = 0;
  while (program.asks(++gets, 0, 1000, 100)) {
    ++asked;
    program.gain.all_dropped();
  }
  EXPECT_EQ(asked, 8);
  // What was dropped in a rest is nothing against the next trial.
  for (int i = 0; i < 50 && asked == 8; ++i) {
    program.gain.all_dropped();
    if (program.asks(++gets, 0, 1000, 100)) ++asked;
  }
  EXPECT_TRUE(program.asks(++gets, 0, 1000, 100));
}

// The same bytes in every twentieth call: no trial of a few calls finds that out.
TEST(Gain, FindsBytesThatAreAskedForNowAndThen) {
  Asking program;
  constexpr int kPeriod = 20;
  std::uint64_t gets = 0, hits = 0;
  int kept = 0, first = 0;  // calls in a row that kept copies
  for (int i = 1; i <= 1000; ++i) {
    if (kept >= kPeriod) {
      ++hits;
      first = first == 0 ? i : first;
    }
    kept = program.asks(++gets, hits, 1000, 10) ? kept + 1 : 0;
  }
  EXPECT_GT(first, 0);
  EXPECT_LT(first, 128);
  EXPECT_GT(hits, 800u) << "found, it goes on";
}

TEST(WriteMarks, WhatWasUnderWayIsToldAgain) {
  WriteMarks target;
  EXPECT_FALSE(target.notify());
  target.written = 4;
  EXPECT_TRUE(target.notify());
  EXPECT_TRUE(target.notify());
  target.settled = 4;  // it arrived after others were notified
  EXPECT_TRUE(target.notify());
  EXPECT_FALSE(target.notify());
  target.written = target.settled = 5;
  EXPECT_TRUE(target.notify());
  EXPECT_FALSE(target.notify());
}

TEST(Devices, AnAdapterOrAModuleIsFound) {
  namespace fs = std::filesystem;
  const fs::path root = fs::temp_directory_path() / ("hob_devices_" + std::to_string(::getpid()));
  fs::create_directories(root / "sys/class/infiniband");
  EXPECT_EQ(device_that_writes(root), "");  // the module is there, but no adapter
  fs::create_directories(root / "sys/class/infiniband/mlx5_0");
  EXPECT_EQ(device_that_writes(root), "/sys/class/infiniband");
  fs::remove_all(root / "sys");
  fs::create_directories(root / "dev");
  std::ofstream(root / "dev/xpmem") << "";
  EXPECT_EQ(device_that_writes(root), "/dev/xpmem");
  fs::remove_all(root);
}

}  // namespace
}  // namespace hob::validation
