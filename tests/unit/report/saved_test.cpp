#include "report/saved.hpp"

#include <gtest/gtest.h>

#include "report/counters.hpp"

namespace hob::report {
namespace {

TEST(SavedText, IsOneNumberWhereTheEndsAreClose) {
  EXPECT_EQ(saved_text({.least = 120e6, .usual = 148e6, .most = 170e6}),
            "about 148 ms saved on each rank");
  EXPECT_EQ(saved_text({.least = 5e6, .usual = 5e6, .most = 5e6}), "about 5 ms saved on each rank");
}

TEST(SavedText, IsARangeWhereTheyAreNot) {
  EXPECT_EQ(saved_text({.least = 310e6, .usual = 400e6, .most = 620e6}),
            "310 to 620 ms saved on each rank");
  EXPECT_EQ(saved_text({.least = 310e6, .usual = 400e6, .most = 1.2e9}),
            "310 ms to 1.2 s saved on each rank");
  EXPECT_EQ(saved_text({.least = 5e6, .usual = 5e6, .most = 0}),
            "at least 5 ms saved on each rank");
  EXPECT_EQ(saved_text({.least = 0, .usual = 1e6, .most = 3e6}), "up to 3 ms saved on each rank");
  EXPECT_EQ(
      saved_text({.least = 0, .usual = 1e6, .most = 3e6, .ranks = 2, .rank = 1, .on_rank = 2e6}),
      "up to 3 ms saved on the average rank");
}

TEST(SavedText, NamesTheRankThatGainedMost) {
  Saved saved{.least = 1e9, .usual = 1e9, .most = 1e9, .ranks = 4, .rank = 3, .on_rank = 1.4e9};
  EXPECT_EQ(saved_text(saved), "about 1 s saved on each rank") << "hardly more than the others";
  saved.on_rank = 2e9;
  EXPECT_EQ(saved_text(saved), "about 1 s saved on the average rank (2 s on rank 3)");
  saved.most = 2e9;
  EXPECT_EQ(saved_text(saved), "1 to 2 s saved on the average rank");
  saved.most = 1e9;
  saved.ranks = 1;
  EXPECT_EQ(saved_text(saved), "about 1 s saved on each rank");
}

TEST(Peaks, AreFoundByTheirCountersNames) {
  Counters counters{.values = {{"a", 1}, {"b", 2}}, .peaks = {}};
  EXPECT_EQ(counters.peak("b").rank, -1);
  counters.peaks = {{1, 0}, {2, 7}};
  EXPECT_EQ(counters.peak("b").rank, 7);
  EXPECT_EQ(counters.peak("b").value, 2);
  EXPECT_EQ(counters.peak("c").rank, -1);
}

TEST(Verdicts, TheGreatestGainComesAfterFaults) {
  EXPECT_EQ(texts_of({{"unpriced", 0}, {"hits", 2e6}, {"stale bytes", kWrong}, {"batches", 3e9}}),
            (std::vector<std::string>{"stale bytes", "batches", "hits", "unpriced"}));
}

}  // namespace
}  // namespace hob::report
