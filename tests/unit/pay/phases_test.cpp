// One test for all that judges whether something pays: a program whose behaviour changes in phases.
// Where the gain ends, the cost ends; where it begins, it is found within a bounded time; and a
// loaded machine, which takes the core away now and then, changes neither.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

#include "base/random.hpp"
#include "batch/trial.hpp"
#include "gets/once_trial.hpp"
#include "match/takeover_policy.hpp"
#include "overlap/judge.hpp"
#include "overlap/start_history.hpp"
#include "pay/budget.hpp"
#include "pay/price.hpp"
#include "pay/trial.hpp"
#include "recall/policy.hpp"
#include "validation/gain.hpp"

namespace hob::pay {
namespace {

/// What one occasion takes with the thing and without it, and whether there is a gain, whatever
/// the machine adds.
struct Costs {
  double with, without;
  bool gain;
};
/// Tells the judge of an occasion. Whether it was one with the thing.
using Judge = std::function<bool(const Costs&)>;

struct Judged {
  std::string name;
  std::function<Judge()> make;
  /// Occasions with the thing, at most, after the gain has ended.
  int ends_within;
  /// Occasions after which a gain has been found, however long there was none before: the longest
  /// rest, and a trial.
  int found_after;
  /// Its verdicts compare means of few samples, which a loaded machine makes err.
  bool by_means = false;
};
void PrintTo(const Judged& judged, std::ostream* out) { *out << judged.name; }

/// The four classes together: tries while the budget allows it, compares medians, rests.
Judge of_all_four() {
  struct All {
    Trial trial{{.tries = {.first = 16, .longest = 16},
                 .rests = {.first = 64, .longest = 4096},
                 .compares = 16}};
    Budget budget{{.share = 0.01, .first = 20'000, .most = 20'000}};
    Recent<15> with, without;
    double now = 0;
  };
  return [all = All{}](const Costs& costs) mutable {
    const bool does = all.trial.trying() && all.budget.affords(static_cast<std::uint64_t>(all.now));
    (does ? all.with : all.without).add(does ? costs.with : costs.without);
    all.now += does ? costs.with : costs.without;
    if (does && !all.without.empty()) {
      const double lost = all.with.median() - all.without.median();
      if (lost < 0) all.trial.paid();
      if (lost > 0) all.budget.spent(lost);
    }
    if (all.trial.passed()) {
      if (all.with.median() < all.without.median())
        all.trial.go_on();
      else
        all.trial.rest();
    }
    return does;
  };
}

Judge of_batches() {
  return [trial = batch::Trial()](const Costs& costs) mutable {
    constexpr std::uint64_t kOperations = 16;
    if (trial.timing()) trial.issued_natively(1);
    const bool batched = trial.batches();
    const double each = batched ? costs.with : costs.without;
    trial.complete(batched, kOperations, kOperations * static_cast<std::uint64_t>(each));
    return batched;
  };
}

Judge of_overlap() {
  return [judge = overlap::Judge(false, 1)](const Costs& costs) mutable {
    const bool helps = judge.begin();
    judge.end({.outside_ns = 1'000'000,
               .waited_ns = static_cast<std::uint64_t>(helps ? costs.with : costs.without)});
    return helps;
  };
}

/// Starts that are left to the helper, which makes them beside the program or has to take the core
/// from it.
Judge of_starts() {
  return [history = overlap::StartHistory(1000)](const Costs& costs) mutable {
    using End = overlap::StartHistory::End;
    const overlap::Start start{.function = 1, .count = 1};
    const bool postponed = history.worth_postponing(start);
    if (postponed) history.ended(start, costs.gain ? End::by_thread : End::in_turns);
    history.took(start, 1000);
    return postponed;
  };
}

/// Calls between which copies are hit if they were kept: `with` is what telling takes, and a hit
/// saves a trip.
Judge of_kept_copies() {
  struct Program {
    validation::Gain gain;
    std::uint64_t gets = 0, hits = 0, now = 0;
    bool kept = false;
  };
  return [program = Program{}](const Costs& costs) mutable {
    constexpr std::uint64_t kBetweenCalls = 10'000;
    const bool hit = program.kept && costs.gain;
    program.kept = program.gain.asks({.gets = ++program.gets,
                                      .kept_hits = program.hits += hit ? 1 : 0,
                                      .trip = costs.without,
                                      .cost = costs.with / 4,
                                      .now = program.now += kBetweenCalls});
    return program.kept;
  };
}

/// Phases of places that all recur.
Judge of_recalling() {
  return [policy = recall::Policy()](const Costs& costs) mutable {
    constexpr std::uint64_t kPlaces = 16;
    const bool does = policy.records() && policy.recalls();
    policy.closed({.asked_bytes = 8 * kPlaces,
                   .places = kPlaces,
                   .used = does ? kPlaces - 1 : 0,
                   .spent = kPlaces * (does ? costs.with : costs.without)});
    return does;
  };
}

/// Large gets, each of a place that was asked for before or of a new one.
Judge of_looking_up() {
  struct Program {
    gets::OnceTrial trial{gets::OnceTrial::kLargeGets};
    std::uint64_t asked = 0, looked_up = 0, reused = 0;
  };
  return [program = Program{}](const Costs& costs) mutable {
    constexpr std::uint64_t kBytes = std::uint64_t{64} << 10;
    ++program.asked;
    if (program.trial.leaves(1, kBytes * program.asked * program.asked, kBytes)) return false;
    ++program.looked_up;
    if (costs.gain) program.reused = program.looked_up;
    program.trial.missed(program.looked_up,
                         [&](std::uint64_t number) { return program.reused >= number; });
    return true;
  };
}

constexpr match::MatchCosts kMatchCosts{.step = 4, .dequeue = 100};
std::uint64_t matching_time = 0;

/// An occasion: receives are posted, and as many messages pass half of those that wait, or none.
/// Where there is a gain the program computes for long, and a share of that time is no reason to
/// lose as much of it later at once.
Judge of_matching() {
  match::TakeoverPolicy::Config config;
  config.now = [] { return matching_time; };
  return [policy = match::TakeoverPolicy(config, kMatchCosts)](const Costs& costs) mutable {
    constexpr std::uint64_t kReceives = 128;
    matching_time += kReceives * (costs.gain ? 20'000 : 200);
    if (!policy.begins(0)) {
      policy.phase_ended(kReceives);
      return false;
    }
    for (std::uint64_t i = 0; i < kReceives; ++i)
      if (!policy.matched(costs.gain ? kReceives / 2.0 : 0)) {
        policy.reposted(kReceives - i);
        return true;
      }
    policy.ended();
    return true;
  };
}

class Phases : public ::testing::TestWithParam<Judged> {
 protected:
  Costs costs(bool gain, bool loaded) {
    Costs now{.with = gain ? 100.0 : 1500.0, .without = 1000, .gain = gain};
    if (loaded && random_.below(16) == 0)
      (random_.below(2) == 0 ? now.with : now.without) += 30'000;
    return now;
  }

  /// So many occasions. How many were with the thing.
  int play(const Judge& judge, bool gain, int occasions, bool loaded) {
    int with = 0;
    for (int i = 0; i < occasions; ++i) with += judge(costs(gain, loaded)) ? 1 : 0;
    return with;
  }

  Random random_{1};
};

TEST_P(Phases, CostsEndWithTheGainAndItIsFoundAgain) {
  for (const bool loaded : {false, true}) {
    if (loaded && GetParam().by_means) continue;
    const Judge judge = GetParam().make();
    for (int round = 0; round < 3; ++round) {
      play(judge, true, GetParam().found_after, loaded);
      EXPECT_GT(play(judge, true, 10'000, loaded), 9'000) << "loaded: " << loaded;
      EXPECT_LT(play(judge, false, 10'000, loaded), GetParam().ends_within) << "loaded: " << loaded;
      EXPECT_LT(play(judge, false, 200'000, loaded), 10'000) << "loaded: " << loaded;
    }
  }
}

TEST_P(Phases, WhatNeverPaysHardlyCosts) {
  const Judge judge = GetParam().make();
  EXPECT_LT(play(judge, false, 10'000, false), 700);
  EXPECT_LT(play(judge, false, 200'000, false), 10'000);
}

INSTANTIATE_TEST_SUITE_P(Judges, Phases,
                         ::testing::Values(Judged{"AllFour", of_all_four, 150, 4096 + 64},
                                           Judged{"Batches", of_batches, 100, (1 << 16) + 64},
                                           Judged{"Overlap", of_overlap, 1500, 1 << 20, true},
                                           Judged{"Starts", of_starts, 200, 64},
                                           Judged{"KeptCopies", of_kept_copies, 700, 768 + 64},
                                           Judged{"Recalling", of_recalling, 700, 8192 + 64},
                                           Judged{"LookingUp", of_looking_up, 1300, 1024 + 64},
                                           Judged{"Matching", of_matching, 1000, 30'000}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace hob::pay
