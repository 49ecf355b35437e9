// hob-replay: recorded or generated gets against cache policies and sizes.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "generate.hpp"
#include "simulate.hpp"

namespace hob::replay {
namespace {

using Json = nlohmann::ordered_json;
using report::TraceRecord;

struct Options {
  std::vector<std::string> files;
  std::string policies = "all";
  std::string sizes = "5%,10%,25%,50%";
  std::string suite;
  std::string generate;
  std::string out;
  std::string json;
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  std::uint64_t sample = 16;
  std::uint64_t block = 0;
  std::uint64_t index = 0;
  std::string readahead = "auto";
  bool recall = false;
  Latency latency;

  /// Of every policy but the paper's.
  Ahead ahead() const {
    if (readahead == "off") return {.recall = recall};
    return {true, readahead == "auto" ? 0 : std::stoull(readahead), recall};
  }
};

struct Subject {
  std::string name;
  std::vector<TraceRecord> records;
};

/// A budget as the user wrote it.
struct Budget {
  std::string text;
  double value = 0;
  bool percent = false;

  std::uint64_t bytes(const Shape& shape) const {
    return static_cast<std::uint64_t>(
        percent ? value / 100 * static_cast<double>(shape.footprint_bytes) : value);
  }
};

[[noreturn]] void fail(const std::string& what) {
  fmt::print(stderr, "hob replay: {}\n", what);
  std::exit(2);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + ",") {
    if (c != ',') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

std::vector<Budget> parse_budgets(const std::string& text) {
  std::vector<Budget> budgets;
  for (const std::string& word : split(text)) {
    std::size_t used = 0;
    Budget budget{word};
    try {
      budget.value = std::stod(word, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    const std::string unit = word.substr(used);
    const std::size_t power = std::string("KMGT").find(unit.empty() ? 'x' : unit[0]);
    if (unit == "%")
      budget.percent = true;
    else if (unit.size() == 1 && power != std::string::npos)
      budget.value *= std::pow(1024.0, static_cast<double>(power + 1));
    else if (!unit.empty())
      used = 0;
    // More than 1 PiB: no machine, and no whole number either before long.
    if (used == 0 || !(budget.value > 0) || budget.value > 0x1p50)
      fail(fmt::format(
          "--size {}: not a size; write bytes, 64K, 4M, 1G, or per cent of the footprint as 25%",
          word));
    budgets.push_back(budget);
  }
  if (budgets.empty()) fail("--size: nothing given");
  return budgets;
}

std::vector<std::string> parse_policies(const std::string& text) {
  std::vector<std::string> known(cache::kPolicyNames.begin(), cache::kPolicyNames.end());
  known.emplace_back("block");
  if (text == "all") return known;
  std::vector<std::string> policies = split(text);
  for (const std::string& name : policies)
    if (std::find(known.begin(), known.end(), name) == known.end())
      fail(fmt::format("--policy {}: unknown; known are all, {}", name, fmt::join(known, ", ")));
  return policies;
}

const std::vector<Family>& suite_named(const std::string& name) {
  if (name == "choosing") return choosing_suite();
  if (name == "judging") return judging_suite();
  fail(fmt::format("--suite {}: unknown; known are choosing, judging", name));
}

const Family& family_named(const std::string& name) {
  std::vector<std::string_view> known;
  for (const auto* suite : {&choosing_suite(), &judging_suite()})
    for (const Family& family : *suite) {
      if (family.name == name) return family;
      known.push_back(family.name);
    }
  fail(fmt::format("--generate {}: unknown; known are {}", name, fmt::join(known, ", ")));
}

int write_trace(const Options& options) {
  if (options.out.empty()) fail("--generate needs --out FILE");
  report::TraceWriter writer;
  if (!writer.open(options.out.c_str(), 0, 1)) fail(options.out + ": cannot be written");
  for (const TraceRecord& record : family_named(options.generate).make(options.seed))
    writer.add(record);
  if (!writer.close()) fail(options.out + ": not all of it could be written");
  return 0;
}

/// The files; for a directory that HOB_TRACE named, the traces in it.
std::vector<std::string> traces_of(const std::vector<std::string>& words) {
  std::vector<std::string> files;
  for (const std::string& word : words) {
    if (!std::filesystem::is_directory(word)) {
      files.push_back(word);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(word))
      if (entry.path().extension() == ".trace") files.push_back(entry.path().string());
    if (files.size() == before) fail(word + ": no trace (rank-*.trace) in this directory");
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
  }
  return files;
}

std::vector<Subject> subjects_of(const Options& options) {
  std::vector<Subject> subjects;
  for (const std::string& file : traces_of(options.files)) {
    report::Trace trace;
    std::string error;
    if (!report::read_trace(file.c_str(), trace, error)) fail(error);
    subjects.push_back({file, std::move(trace.records)});
  }
  if (!options.suite.empty())
    for (const Family& family : suite_named(options.suite))
      for (std::uint64_t s = 0; s < options.seeds; ++s)
        subjects.push_back({options.seeds == 1
                                ? std::string(family.name)
                                : fmt::format("{}#{}", family.name, options.seed + s),
                            family.make(options.seed + s)});
  if (subjects.empty()) fail("nothing to replay: give trace files, or --suite");
  return subjects;
}

Outcome outcome_of(const std::string& policy, const Subject& subject, std::uint64_t bytes,
                   const Options& options) {
  if (policy == "bound") return bound(subject.records, bytes, options.latency);
  if (policy == "block-bound")
    return options.block == 0
               ? bound_of_best_blocks(subject.records, bytes, options.latency)
               : bound_of_blocks(subject.records, options.block, bytes, options.latency);
  if (policy == "block")
    return options.block == 0
               ? replay_best_blocks(subject.records, bytes, options.latency)
               : replay_blocks(subject.records, options.block, bytes, options.latency);
  cache::Config config;
  config.policy = *cache::parse_policy(policy);
  config.sample = static_cast<std::uint32_t>(options.sample);
  const bool of_paper = config.policy == cache::Policy::paper ||
                        config.policy == cache::Policy::temporal ||
                        config.policy == cache::Policy::positional;
  if (options.index != 0)
    return replay_indexed(subject.records, config, bytes, options.index, options.latency);
  return of_paper ? replay_tuned(subject.records, config, bytes, options.latency)
                  : replay(subject.records, config, bytes, options.latency, options.ahead());
}

/// Default against the paper's policy, over all cells where they differ.
struct Comparison {
  std::uint64_t cells = 0;
  std::uint64_t ahead = 0;
  double worst = 0;  ///< points that the default is behind, at most

  void add(double ours, double papers) {
    ++cells;
    ahead += ours > papers ? 1 : 0;
    worst = std::max(worst, 100 * (papers - ours));
  }
  double share() const {
    return cells == 0 ? 0 : static_cast<double>(ahead) / static_cast<double>(cells);
  }
};

std::string machine() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line))
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return fmt::format("{}, {} threads", line.substr(line.find(": ") + 2),
                         std::thread::hardware_concurrency());
  return fmt::format("{} threads", std::thread::hardware_concurrency());
}

int replay_all(const Options& options) {
  const std::vector<Budget> budgets = parse_budgets(options.sizes);
  std::vector<std::string> policies = parse_policies(options.policies);
  policies.insert(policies.end(), {"bound", "block-bound"});
  const std::vector<Subject> subjects = subjects_of(options);

  fmt::print(
      "network time saved, per cent (get = {} us + bytes / {} GB/s); bound: best possible "
      "offline, keeping single gets; block-bound: keeping blocks of one size\n",
      options.latency.fixed_us, options.latency.bytes_per_us / 1000);
  fmt::print("{:<16} {:>7} {:>9} {:>6}", "trace", "gets", "footprint", "budget");
  for (const std::string& policy : policies) fmt::print(" {:>11}", policy);
  fmt::print("\n");

  Json rows = Json::array();
  Comparison comparison;
  for (const Subject& subject : subjects) {
    const Shape shape = shape_of(subject.records);
    if (shape.gets == 0) {
      fmt::print("{:<16} no gets\n", subject.name);
      continue;
    }
    for (const Budget& budget : budgets) {
      const std::uint64_t bytes = std::max<std::uint64_t>(64, budget.bytes(shape));
      fmt::print("{:<16} {:>7} {:>8}K {:>6}", subject.name, shape.gets,
                 shape.footprint_bytes / 1024, budget.text);
      double ours = -1;
      double papers = -1;
      for (const std::string& policy : policies) {
        const Outcome outcome = outcome_of(policy, subject, bytes, options);
        fmt::print(" {:>11.1f}", 100 * outcome.saved());
        std::fflush(stdout);
        if (policy == "default") ours = outcome.saved();
        if (policy == "paper") papers = outcome.saved();
        rows.push_back({{"trace", subject.name},
                        {"gets", shape.gets},
                        {"distinct", shape.distinct},
                        {"footprint_bytes", shape.footprint_bytes},
                        {"budget", budget.text},
                        {"budget_bytes", bytes},
                        {"policy", policy},
                        {"index_slots", outcome.slots},
                        {"hit_ratio", outcome.hit_ratio()},
                        {"occupied", outcome.occupied()},
                        {"visited_per_victim", outcome.visits()},
                        {"visited_empty", outcome.empty()},
                        {"trips", outcome.trips},
                        {"bytes", outcome.bytes},
                        {"ahead_bytes", outcome.ahead_bytes},
                        {"ahead_used_bytes", outcome.ahead_used_bytes},
                        {"recalled", outcome.recalled},
                        {"recall_used", outcome.recall_used},
                        {"network_us", outcome.network_us},
                        {"native_us", outcome.native_us},
                        {"time_saved", outcome.saved()}});
      }
      fmt::print("\n");
      if (ours >= 0 && papers >= 0) comparison.add(ours, papers);
    }
  }

  Json limits = Json::array();
  bool ok = true;
  if (comparison.cells > 0) {
    const bool enough = comparison.share() >= 0.85;
    const bool near = comparison.worst <= 5;
    ok = enough && near;
    limits.push_back({{"name", "cells where the default is ahead of the paper's policy"},
                      {"value", comparison.share()},
                      {"limit", 0.85},
                      {"ok", enough}});
    limits.push_back({{"name", "points that the default is behind the paper's policy, at most"},
                      {"value", comparison.worst},
                      {"limit", 5.0},
                      {"ok", near}});
    fmt::print(
        "default ahead of paper in {} of {} cells ({:.0f}%, at least 85%), behind by at most "
        "{:.1f} points (at most 5)\n",
        comparison.ahead, comparison.cells, 100 * comparison.share(), comparison.worst);
  }
  if (!options.json.empty()) {
    std::ofstream file(options.json);
    file << Json{{"bench", "replay"}, {"machine", machine()}, {"rows", rows}, {"limits", limits}}
                .dump(1)
         << "\n";
    if (!file.flush()) fail(options.json + ": cannot be written");
  }
  return ok || options.suite != "judging" ? 0 : 1;
}

int list_families() {
  for (const auto* suite : {&choosing_suite(), &judging_suite()})
    for (const Family& family : *suite)
      fmt::print("{:<9} {:<11} {}\n", suite == &choosing_suite() ? "choosing" : "judging",
                 family.name, family.what);
  return 0;
}

int run(int argc, char** argv) {
  Options options;
  double gigabytes = options.latency.bytes_per_us / 1000;
  bool list = false;
  CLI::App app{"Replays recorded gets (HOB_TRACE=DIR) against cache policies and sizes.",
               "hob replay"};
  app.add_option("TRACE", options.files, "trace files, or the directories they were recorded in");
  app.add_option(
         "--policy", options.policies,
         "policies, comma separated, or all: default, paper, temporal, positional, lru, sieve, "
         "s3fifo, block")
      ->capture_default_str();
  app.add_option("--size", options.sizes,
                 "budgets |S_w|: 64K, 4M, 1G, or per cent of the footprint")
      ->capture_default_str();
  app.add_option("--suite", options.suite,
                 "generated traces: choosing (for choosing defaults) or judging (kept apart)");
  app.add_option("--seed", options.seed, "of generated traces")->capture_default_str();
  app.add_option("--seeds", options.seeds, "traces of each family")->capture_default_str();
  app.add_option("--generate", options.generate, "write one generated trace to --out and stop");
  app.add_option("--out", options.out, "file for --generate");
  app.add_flag("--list", list, "list what can be generated and stop");
  app.add_option("--latency-us", options.latency.fixed_us, "fixed cost of a get in microseconds")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--bandwidth", gigabytes, "GB/s of the network")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--sample", options.sample, "M, entries looked at for a victim")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_option("--index", options.index,
                 "slots of each window's index, and nothing is fetched ahead; 0: enough of them, "
                 "for the paper's policies the best of four sizes")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 30));
  app.add_option("--block", options.block,
                 "bytes of a block of the policy block; 0: the best of 256 to 1M for each budget")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 30));
  app.add_option(
         "--readahead", options.readahead,
         "auto, off, or bytes of a block: what policies other than the paper's fetch around "
         "a miss")
      ->capture_default_str()
      ->check([](const std::string& word) {
        const bool known = word == "auto" || word == "off" ||
                           (!word.empty() && word.size() < 9 &&
                            word.find_first_not_of("0123456789") == std::string::npos);
        return known ? std::string() : "auto, off, or a number of bytes";
      });
  app.add_flag("--recall", options.recall,
               "such policies also fetch again what phases read before (setting recall)");
  app.add_option("--json", options.json, "write rows and limits there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    fmt::print(stderr, "hob replay: {}\n", error.what());
    return 2;
  }
  options.latency.bytes_per_us = 1000 * gigabytes;
  if (list) return list_families();
  return options.generate.empty() ? replay_all(options) : write_trace(options);
}

}  // namespace
}  // namespace hob::replay

int main(int argc, char** argv) {
  try {
    return hob::replay::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr,
                 "hob replay: not enough memory for caches of these sizes or for this trace\n");
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hob replay: %s\n", error.what());
    return 1;
  }
}
