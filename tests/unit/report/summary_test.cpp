#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "report/report.hpp"

namespace hob::report {
namespace {

struct Queue {
  std::uint64_t receives;
};
constexpr auto kRows = std::to_array<CounterRow<Queue>>({
    {{"receives", "receives", "Receives."}, [](const Queue& q) { return q.receives; }},
    {{"twice", "receives", "Twice that.", Kind::level},
     [](const Queue& q) { return 2 * q.receives; }},
});

TEST(Text, TimesNeedNoExponent) {
  EXPECT_EQ(time_text(5e6), "5 ms");
  EXPECT_EQ(time_text(0.9999e9), "1 s");
  EXPECT_EQ(time_text(119e9), "119 s");
  EXPECT_EQ(time_text(6450e9), "108 min");
  EXPECT_EQ(time_text(3600e9 * 12'345), "12,345 h");
}

TEST(Counters, OneRowIsNameAndValue) {
  const Counters counters = counters_of(kRows, Queue{21});
  EXPECT_EQ(counters["receives"], 21u);
  EXPECT_EQ(counters["twice"], 42u);
  EXPECT_EQ(counters["thrice"], 0u);
  EXPECT_EQ(infos_of(kRows)[1].kind, Kind::level);
  std::array<std::uint64_t, 2> sums{1, 1};
  add_values(kRows, Queue{5}, sums);
  EXPECT_EQ(sums, (std::array<std::uint64_t, 2>{6, 11}));
  EXPECT_EQ(counters_json(counters).dump(), R"({"receives":21,"twice":42})");
}

TEST(Summary, SaysThatThereWasNothingToDo) {
  RunContext run;
  run.ranks = 2;
  EXPECT_EQ(summary(run, {}, {}), "hob: 2 ranks, 0.0 s, nothing for Hob to do\n");
}

TEST(Summary, IsWhatThePartsSayAndThenNotes) {
  EXPECT_EQ(summary({}, {"a", "b"}, {"c"}), "hob: a\nhob: b\nhob: c\n");
}

TEST(RunJson, NodesThatAreOneMachineAreToldApart) {
  RunContext run;
  run.nodes = 1;
  EXPECT_FALSE(nlohmann::json::parse(run_json(run, {}))["program"].contains("pretended_nodes"));
  run.pretended_nodes = 4;
  EXPECT_EQ(nlohmann::json::parse(run_json(run, {}))["program"]["pretended_nodes"], 4);
}

TEST(RankJson, NamesThatAreNotUtf8LoseNothingElse) {
  RankReport report;
  report.sections.emplace_back("queues", nlohmann::ordered_json{{"comm", "caf\xe9"}, {"held", 3}});
  const auto json = nlohmann::json::parse(run_json({}, {rank_json(report)}));
  EXPECT_EQ(json["ranks"][0]["queues"]["held"], 3);
}

class Saving : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hob-report-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string text(const std::string& name) const {
    std::ifstream file(directory_ / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(directory_), {}));
  }

  std::filesystem::path directory_;
};

TEST_F(Saving, ReplacesAFileAndLeavesNothingElse) {
  EXPECT_EQ(save(directory_ / "out.json", "first and long"), "");
  EXPECT_EQ(save(directory_ / "out.json", "second"), "");
  EXPECT_EQ(text("out.json"), "second");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Saving, ALinkIsReplacedAndWhatItNamesStays) {
  EXPECT_EQ(save(directory_ / "there", "old"), "");
  std::filesystem::create_symlink(directory_ / "there", directory_ / "link");
  EXPECT_EQ(save(directory_ / "link", "new"), "");
  EXPECT_EQ(text("there"), "old");
  EXPECT_EQ(text("link"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(directory_ / "link"));
}

TEST_F(Saving, WhatCannotBeWrittenIsKnownBefore) {
  EXPECT_EQ(why_not_writable(directory_ / "new.json"), "");
  EXPECT_EQ(why_not_writable("/dev/null"), "");
  EXPECT_NE(why_not_writable("/nonexistent/out.json"), "");
  EXPECT_NE(why_not_writable(directory_), "");
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(Saving, AFileOfSomebodyElseStays) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  EXPECT_EQ(save(directory_ / "other", "theirs"), "");
  ASSERT_EQ(chown((directory_ / "other").c_str(), 4321, 4321), 0);
  EXPECT_NE(save(directory_ / "other", "ours"), "");
  EXPECT_NE(why_not_writable(directory_ / "other"), "");
  EXPECT_EQ(text("other"), "theirs");
}

TEST_F(Saving, WhatCannotBeWrittenSaysSoAndLeavesTheOldFile) {
  EXPECT_NE(save("/nonexistent/out.json", "x"), "");
  EXPECT_NE(save("/dev/full", std::string(1 << 20, 'x')), "");
  std::filesystem::create_directory(directory_ / "out.json");
  EXPECT_NE(save(directory_ / "out.json", "x"), "");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Saving, HalfOfAReportIsNotLeftBehind) {
  EXPECT_EQ(save(directory_ / "out.json", "old"), "");
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit little { 1000, before.rlim_max };
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const std::string error = save(directory_ / "out.json", std::string(2000, 'x'));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_NE(error, "");
  EXPECT_EQ(text("out.json"), "old");
  EXPECT_EQ(files(), 1u);
}

TEST(BytesText, HasAUnitThatKeepsTheNumberShort) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(3.0 * (1 << 20)), "3.0 MiB");
  EXPECT_EQ(bytes_text(2048.0 * 1024 * 1024 * 1024 * 1024), "2048.0 TiB");
}

}  // namespace
}  // namespace hob::report
