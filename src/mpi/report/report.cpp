#include "mpi/report/report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

std::vector<ReportPart>& parts() {
  static auto* the = new std::vector<ReportPart>;
  return *the;
}

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

report::RankFacts rank_facts() {
  const Context& process = context();
  report::RankFacts facts;
  facts.rank = process.rank;
  facts.host = process.host;
  facts.memory_bytes = resident_bytes();
  facts.counters = process_counters();
  for (const ReportPart& part : parts()) {
    if (part.windows) part.windows(facts.windows);
    if (part.name && part.json)
      if (std::string text = part.json(); !text.empty())
        facts.sections.emplace_back(part.name, std::move(text));
  }
  for (const auto& window : facts.windows) {
    if (!window.mode_reason.empty())
      note(fmt::format("window {} ({}) runs in mode {}: {}", window.id, window.kind, window.mode,
                       window.mode_reason));
    for (const auto& failure : window.failures) note(failure);
  }
  facts.notes = process.notes;
  return facts;
}

report::RunFacts run_facts(int nodes) {
  const Context& process = context();
  report::RunFacts facts;
  facts.version = HOB_VERSION;
  facts.abi = HOB_FAMILY;
  facts.mpi = process.mpi_version;
  facts.command = command_line();
  facts.ranks = process.size;
  facts.nodes = nodes;
  facts.started = process.started;
  facts.seconds = seconds_since_epoch() - process.started;
  for (const auto& row : settings::table())
    facts.settings.push_back({std::string(row.key), process.settings.value(row.key),
                              std::string(name_of(process.settings.origin(row.key)))});
  return facts;
}

/// Every rank's text at rank 0 of Hob's communicator; there only.
std::vector<std::string> gather(const std::string& text) {
  const Context& process = context();
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(process.rank == 0 ? static_cast<std::size_t>(process.size) : 0),
      starts(lengths.size());
  real::Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, process.comm);
  int total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    starts[i] = total;
    total += lengths[i];
  }
  std::string all(static_cast<std::size_t>(total), '\0');
  real::Gatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR,
                0, process.comm);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < lengths.size(); ++i)
    texts.push_back(
        all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(lengths[i])));
  return texts;
}

void save(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) std::fprintf(stderr, "hob: cannot write '%s' (setting json)\n", path.c_str());
}

/// Notes of all ranks as one text per rank, a line each.
std::string joined(const std::vector<std::string>& notes) {
  std::string text;
  for (const auto& n : notes) text += n + '\n';
  return text;
}

std::vector<std::string> distinct_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  std::set<std::string> seen;
  for (const auto& text : texts)
    for (std::size_t start = 0; start < text.size();) {
      const std::size_t end = text.find('\n', start);
      if (std::string line = text.substr(start, end - start); seen.insert(line).second)
        lines.push_back(std::move(line));
      start = end + 1;
    }
  return lines;
}

void report_world(const report::RankFacts& facts) {
  const Context& process = context();
  const bool json = !process.settings.json.empty();
  const bool summary = process.settings.report == "summary";
  if (!json && !summary) return;
  report::Counters sums;
  real::Reduce(facts.counters.values.data(), sums.values.data(),
               static_cast<int>(report::counter_count), MPI_UINT64_T, MPI_SUM, 0, process.comm);
  const auto hosts = gather(process.host + '\n');
  const auto notes = distinct_lines(gather(joined(facts.notes)));
  const auto run = run_facts(static_cast<int>(distinct_lines(hosts).size()));
  if (json) {
    const auto ranks = gather(report::rank_json(facts));
    if (process.rank == 0) save(process.settings.json, report::run_json(run, ranks));
  }
  if (summary && process.rank == 0) {
    std::fputs(report::summary(run, sums, {}, notes).c_str(), stderr);
    if (json)
      std::fprintf(stderr, "hob: the details are in %s (hob report makes a page of it)\n",
                   process.settings.json.c_str());
    std::fflush(stderr);
  }
}

/// Without MPI_Init there is no communicator that all processes are sure to join: each one speaks
/// for itself.
void report_alone(report::RankFacts facts) {
  const Context& process = context();
  report::RunFacts run = run_facts(1);
  run.ranks = 1;
  if (!process.settings.json.empty())
    save(process.rank == 0 ? process.settings.json
                           : fmt::format("{}.{}", process.settings.json, process.rank),
         report::run_json(run, {report::rank_json(facts)}));
  if (process.settings.report == "summary" && process.rank == 0) {
    facts.notes.insert(facts.notes.begin(),
                       "this program uses sessions only: the numbers are those of one process");
    std::fputs(report::summary(run, facts.counters, {}, facts.notes).c_str(), stderr);
  }
}

}  // namespace

report::Counters process_counters() {
  report::Counters sums;
  sums[report::Counter::acquires] = acquires.load(std::memory_order_relaxed);
  for (const ReportPart& part : parts())
    if (part.count) part.count(sums);
  return sums;
}

void add_report_part(const ReportPart& part) { parts().push_back(part); }

void write_reports() {
  const report::RankFacts facts = rank_facts();
  if (context().world)
    report_world(facts);
  else
    report_alone(facts);
}

}  // namespace hob::mpi
