#include "mpi/rma/window_report.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/report/report.hpp"
#include "mpi/rma/window.hpp"

namespace hob::mpi {
namespace {

/// Ended windows whose details are kept; of later ones only the counters.
constexpr std::size_t kMaxWindows = 256;

struct EndedWindows {
  std::mutex lock;
  report::Counters counters;
  std::vector<report::WindowFacts> windows;
  std::uint64_t count = 0;
};

/// Never destroyed: programs may use MPI in their own destructors.
EndedWindows& ended_windows() {
  static auto* ended = new EndedWindows;
  return *ended;
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

void add_counters(report::Counters& sums) {
  EndedWindows& ended = ended_windows();
  {
    const std::lock_guard guard(ended.lock);
    sums.add(ended.counters);
    sums[report::Counter::windows] += ended.count;
  }
  each_window(
      [](Window& window, void* to) {
        auto& counters = *static_cast<report::Counters*>(to);
        counters.add(window_counters(window));
        ++counters[report::Counter::windows];
      },
      &sums);
}

void add_facts(std::vector<report::WindowFacts>& facts) {
  {
    const std::lock_guard guard(ended_windows().lock);
    facts = ended_windows().windows;
  }
  each_window(
      [](Window& window, void* list) {
        static_cast<std::vector<report::WindowFacts>*>(list)->push_back(window_facts(window));
      },
      &facts);
  std::sort(facts.begin(), facts.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
}

}  // namespace

void report_windows() { add_report_part({.count = add_counters, .windows = add_facts}); }

void remember_window(const Window& window) {
  EndedWindows& ended = ended_windows();
  const std::lock_guard guard(ended.lock);
  ++ended.count;
  ended.counters.add(window_counters(window));
  if (ended.windows.size() < kMaxWindows) ended.windows.push_back(window_facts(window));
}

}  // namespace hob::mpi
