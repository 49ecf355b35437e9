// What a job says at its end, from counters as they were added up over its ranks.
#include <gtest/gtest.h>

#include <string>

#include "mpi/core/context.hpp"
#include "mpi/report/registry.hpp"

namespace hob::mpi {
namespace {

std::string summary(const report::Counters& sums) {
  std::string text;
  for (const auto& sentence : summary_sentences(sums)) text += sentence + "\n";
  return text;
}

TEST(Summary, WaitsForTargetsSpeakForGhosts) {
  EXPECT_NE(summary({.values = {{"late_ns", 100'000'000'000}}, .peaks = {}}).find("--ghosts 1"),
            std::string::npos);
}

TEST(Summary, WaitsForTargetsThatHadNoCoreDoNot) {
  const std::string text = summary(
      {.values = {{"late_ns", 100'000'000'000}, {"core_waits_ns", 60'000'000'000}}, .peaks = {}});
  EXPECT_NE(text.find(" s for a core"), std::string::npos) << text;
  EXPECT_EQ(text.find("ghosts"), std::string::npos) << text;
}

TEST(Summary, NoHitIsNoPercentage) {
  const std::string text =
      summary({.values = {{"gets", 2000}, {"native_gets", 2000}}, .peaks = {}});
  EXPECT_NE(text.find("2,000 remote gets, none served from the cache\n"), std::string::npos)
      << text;
}

TEST(Summary, NumbersOfOverlapAreWrittenAsOthers) {
  auto& overlap = context().settings.overlap;
  const auto before = overlap;
  overlap = "message";
  const std::string text = summary(
      {.values = {{"overlap_helped", 1352}, {"overlap_useful", 1266}, {"overlap_polls", 3240}},
       .peaks = {}});
  overlap = before;
  EXPECT_NE(text.find("1,352 phases"), std::string::npos) << text;
  EXPECT_NE(text.find("1,266 of 3,240 polls"), std::string::npos) << text;
}

TEST(Summary, WaitsForCoresAreCountedFromTheStartOfMpi) {
  const int at = find_counter("core_waits_ns");
  ASSERT_GE(at, 0);
  EXPECT_LT(counter_values()[static_cast<std::size_t>(at)], 1'000'000'000'000u);
}

}  // namespace
}  // namespace hob::mpi
