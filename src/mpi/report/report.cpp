#include "mpi/report/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/report/registry.hpp"
#include "mpi/report/run_context.hpp"
#include "report/job_log.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

/// What one rank gives in one round.
constexpr std::size_t kSlice = 16384;  // B

/// Every rank's text, which has no zeros, at rank 0 of Hob's communicator; there only. In rounds of
/// one slice of each, all equally long: no rank has to send the length of its own.
std::vector<std::string> gather(const std::string& text) {
  const Context& process = context();
  const auto ranks = static_cast<std::size_t>(process.size);
  const std::uint64_t bytes = text.size();
  std::uint64_t most = 0;
  real::Allreduce(&bytes, &most, 1, MPI_UINT64_T, MPI_MAX, process.comm);
  std::vector<std::string> texts(process.rank == 0 ? ranks : 0);
  for (std::size_t from = 0; from < most; from += kSlice) {
    const std::size_t length = std::min<std::size_t>(kSlice, most - from);
    std::string own = text.substr(std::min(from, text.size()), length);
    own.resize(length);
    std::string all(texts.size() * length, '\0');
    const int count = static_cast<int>(length);
    real::Gather(own.data(), count, MPI_CHAR, all.data(), count, MPI_CHAR, 0, process.comm);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const char* const part = all.data() + i * length;
      texts[i].append(part, strnlen(part, length));
    }
  }
  return texts;
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

/// The greatest value of each counter and whose it is, at rank 0; of a coupled one the least.
std::vector<report::Counters::Peak> peaks_of(const std::vector<std::uint64_t>& values,
                                             std::span<const report::CounterInfo> infos) {
  const Context& process = context();
  struct Pair {  // as MPI_DOUBLE_INT has it
    double value;
    int rank;
  };
  std::vector<Pair> own(values.size()), greatest(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<double>(values[i]);
    own[i] = {infos[i].coupled ? -value : value, process.rank};
  }
  real::Reduce(own.data(), greatest.data(), static_cast<int>(own.size()), MPI_DOUBLE_INT,
               MPI_MAXLOC, 0, process.comm);
  std::vector<report::Counters::Peak> peaks;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (infos[i].coupled)
      peaks.push_back({-greatest[i].value, -1});
    else
      peaks.push_back({greatest[i].value, greatest[i].rank});
  }
  return peaks;
}

/// What is said of all ranks together, at rank 0. Everything that only one rank has of a coupled
/// counter is left out.
report::Counters summed(const std::vector<std::uint64_t>& values) {
  const Context& process = context();
  std::vector<std::uint64_t> sums(values.size());
  real::Reduce(values.data(), sums.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM,
               0, process.comm);
  const auto infos = all_counters();
  auto peaks = peaks_of(values, infos);
  for (std::size_t i = 0; i < infos.size(); ++i)
    if (infos[i].coupled) sums[i] = static_cast<std::uint64_t>(peaks[i].value * process.size);
  report::Counters all = named(sums);
  all.peaks = std::move(peaks);
  return all;
}

/// For those who run the site. A log that cannot be written to is not the user's to mend.
void log_this_job(const report::RunContext& run, const report::Counters& sums) {
  const Context& process = context();
  const std::string& path = process.settings.job_log;
  if (path.empty() || process.rank != 0) return;
  report::RunContext logged = run;
  if (logged.command.empty()) logged.command = {program_invocation_short_name};
  const std::string error = report::log_job(path, report::job_line(logged, process.host, sums));
  if (!error.empty()) log::line(log::Level::debug, "job_log: cannot write to {}: {}", path, error);
}

void report_world(const report::RankReport& own, const std::vector<std::uint64_t>& values) {
  const Context& process = context();
  const std::string path = output_path(process.settings.json);
  bool json = !path.empty();
  const bool summary = process.settings.report == "summary";
  if (!json && !summary && process.settings.job_log.empty()) return;
  const report::Counters all = summed(values);
  // The first line is the host, marked where the rank is the first of its node.
  constexpr char first = '*';
  auto texts = gather((process.first_on_node ? first + process.host : process.host) + '\n' +
                      joined(own.notes));
  std::set<std::string> hosts;
  int nodes = 0;
  for (std::string& text : texts) {
    const bool marked = text.starts_with(first);
    nodes += marked ? 1 : 0;
    const std::size_t end = text.find('\n');
    hosts.insert(text.substr(marked ? 1 : 0, end - (marked ? 1 : 0)));
    text.erase(0, end + 1);
  }
  const auto notes = distinct_lines(texts);
  auto run = run_context(static_cast<int>(hosts.size()));
  if (nodes > run.nodes) run.pretended_nodes = nodes;
  if (json) {
    const auto ranks = gather(report::rank_json(own));
    if (process.rank == 0) json = save_json(path, report::run_json(run, ranks));
  }
  log_this_job(run, all);
  if (!summary || process.rank != 0) return;
  std::fputs(report::summary(run, summary_sentences(all), notes).c_str(), stderr);
  if (json)
    std::fprintf(stderr, "hob: the details are in %s (hob report makes a page of it)\n",
                 path.c_str());
  std::fflush(stderr);
}

/// Without MPI_Init there is no communicator that all processes are sure to join: each one speaks
/// for itself.
void report_alone(report::RankReport own) {
  const Context& process = context();
  report::RunContext run = run_context(1);
  run.ranks = 1;
  const std::string path = output_path(process.settings.json);
  if (!path.empty())
    save_json(process.rank == 0 ? path : fmt::format("{}.{}", path, process.rank),
              report::run_json(run, {report::rank_json(own)}));
  log_this_job(run, own.counters);
  if (process.settings.report == "summary" && process.rank == 0) {
    own.notes.emplace(own.notes.begin(),
                      "this program uses sessions only: the numbers are those of one process");
    std::fputs(report::summary(run, summary_sentences(own.counters), own.notes).c_str(), stderr);
  }
}

}  // namespace

void write_time_alone() try {
  const std::string path = output_path(context().settings.json);
  if (!path.empty()) save_json(path, report::run_json(run_context(0), {}));
} catch (const std::exception& error) {
  std::fprintf(stderr, "hob: no report: %s\n", error.what());
}

void write_reports() try {
  const std::vector<std::uint64_t> values = counter_values();
  const report::RankReport own = rank_report(values, true);
  if (context().world)
    report_world(own, values);
  else
    report_alone(own);
} catch (const std::exception& error) {
  // Out of memory, or a text in an unforeseen form: the program goes on.
  std::fprintf(stderr, "hob: no report: %s\n", error.what());
}

}  // namespace hob::mpi
