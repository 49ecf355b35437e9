#include "mpi/report/run_context.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/report/registry.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0, resident = 0;
  file >> total >> resident;
  return resident * os::page_bytes();
}

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string allowed_cpus() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view key = "Cpus_allowed_list:";
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(key)) return line.substr(line.find_first_not_of(" \t", key.size()));
  return {};
}

std::string job_number() {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "JOB_ID"})
    if (const char* value = std::getenv(name)) return value;
  return {};
}

}  // namespace

report::Counters named(const std::vector<std::uint64_t>& values) {
  report::Counters counters;
  const auto infos = all_counters();
  for (std::size_t i = 0; i < values.size(); ++i)
    counters.values.push_back({infos[i].name, values[i]});
  return counters;
}

report::RankReport rank_report(const std::vector<std::uint64_t>& values, bool sections) {
  const Context& process = context();
  report::RankReport result;
  result.rank = process.rank;
  result.host = process.host;
  result.memory_bytes = resident_bytes();
  result.cpus = allowed_cpus();
  result.counters = named(values);
  for (const ReportPart& part : report_parts()) {
    if (!sections || !part.section) continue;
    auto section = part.section();
    if (!section.is_null()) result.sections.emplace_back(part.name, std::move(section));
  }
  result.notes = all_notes();
  return result;
}

report::RunContext run_context(int nodes) {
  const Context& process = context();
  report::RunContext result;
  result.version = HOB_VERSION;
  result.abi = HOB_FAMILY;
  result.mpi = process.mpi_version;
  result.job = job_number();
  result.many_threads = many_threads;
  if (process.settings.json_command) result.command = command_line();
  result.ranks = process.size;
  result.nodes = nodes;
  result.started = process.started;
  result.seconds = seconds_since_epoch() - process.started;
  for (const auto& row : settings::table())
    result.settings.push_back({std::string(row.key), process.settings.value(row.key),
                               std::string(name_of(process.settings.source(row.key)))});
  return result;
}

bool save_json(const std::string& path, const std::string& text) {
  const std::string error = report::save(path, text);
  if (!error.empty())
    std::fprintf(stderr, "hob: cannot write '%s' (setting json): %s\n", path.c_str(),
                 error.c_str());
  return error.empty();
}

}  // namespace hob::mpi
