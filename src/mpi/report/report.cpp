#include "mpi/report/report.hpp"

#include <fmt/format.h>
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
#include "mpi/rma/window.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

/// Ended windows whose details are kept; of later ones only the counters.
constexpr std::size_t kMaxWindows = 256;

struct Ended {
  std::mutex lock;
  report::Counters counters;
  std::vector<report::WindowFacts> windows;
  std::uint64_t count = 0;
};

Ended& ended() {
  static auto* the = new Ended;
  return *the;
}

std::vector<ReportPart>& parts() {
  static auto* the = new std::vector<ReportPart>;
  return *the;
}

report::Counters window_counters(const Window& window) {
  using report::Counter;
  report::Counters c;
  c[Counter::puts] = window.puts;
  c[Counter::accumulates] = window.accumulates;
  c[Counter::atomics] = window.atomics;
  if (!window.cached) {
    c[Counter::gets] = c[Counter::native_gets] = window.uncached_gets;
    return c;
  }
  const GetStats& gets = window.cached->stats();
  const cache::Stats& cache = window.cached->cache().stats();
  c[Counter::gets] = gets.gets + gets.left_alone;
  c[Counter::native_gets] = gets.native_gets + gets.left_alone;
  c[Counter::hits_full] = cache.hits_full;
  c[Counter::hits_partial] = cache.hits_partial;
  c[Counter::hits_pending] = cache.hits_pending;
  c[Counter::hits_contained] = cache.hits_contained;
  c[Counter::direct] = cache.direct;
  c[Counter::conflicting] = cache.conflicting;
  c[Counter::capacity] = cache.capacity;
  c[Counter::failing] = cache.failing;
  c[Counter::bypassed] = gets.bypassed + gets.left_alone;
  c[Counter::uncacheable] = gets.uncacheable;
  c[Counter::bytes_from_cache] = cache.bytes_from_cache;
  c[Counter::bytes_from_network] = cache.bytes_from_network - gets.shared_bytes;
  c[Counter::shared_hits] = gets.shared_hits;
  c[Counter::shared_bytes] = gets.shared_bytes;
  c[Counter::shared_inserts] = gets.shared_inserts;
  c[Counter::evictions] = cache.evictions;
  c[Counter::adjustments] = cache.adjustment_count;
  c[Counter::invalidations] = gets.invalidations;
  c[Counter::own_writes] = gets.own_writes;
  c[Counter::refetches] = gets.refetches;
  c[Counter::refetches_changed] = gets.refetches_changed;
  c[Counter::flushes] = gets.flushes;
  c[Counter::flushes_skipped] = gets.flushes_skipped;
  c[Counter::pokes] = gets.pokes;
  c[Counter::verified] = gets.verified;
  c[Counter::verify_failures] = gets.verify_failures;
  c[Counter::cache_memory] = window.cached->memory_bytes();
  c[Counter::targets] = window.cached->targets();
  return c;
}

report::Histogram histogram(std::string name, std::string unit, const cache::Log2Histogram& from) {
  auto last = from.counts.end();
  while (last != from.counts.begin() && *(last - 1) == 0) --last;
  return {std::move(name), std::move(unit), {from.counts.begin(), last}};
}

report::WindowFacts window_facts(const Window& window) {
  report::WindowFacts facts;
  facts.id = window.id;
  facts.name = window.name;
  facts.kind = name_of(window.kind);
  facts.bytes = window.bytes;
  facts.ranks = window.size;
  facts.counters = window_counters(window);
  if (!window.cached) {
    facts.mode = "off";
    facts.mode_reason = window.why_not_cached;
    return facts;
  }
  facts.mode = name_of(window.cached->mode());
  facts.mode_reason = window.cached->mode_reason();
  facts.failures = window.cached->failures();
  const cache::Stats& stats = window.cached->cache().stats();
  facts.histograms.push_back(histogram("get_size", "B", stats.get_size));
  facts.histograms.push_back(histogram("reuse", "gets", stats.reuse));
  for (const auto& p : stats.occupancy.points())
    facts.occupancy.push_back({p.get, p.used, p.capacity, p.entries, p.slots});
  for (const auto& a : stats.adjustments)
    facts.adaptations.push_back({a.get, a.of_index, a.from, a.to, cache::reason_text(a.reason)});
  return facts;
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
  facts.windows = ended().windows;
  each_window(
      [](Window& window, void* list) {
        static_cast<std::vector<report::WindowFacts>*>(list)->push_back(window_facts(window));
      },
      &facts.windows);
  std::sort(facts.windows.begin(), facts.windows.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const ReportPart& part : parts())
    if (part.name && part.json)
      if (std::string text = part.json(); !text.empty())
        facts.sections.emplace_back(part.name, std::move(text));
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
  {
    const std::lock_guard guard(ended().lock);
    sums = ended().counters;
    sums[report::Counter::windows] = ended().count;
  }
  each_window(
      [](Window& window, void* to) {
        auto& counters = *static_cast<report::Counters*>(to);
        counters.add(window_counters(window));
        ++counters[report::Counter::windows];
      },
      &sums);
  sums[report::Counter::acquires] = acquires.load(std::memory_order_relaxed);
  for (const ReportPart& part : parts())
    if (part.count) part.count(sums);
  return sums;
}

void remember_window(Window& window) {
  Ended& the = ended();
  const std::lock_guard guard(the.lock);
  ++the.count;
  the.counters.add(window_counters(window));
  if (the.windows.size() < kMaxWindows) the.windows.push_back(window_facts(window));
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
