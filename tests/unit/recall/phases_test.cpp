// Programs with phases, played against the record: how many gets are trips, and what is fetched in
// vain.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "recall/recall.hpp"

namespace hob::recall {
namespace {

struct Read {
  std::uint32_t target = 1;
  std::uint64_t displacement = 0, bytes = 8;
};
using Phase = std::vector<Read>;

/// A cache that keeps what was fetched until the phase ends; each get is waited for alone.
class Program {
 public:
  struct Result {
    std::uint64_t trips = 0, reads = 0;
  };

  Result play(const Phase& phase) {
    Result result;
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<std::uint64_t, std::uint64_t>> here;
    for (const Read& read : phase) {
      ++result.reads;
      asked_bytes += read.bytes;
      recall.completed();
      auto found = here.upper_bound({read.target, read.displacement});
      if (found != here.begin()) {
        --found;
        if (found->first.first == read.target &&
            found->first.second + found->second.first >= read.displacement + read.bytes) {
          const std::uint64_t bytes = recall.used(found->second.second);
          used_bytes += bytes;
          continue;
        }
      }
      ++result.trips;
      here[{read.target, read.displacement}] = {read.bytes, 0};
      if (!recall.recording()) continue;
      recall.missed(read.target, read.displacement, read.bytes);
      for (const std::uint32_t index : recall.choose(read.target, read.displacement, read.bytes,
                                                     true, std::uint64_t{1} << 30, prices)) {
        const Place& place = recall.place(index);
        std::uint64_t begin = place.displacement();
        if (begin == read.displacement && place.bytes() > read.bytes) {
          begin += read.bytes;  // its first bytes are under way
        } else if (here.contains({place.target(), begin})) {
          recall.present(index);
          continue;
        }
        here[{place.target(), begin}] = {place.end() - begin, recall.tag(index)};
        recall.fetched(index);
        recalled_bytes += place.bytes();
      }
    }
    recall.spent(result.trips == result.reads ? takes_without : takes_with);
    recall.phase_ended(std::exchange(learning, false));
    return result;
  }

  double vain() const {
    return static_cast<double>(recalled_bytes - used_bytes) / static_cast<double>(asked_bytes);
  }

  Room room{std::uint64_t{1} << 26};
  Recall recall{{}, room};
  Prices prices;
  std::uint64_t asked_bytes = 0, recalled_bytes = 0, used_bytes = 0;
  bool learning = false;                     ///< how gets are fetched changes in the next phase
  double takes_with = 0, takes_without = 0;  ///< each phase
};

class Phases : public testing::Test {
 protected:
  Phase places(std::size_t count, std::uint32_t targets = 1) {
    Phase phase;
    for (std::size_t i = 0; i < count; ++i)
      phase.push_back({static_cast<std::uint32_t>(1 + i % targets), 8 * (random() >> 20), 8});
    return phase;
  }

  std::mt19937_64 random{7};
  Program program;
};

TEST_F(Phases, TheSamePlacesAreOneTripFromTheThirdOn) {
  const Phase phase = places(1000);
  EXPECT_EQ(program.play(phase).trips, 1000u);
  program.play(phase);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(program.play(phase).trips, 1u);
  EXPECT_EQ(program.vain(), 0);
}

/// All bytes between a few places cost less than that they are left out.
TEST(RecallPrices, WhatLiesTogetherIsOneGetOfAllOfIt) {
  const Prices prices{.latency = 9000, .far_byte = 0.1, .scattered = 22'000, .longest = 2 << 20};
  EXPECT_TRUE(prices.span_is_cheaper(5, 40, 32 << 10));
  EXPECT_FALSE(prices.span_is_cheaper(5, 40, 1 << 20));
  EXPECT_TRUE(prices.span_is_cheaper(200, 1 << 20, 1 << 20));
  EXPECT_FALSE(prices.span_is_cheaper(200, 4 << 20, 4 << 20)) << "it is too long";
  Prices alone = prices;
  alone.longest = 0;
  EXPECT_FALSE(alone.span_is_cheaper(5, 40, 40));
}

TEST_F(Phases, InAnyOrder) {
  Phase phase = places(1000);
  program.play(phase);
  for (int i = 0; i < 20; ++i) {
    std::shuffle(phase.begin(), phase.end(), random);
    const std::uint64_t trips = program.play(phase).trips;
    if (i > 0) {
      EXPECT_EQ(trips, 1u);
    }
  }
  EXPECT_EQ(program.vain(), 0);
}

TEST_F(Phases, OfSeveralTargets) {
  const Phase phase = places(1000, 50);
  program.play(phase);
  program.play(phase);
  EXPECT_EQ(program.play(phase).trips, 1u);
}

TEST_F(Phases, FewPlacesOverAndOver) {
  const Phase phase = places(5);
  program.play(phase);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(program.play(phase).trips, 1u);
}

TEST_F(Phases, ThreeKindsInTurn) {
  const Phase kinds[] = {places(300), places(200), places(400)};
  for (int i = 0; i < 30; ++i)
    for (const Phase& phase : kinds) {
      const std::uint64_t trips = program.play(phase).trips;
      if (i >= 2) {
        EXPECT_EQ(trips, 1u) << i;
      }
    }
  EXPECT_EQ(program.recall.records(), 3u);
}

TEST_F(Phases, KindsThatBeginAlikeAreToldByWhatCameBefore) {
  Phase a = places(100), b = places(100), c = places(100);
  b[0] = c[0] = a[0];
  for (int i = 0; i < 30; ++i)
    for (const Phase* phase : {&a, &b, &c}) {
      const std::uint64_t trips = program.play(*phase).trips;
      if (i >= 6) {
        EXPECT_LE(trips, 8u) << i;
      }
    }
  EXPECT_LT(program.vain(), 0.1);
}

TEST_F(Phases, AnOddOneNowAndThenChangesNothing) {
  const Phase phase = places(300);
  for (int i = 0; i < 50; ++i) {
    if (i % 7 == 5) program.play(places(300));
    const std::uint64_t trips = program.play(phase).trips;
    if (i >= 2) {
      EXPECT_EQ(trips, 1u) << i;
    }
  }
}

TEST_F(Phases, ATenthThatChangesCostsATenth) {
  Phase phase = places(1000);
  for (int i = 0; i < 30; ++i) {
    for (std::size_t k = 900; k < 1000; ++k) phase[k].displacement = 8 * (random() >> 20);
    std::shuffle(phase.begin(), phase.begin() + 900, random);
    const std::uint64_t trips = program.play(phase).trips;
    if (i >= 2) {
      EXPECT_LE(trips, 101u) << i;
    }
  }
  EXPECT_LT(program.vain(), 0.1);
}

TEST_F(Phases, ATenthThatGoesForGood) {
  Phase phase = places(1000);
  std::uint64_t trips = 0;
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 100; ++k) phase[random() % 1000].displacement = 8 * (random() >> 20);
    const std::uint64_t its = program.play(phase).trips;
    if (i >= 10) trips += its;
  }
  EXPECT_LT(trips / 50, 250u);
  EXPECT_LT(program.vain(), 0.2);  // at first; then the budget's tenth
}

TEST_F(Phases, AHaloThatMovesByARowIsFollowed) {
  const auto halo = [](std::uint64_t first) {
    Phase phase;
    for (std::uint64_t row = first; row < first + 64; ++row) phase.push_back({1, row * 8192, 8192});
    return phase;
  };
  std::uint64_t trips = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    program.play(halo(i));
    trips = 0;
    for (int k = 0; k < 3; ++k) trips += program.play(halo(i)).trips;
    if (i > 2) {
      EXPECT_LE(trips, 5u) << i;
    }
  }
  EXPECT_LT(program.vain(), 0.1);
}

TEST_F(Phases, AMeshThatIsRefinedIsFollowedWithinTwo) {
  Phase phase = places(500);
  for (int i = 0; i < 5; ++i) program.play(phase);
  const Phase more = places(500);
  phase.insert(phase.end(), more.begin(), more.end());
  program.play(phase);
  program.play(phase);
  EXPECT_LE(program.play(phase).trips, 10u);
}

TEST_F(Phases, OtherPlacesEachTimeCostNothing) {
  for (int i = 0; i < 500; ++i) {
    const Phase phase = places(200);
    EXPECT_EQ(program.play(phase).trips, 200u);
  }
  EXPECT_EQ(program.recalled_bytes, 0u);
  EXPECT_LE(program.recall.records(), Recall::kMostRecords);
}

TEST_F(Phases, WhatNeverRecursIsSoonNotRecorded) {
  int recorded = 0;
  for (int i = 0; i < 2000; ++i) {
    recorded += program.recall.recording();
    program.play(places(50));
  }
  EXPECT_LT(recorded, 500);
}

TEST_F(Phases, AfterLongNothingAGainIsFoundAgain) {
  for (int i = 0; i < 2000; ++i) program.play(places(20));
  const Phase phase = places(100);
  int until = 0;
  while (program.play(phase).trips != 1) ASSERT_LT(++until, 10'000);
}

TEST_F(Phases, PlacesThatLieApartEachTimeButBeginAlikeStayCheap) {
  for (int i = 0; i < 300; ++i) {
    Phase phase = places(200);
    phase[0].displacement = 64;
    program.play(phase);
  }
  EXPECT_LT(program.vain(), 0.1);
}

TEST_F(Phases, ARunOfWordsIsFewPlaces) {
  Phase phase;
  for (std::uint64_t i = 0; i < 100'000; ++i) phase.push_back({1, 8 * i, 8});
  for (int i = 0; i < 3; ++i) program.play(phase);
  EXPECT_LE(program.play(phase).trips, 2u);
  EXPECT_LT(program.recall.places(), 1000u);
}

TEST_F(Phases, GetsThatAreWaitedForTogetherAreLeftAlone) {
  const Prices prices{};
  const auto pays = [](const Prices& price, auto places, auto waits, auto bytes, double added) {
    return Policy::gain(price, places, waits, bytes, added) > 0;
  };
  EXPECT_FALSE(pays(prices, 2, 1, 16'384, 0));
  EXPECT_TRUE(pays(prices, 64, 64, 64 * 8192, 0));
  EXPECT_TRUE(pays(prices, 4, 5, 32, 0));
  // Where a get of scattered places takes as long as those that it spares.
  EXPECT_FALSE(pays(prices, 4, 5, 32, 4 * prices.latency));
  EXPECT_FALSE(pays(prices, 1, 1, 8, 0));
  Prices unknown{.latency = 9000, .issue = 9000, .measured = false};
  EXPECT_TRUE(pays(unknown, 1, 1, 4096, 7000)) << "a comparison will tell";
  unknown.measured = true;
  EXPECT_FALSE(pays(unknown, 1, 1, 4096, 7000));
}

/// Blocks of readahead bring most places of a phase, and one get of all of them takes longer.
TEST_F(Phases, NoMoreIsSparedThanThePlacesTookBefore) {
  const Phase phase = places(20);
  program.takes_without = 15'000;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(program.play(phase).trips, 20u);
  EXPECT_EQ(program.recalled_bytes, 0u);
}

/// What gains nothing for a large phase is not computed again for each of its gets.
TEST_F(Phases, LookingAtPlacesInVainIsBounded) {
  const Phase phase = places(100);
  program.takes_without = 15'000;
  program.play(phase);
  std::uint64_t looked = 0;
  for (std::size_t i = 0; i < phase.size(); ++i) {
    // Each look at the record clears or sets this.
    program.prices.first = 1;
    program.prices.scatters = true;
    program.recall.missed(1, phase[i].displacement, 8);
    program.recall.choose(1, phase[i].displacement, 8, true, 1 << 20, program.prices);
    looked += program.prices.scatters ? 0 : 1;
  }
  EXPECT_GE(looked, 1u);
  EXPECT_LE(looked, 12u);
}

/// A large phase is sorted and kept as a whole once it has come twice.
TEST_F(Phases, OfALargePhaseThatComesOnceASampleIsKept) {
  program.play(places(4000));
  EXPECT_EQ(program.recall.places(), 0u);
  EXPECT_LT(program.recall.memory_bytes(), 16u * (4096 + 2 * 1024) + 8192);
  Phase phase = places(4000);
  program.play(phase);
  EXPECT_EQ(program.recall.places(), 0u);
  std::shuffle(phase.begin(), phase.end(), random);
  program.play(phase);
  EXPECT_EQ(program.recall.places(), 4000u);
  std::shuffle(phase.begin(), phase.end(), random);
  EXPECT_EQ(program.play(phase).trips, 1u);
}

/// It may never end. Once one has, the next is recorded.
TEST_F(Phases, OneThatIsMuchLongerThanAnyBeforeIsNotRecorded) {
  program.play(places(20));
  const Phase phase = places(5000);
  const auto recorded = [&] {
    for (const Read& read : phase) program.recall.missed(1, read.displacement, 8);
    const bool all = program.recall.recording();
    program.recall.phase_ended();
    return all;
  };
  EXPECT_FALSE(recorded());
  EXPECT_TRUE(recorded());
}

/// A record whose phases take clearly longer with it rests, longer each time.
TEST_F(Phases, AfterTwoSlowerPhasesOneIsNotRecalledAndThenTwo) {
  const Phase phase = places(20);
  program.takes_without = 150'000;
  program.takes_with = 300'000;
  std::vector<bool> recalled;
  for (int i = 0; i < 12; ++i) recalled.push_back(program.play(phase).trips != 20);
  const std::vector<bool> rests = {false, true, true,  false, true,  false,
                                   false, true, false, false, false, false};
  EXPECT_EQ(recalled, rests);
}

/// Those that are read first come first, so that none is old when it is asked for.
TEST_F(Phases, ALongPhaseIsRecalledInParts) {
  const Phase phase = places(100);
  program.prices.at_once = 30;
  for (int i = 0; i < 2; ++i) program.play(phase);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(program.play(phase).trips, 4u);
  EXPECT_EQ(program.vain(), 0);
}

/// Where a block of readahead brings thousands of places, nothing is noted of them.
TEST(Recalled, FirstHitsThatTookNextToNothingAreNotNoted) {
  Room room(1 << 20);
  Recall recall({.least_each = 200}, room);
  for (int phase = 0; phase < 3; ++phase) {
    EXPECT_TRUE(recall.recording_fetched_ahead());
    recall.spent(20'000);
    std::uint64_t noted = 0;
    for (std::uint64_t i = 0; i < 4000 && recall.recording_fetched_ahead(); ++i, ++noted)
      recall.missed(1, 8 * i, 8);
    EXPECT_EQ(noted, Recall::kBeforeWait);
    recall.spent(1e9);
    EXPECT_FALSE(recall.recording_fetched_ahead()) << "what was left out is missing";
    recall.phase_ended();
    EXPECT_EQ(recall.records(), 0u);
  }
}

/// As in a program whose places one block of readahead brings.
TEST_F(Phases, WhatTakesLongerThanWithoutEnds) {
  const Phase phase = places(5);
  program.takes_with = 30'000;
  program.takes_without = 25'000;
  int with = 0;
  for (int i = 0; i < 20'000; ++i) with += program.play(phase).trips == 1;
  EXPECT_GT(with, 10);
  EXPECT_LT(with, 300);
}

TEST_F(Phases, WhatIsClearlyQuickerIsNeverComparedAndWhatIsHardlySoSeldom) {
  const Phase phase = places(5);
  program.takes_with = 10'000;
  program.takes_without = 40'000;
  program.play(phase);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(program.play(phase).trips, 1u);
  program.takes_with = 30'000;
  int without = 0;
  for (int i = 0; i < 2000; ++i) without += program.play(phase).trips != 1;
  EXPECT_GT(without, 0);
  EXPECT_LT(without, 100);
}

/// Of the first phase, in which readahead has yet to learn, nothing follows for the later ones.
TEST_F(Phases, APhaseInWhichFetchingChangedIsNotCompared) {
  const Phase phase = places(5);
  program.takes_without = 100'000;
  program.learning = true;
  program.play(phase);
  program.takes_with = 30'000;
  program.takes_without = 20'000;
  int with = 0;
  for (int i = 0; i < 1000; ++i) with += program.play(phase).trips == 1;
  EXPECT_LT(with, 100);
}

TEST_F(Phases, AComparisonEndsOnceItIsClear) {
  const Phase phase = places(5);
  program.takes_without = 100'000;
  program.learning = true;
  program.play(phase);
  program.takes_with = 10'000;
  program.takes_without = 40'000;
  int without = 0;
  for (int i = 0; i < 50; ++i) without += program.play(phase).trips != 1;
  EXPECT_EQ(without, 3);
}

/// A library that makes itself ready for its first get of scattered places takes long for it.
TEST_F(Phases, ADearFirstGetIsMadeOnceAsMuchWasForgone) {
  program.prices.first = 1'300'000;
  program.takes_without = 64 * 9000;
  const Phase few = places(64);
  int without = 0;
  while (program.play(few).trips == 64) ASSERT_LT(++without, 10);
  EXPECT_GE(without, 3);
  EXPECT_EQ(program.prices.first, 0);
  EXPECT_EQ(program.play(few).trips, 1u);
}

/// Rows with what lies between them take long, but less than the gets that they spare.
TEST_F(Phases, WhatWasForgoneIsMeasured) {
  Phase rows;
  for (std::uint64_t row = 0; row < 64; ++row) rows.push_back({1, row * 32'768, 8192});
  const auto phases = [&](double each) {
    Program halo;
    halo.prices = {.first = 1'300'000, .longest = Prices::kLongestStretch};
    halo.takes_with = halo.takes_without = each;
    int count = 0;
    for (; count < 100 && halo.prices.first != 0; ++count) halo.play(rows);
    return count;
  };
  EXPECT_EQ(phases(5'000'000), 5) << "one phase may be long by chance";
  EXPECT_GT(phases(460'000), 5);
  EXPECT_LT(phases(460'000), 20);
  EXPECT_EQ(phases(140'000), 100) << "scattered places alone would take as long";
}

TEST_F(Phases, ManyPlacesBearADearFirstGetOnceTheyCameAgain) {
  program.prices.first = 1'300'000;
  const Phase many = places(1000);
  program.takes_without = 9'000'000;
  program.takes_with = 200'000;
  program.play(many);
  EXPECT_EQ(program.play(many).trips, 1000u);
  EXPECT_EQ(program.play(many).trips, 1u);
}

TEST_F(Phases, WhetherAPhaseIsRecalledIsExpectedFromTheLast) {
  const Phase phase = places(20);
  EXPECT_FALSE(program.recall.reads_recalled());
  for (int i = 0; i < 3; ++i) program.play(phase);
  EXPECT_TRUE(program.recall.reads_recalled());
  for (int i = 0; i < 3; ++i) program.play(places(20));
  EXPECT_FALSE(program.recall.reads_recalled());
}

TEST_F(Phases, TheReportShowsWhatEachPhaseRead) {
  Phase phase = places(100);
  for (int i = 0; i < 4; ++i) {
    program.play(phase);
    for (std::size_t k = 90; k < 100; ++k) phase[k].displacement = 8 * (random() >> 20);
  }
  const std::vector<PhasePoint>& points = program.recall.phases();
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].missed, 100u);
  EXPECT_EQ(points[0].recalled, 0u);
  for (const PhasePoint& point : points) EXPECT_EQ(point.used + point.missed, 100u) << point.phase;
  EXPECT_EQ(points[3].used, 89u);
  EXPECT_GE(points[3].recalled, 89u);
}

TEST(PhaseSeries, OfManyPhasesNeighboursAreOne) {
  PhaseSeries series;
  for (std::uint64_t phase = 1; phase <= 1000; ++phase)
    series.add({.phase = phase, .count = 1, .recalled = 10, .used = 9, .missed = 1});
  EXPECT_LE(series.points().size(), PhaseSeries::kMostPoints);
  std::uint64_t count = 0, next = 1;
  for (const PhasePoint& point : series.points()) {
    EXPECT_EQ(point.phase, next);
    EXPECT_EQ(point.recalled, 10 * point.count);
    next += point.count;
    count += point.count;
  }
  EXPECT_EQ(count, 1000u);
}

TEST_F(Phases, BeyondTheRoomNothingIsRecalled) {
  Room small(4096);
  Recall recall({}, small);
  for (int i = 0; i < 5; ++i) {
    for (std::uint64_t k = 0; k < 1000; ++k) {
      recall.missed(1, 16 * k, 8);
      EXPECT_TRUE(recall.choose(1, 16 * k, 8, true, 1 << 20, program.prices).empty());
    }
    recall.phase_ended();
  }
  EXPECT_LE(small.taken(), 4096u);
}

TEST_F(Phases, ATagOfAnEarlierPhaseIsNothing) {
  const Phase phase = places(10);
  program.play(phase);
  program.recall.missed(1, phase[0].displacement, 8);
  const auto chosen =
      program.recall.choose(1, phase[0].displacement, 8, true, 1 << 20, program.prices);
  ASSERT_FALSE(chosen.empty());
  const std::uint64_t tag = program.recall.tag(chosen[0]);
  program.recall.fetched(chosen[0]);
  program.recall.phase_ended();
  EXPECT_EQ(program.recall.used(tag), 0u);
}

}  // namespace
}  // namespace hob::recall
