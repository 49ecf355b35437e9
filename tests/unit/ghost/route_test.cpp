#include "ghost/route.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace hob::ghost {
namespace {

/// An origin that puts and flushes, again and again. What it takes natively is the target's to say.
class Origin {
 public:
  static constexpr std::uint64_t kGhostNs = 30'000;
  static constexpr std::uint64_t kAttentiveNs = 10'000;

  std::uint64_t native_ns = kAttentiveNs;  ///< until a target answers
  std::uint64_t lost_ns = 0;               ///< beside what the ghost would have taken
  int native = 0, trials = 0;

  void complete(int completions) {
    for (int i = 0; i < completions; ++i) complete();
  }
  bool goes_natively() const { return route_.native(); }

 private:
  void complete() {
    if (route_.native()) {
      ++native;
      if (native_ns > kGhostNs) lost_ns += native_ns - kGhostNs;
      route_.natively({native_ns, 1});
      return;
    }
    const bool trial = route_.trial_due();
    route_.by_ghost({kGhostNs, 1});
    if (!trial) return;
    ++trials;
    route_.tried(native_ns <= kGhostNs);
  }

  Route::Config config_;
  Route route_{config_};
};

TEST(Route, TargetsThatWaitAreReachedNatively) {
  Origin origin;
  origin.complete(1000);
  EXPECT_TRUE(origin.goes_natively());
  EXPECT_GE(origin.native, 990);
  EXPECT_EQ(origin.lost_ns, 0U);
}

TEST(Route, TargetsThatComputeCostSomeTrialsAndNothingElse) {
  Origin origin;
  origin.native_ns = 100'000'000;
  origin.complete(10'000);
  EXPECT_EQ(origin.native, 0);
  EXPECT_EQ(origin.lost_ns, 0U);
  EXPECT_LE(origin.trials, 20) << "ever more rarely";
  EXPECT_GE(origin.trials, 10) << "but for ever";
}

TEST(Route, FollowsThePhasesOfItsTarget) {
  Origin origin;
  origin.native_ns = 1'000'000;
  origin.complete(500);
  EXPECT_FALSE(origin.goes_natively());
  origin.native_ns = Origin::kAttentiveNs;
  origin.complete(600);
  EXPECT_TRUE(origin.goes_natively());
  origin.native_ns = 1'000'000;
  origin.complete(1);
  EXPECT_FALSE(origin.goes_natively()) << "at once";
  EXPECT_EQ(origin.lost_ns, 1'000'000 - Origin::kGhostNs);
  origin.complete(100);
  EXPECT_EQ(origin.lost_ns, 1'000'000 - Origin::kGhostNs) << "trials make nobody wait";
}

TEST(Route, PhasesThatEndSoonCostEverLess) {
  Origin origin;
  int stalls = 0;
  for (int phase = 0; phase < 1000; ++phase) {
    origin.native_ns = Origin::kAttentiveNs;
    origin.complete(10);
    const int before = origin.native;
    origin.native_ns = 1'000'000;
    origin.complete(10);
    stalls += origin.native - before;
  }
  EXPECT_LE(stalls, 40);
}

TEST(Route, NativeOperationsThatAreALittleLongerGoBack) {
  Route::Config config;
  Route route(config);
  for (int i = 0; i < 100 && !route.native(); ++i) {
    const bool trial = route.trial_due();
    route.by_ghost({10'000, 1});
    if (trial) route.tried(true);
  }
  ASSERT_TRUE(route.native());
  for (int i = 0; i < 100 && route.native(); ++i) route.natively({13'000, 1});
  EXPECT_FALSE(route.native());
}

TEST(Route, AnInterruptIsForgotten) {
  Origin origin;
  for (int round = 0; round < 50; ++round) {
    origin.native_ns = Origin::kAttentiveNs;
    origin.complete(2000);
    EXPECT_TRUE(origin.goes_natively());
    origin.native_ns = 3'000'000;
    origin.complete(1);
  }
  EXPECT_GE(origin.native, 50 * 1900);
}

TEST(Route, WorkIsWhatIsCompared) {
  Route::Config config;
  Route route(config);
  for (int i = 0; i < 100 && !route.native(); ++i) {
    const bool trial = route.trial_due();
    route.by_ghost({30'000, 1});
    if (trial) route.tried(true);
  }
  ASSERT_TRUE(route.native());
  for (int i = 0; i < 100; ++i) route.natively({300'000, 30});
  EXPECT_TRUE(route.native()) << "thirty operations, each sooner than the ghost's";
}

}  // namespace
}  // namespace hob::ghost
