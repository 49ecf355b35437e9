// Windows in the report. Long: one table, a row for each counter.
#include "mpi/rma/window_report.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/lasting.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/registry.hpp"
#include "mpi/rma/direct.hpp"
#include "mpi/rma/incoming.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window.hpp"
#include "os/scheduling.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

using nlohmann::ordered_json;

/// A window's gets through its cache, or, without a cache, nothing but zeros.
const GetStats& gets_of(const Window& window) {
  return window.cached ? window.cached->stats() : lasting<GetStats>();
}
const cache::Stats& cache_of(const Window& window) {
  return window.cached ? window.cached->cache().stats() : lasting<cache::Stats>();
}
/// Null: nothing is fetched ahead.
const Ahead* ahead_of(const Window& window) {
  return window.cached ? window.cached->ahead() : nullptr;
}

BatchStats batches_of(const Window& window) {
  return window.stages.batches() ? window.stages.batches()->stats() : BatchStats{};
}

std::uint64_t locks_skipped(const Window& window) {
  return window.stages.locks() ? window.stages.locks()->skipped() : 0;
}

pay::SavedRange saved_by_hits(const Window& window) {
  return window.cached ? window.cached->saved(locks_skipped(window)) : pay::SavedRange{};
}

/// The counters of a window: name, unit, meaning, and where the value is found.
constexpr auto kWindowCounters = std::to_array<report::CounterRow<Window>>({
    {{"gets", "gets",
      "Gets that the program asked for, MPI_Get_accumulate with MPI_NO_OP included."},
     [](const Window& w) -> std::uint64_t {
       return gets_of(w).gets + w.uncached_gets + w.uncached_own_gets;
     }},
    {{"native_gets", "gets", "Gets given to the MPI library or a ghost, refetches included."},
     [](const Window& w) -> std::uint64_t {
       return gets_of(w).native_gets + w.uncached_gets + w.uncached_own_gets;
     }},
    {{"hits_full", "gets", "Served wholly from the cache."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).hits_full; }},
    {{"hits_partial", "gets", "A prefix was served from the cache, only the tail was fetched."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).hits_partial; }},
    {{"hits_pending", "gets", "Served from a get that was already under way."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).hits_pending; }},
    {{"hits_contained", "gets",
      "Of the hits: served from an entry that starts at another displacement."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).hits_contained; }},
    {{"direct", "gets", "Missing, and kept without evicting anything."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).direct; }},
    {{"conflicting", "gets", "Missing, and kept after evicting an entry in the way in the index."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).conflicting; }},
    {{"capacity", "gets", "Missing, and kept after evicting entries to make room in the storage."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).capacity; }},
    {{"failing", "gets", "Missing, and not kept."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).failing; }},
    {{"bypassed", "gets",
      "Left to the MPI library: the target is as fast as a hit, since its memory is shared, or as "
      "measured."},
     [](const Window& w) -> std::uint64_t {
       return gets_of(w).bypassed + (w.cached || w.near.all() ? w.uncached_gets : 0);
     }},
    {{"short_lived", "gets",
      "Left to the MPI library: what the window kept was dropped before it was asked for again, or "
      "most gets were missing and went out in batches, so that keeping was only tried now and "
      "then."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).short_lived; }},
    {{"not_reused", "gets",
      "Left to the MPI library: large gets, or small ones of bursts, since none of those that were "
      "looked up came back."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).not_reused; }},
    {{"uncacheable", "gets",
      "Left to the MPI library: own memory, MPI_PROC_NULL, nothing to read, atomic reads in mode "
      "auto, or a datatype that is too irregular."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).uncacheable + w.uncached_own_gets; }},
    {{"own_rank", "gets", "Of the uncacheable: from the process's own memory."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).own_rank + w.uncached_own_gets; }},
    {{"device_buffers", "gets", "Of the uncacheable: into an accelerator's memory."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).device_buffers; }},
    {{"bytes_from_cache", "B", "Bytes served from the cache."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).bytes_from_cache; }},
    {{"bytes_from_network", "B", "Bytes asked for that were not in the cache."},
     [](const Window& w) -> std::uint64_t {
       return cache_of(w).bytes_from_network - gets_of(w).shared_bytes;
     }},
    {{"shared_hits", "gets",
      "Missing in the cache, and served from what ranks of this node had fetched."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).shared_hits; }},
    {{"shared_bytes", "B", "Bytes served so."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).shared_bytes; }},
    {{"shared_inserts", "gets", "Fetched, and put where the other ranks of this node find it."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).shared_inserts; }},
    {{"evictions", "entries", "Entries evicted."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).evictions; }},
    {{"adjustments", "changes", "Changes of the index or storage size."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).adjustment_count; }},
    {{"invalidations", "times", "Times that the whole cache was dropped."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).invalidations; }},
    {{"kept", "calls",
      "Collective calls that did not invalidate the bytes fetched from some or all targets, since "
      "no process had written there."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).kept; }},
    {{"kept_hits", "gets", "Of the hits: of bytes fetched before such a call."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).kept_hits; }},
    {{"own_writes", "calls", "Own writes and atomics that dropped what they overlap."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).own_writes; }},
    {{"ahead_gets", "gets", "Gets of blocks: more was fetched than was asked for."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).ahead_gets; }},
    {{"ahead_hits", "gets",
      "Trips spared by fetching ahead: hits on bytes fetched so, the first time that they were "
      "asked for."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).ahead_hits; }},
    {{"ahead_bytes", "B", "Fetched without being asked for."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).ahead_bytes; }},
    {{"ahead_used_bytes", "B", "Of these, asked for later; counted by 64ths of a block."},
     [](const Window& w) -> std::uint64_t { return cache_of(w).ahead_used_bytes; }},
    {{"ahead_refetches", "gets",
      "Mode auto: blocks fetched again since they were old when other bytes of them were first "
      "asked for."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).ahead_refetches; }},
    {{"ahead_changed", "blocks",
      "Of these, blocks that had changed: readahead has ended in this window."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).ahead_changed; }},
    {{"ahead_block", "B",
      "Of a block that is fetched around a miss, at the end; 0: no more than was asked for.",
      report::Kind::level},
     [](const Window& w) -> std::uint64_t {
       const Ahead* const ahead = ahead_of(w);
       return ahead ? ahead->readahead.block_bytes() : 0;
     }},
    {{"ahead_changes", "changes", "Changes of the size of these blocks."},
     [](const Window& w) -> std::uint64_t {
       const Ahead* const ahead = ahead_of(w);
       return ahead ? ahead->block_changes() : 0;
     }},
    {{"recalled", "places",
      "Fetched at the beginning of a phase, since phases like it read them; places that touch "
      "count "
      "as one."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).recalled; }},
    {{"recall_used", "places", "Of these, asked for."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).recall_used; }},
    {{"recall_bytes", "B", "Fetched so."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).recall_bytes; }},
    {{"recall_bytes_unused", "B", "Of these, in places that were not asked for."},
     [](const Window& w) -> std::uint64_t {
       return gets_of(w).recall_bytes - gets_of(w).recall_used_bytes;
     }},
    {{"recall_changed", "places",
      "Mode auto: places that were old when first asked for, and had changed: nothing is recalled "
      "in this window any more."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).recall_changed; }},
    {{"refetches", "gets", "Mode auto: hits fetched again to see whether they changed."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).refetches; }},
    {{"refetches_changed", "gets", "Of these, bytes that had changed."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).refetches_changed; }},
    {{"flushes", "calls", "Flush calls of the program."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).flushes + w.flushed.passed(); }},
    {{"flushes_skipped", "calls", "Of these, nothing was outstanding: no call was made."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).flushes_skipped; }},
    {{"locks_skipped", "locks",
      "Shared locks that were not sent, nor their unlock: all gets between were served from the "
      "cache."},
     [](const Window& w) -> std::uint64_t { return locks_skipped(w); }},
    {{"saved_ns", "ns", "Time that hits saved: an estimate from waits measured in this run."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(saved_by_hits(w).usual); }},
    {{"saved_least_ns", "ns", "The same, where waits were as short as the fastest quarter."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(saved_by_hits(w).least); }},
    {{"saved_most_ns", "ns", "The same, where waits were as long as the slowest quarter."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(saved_by_hits(w).most); }},
    {{"unpriced_hits", "gets", "Hits in windows where too few waits were measured to know that."},
     [](const Window& w) -> std::uint64_t {
       return saved_by_hits(w).known ? 0 : cache_of(w).hits_full + cache_of(w).hits_pending;
     }},
    {{"progress_calls", "calls",
      "Times that the MPI library was entered for others' progress between hits."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).progress_calls; }},
    {{"verified", "gets", "Hits that were fetched as well and compared."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).verified; }},
    {{"verify_failures", "gets", "Of these, cached bytes that differed."},
     [](const Window& w) -> std::uint64_t { return gets_of(w).verify_failures; }},
    {{"puts", "calls", "MPI_Put and MPI_Rput."},
     [](const Window& w) -> std::uint64_t { return w.issued.puts; }},
    {{"accumulates", "calls", "MPI_Accumulate and MPI_Raccumulate."},
     [](const Window& w) -> std::uint64_t { return w.issued.accumulates; }},
    {{"atomics", "calls", "MPI_Get_accumulate, MPI_Fetch_and_op, MPI_Compare_and_swap."},
     [](const Window& w) -> std::uint64_t { return w.issued.atomics; }},
    {{"requested", "calls", "Of all operations, those that made a request (MPI_Rput, MPI_Rget)."},
     [](const Window& w) -> std::uint64_t { return w.issued.requested; }},
    {{"batched", "calls", "Small operations that went out in batches."},
     [](const Window& w) -> std::uint64_t { return batches_of(w).operations; }},
    {{"batched_combined", "calls",
      "Of these, part of an earlier one: the same place, and the same result."},
     [](const Window& w) -> std::uint64_t { return batches_of(w).combined; }},
    {{"batches", "calls", "Operations of the MPI library that they became."},
     [](const Window& w) -> std::uint64_t { return batches_of(w).batches; }},
    {{"batches_closed", "calls",
      "Batches that went out early: the next operation had the same place, or another type."},
     [](const Window& w) -> std::uint64_t { return batches_of(w).closed; }},
    {{"batch_saved_ns", "ns",
      "Time that batches saved: an estimate from prices measured in this run (0: none was)."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(batches_of(w).saved.usual); }},
    {{"batch_saved_least_ns", "ns", "The same with the lowest of these prices."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(batches_of(w).saved.least); }},
    {{"batch_saved_most_ns", "ns", "The same with the highest of these prices."},
     [](const Window& w) -> std::uint64_t { return nanoseconds_in(batches_of(w).saved.most); }},
    {{"outstanding_flushes", "calls",
      "Flushes of Hob's own: the MPI library held too many operations."},
     [](const Window& w) -> std::uint64_t { return batches_of(w).completions; }},
    {{"waits", "calls", "Flushes and unlocks that the MPI library or a ghost was asked for."},
     [](const Window& w) -> std::uint64_t { return w.waits.waits(); }},
    {{"late_waits", "calls",
      "Of these, those that took longer than targets which attend, and bytes, take."},
     [](const Window& w) -> std::uint64_t { return w.waits.late_waits(); }},
    {{"late_ns", "ns",
      "Time that they took longer: targets computed, or held a lock. Not counted while long waits "
      "take less than 2% of the time."},
     [](const Window& w) -> std::uint64_t { return w.waits.late_ns(); }},
    {{"cache_memory", "B", "Memory of the cache: data, index, tables.", report::Kind::level},
     [](const Window& w) -> std::uint64_t { return w.cached ? w.cached->memory_bytes() : 0; }},
    {{"targets", "ranks", "Targets for which state is kept.", report::Kind::level},
     [](const Window& w) -> std::uint64_t { return w.cached ? w.cached->targets() : 0; }},
});
constexpr auto kWindowCounterInfos = report::infos_of(kWindowCounters);

/// Ended windows whose details are kept; of later ones only the counters.
constexpr std::size_t kMaxWindows = 256;

/// What one process says about one window.
struct WindowReport {
  int id = 0;
  std::string name;
  const char* kind = "";
  std::uint64_t bytes = 0;  ///< exposed by this process
  int ranks = 0;
  const char* mode = "";
  std::string mode_reason;            ///< why it is another one than was asked for; may be empty
  std::vector<std::string> failures;  ///< of mode verify
  // For the JSON:
  std::vector<std::string> stages;  ///< that its operations may pass, the last one carries them
  report::Counters counters;
  std::optional<cache::Stats> cache;
  std::vector<BlockChange> blocks;  ///< of readahead
  std::vector<recall::PhasePoint> phases;
  std::vector<DropCauses::Row> drops;
};

struct Ended {
  std::mutex lock;
  std::array<std::uint64_t, kWindowCounters.size()> sums{};
  std::vector<WindowReport> windows;
  std::uint64_t count = 0;
};

Ended& ended() { return lasting<Ended>(); }

std::vector<std::string> stages_of(const Window& window) {
  std::vector<std::string> names;
  if (window.cached) names.emplace_back("cache");
  if (window.stages.locks()) names.emplace_back("locks");
  if (window.stages.batches()) names.emplace_back("batches");
  names.emplace_back(window.stages.ghosts() ? "ghosts" : "library");
  return names;
}

/// What it is, without its counters.
WindowReport window_summary(const Window& window) {
  WindowReport result;
  result.id = window.id;
  result.name = window.name;
  result.kind = name_of(window.kind);
  result.bytes = window.bytes;
  result.ranks = window.size;
  if (!window.cached) {
    result.mode = window.near.all() ? "near" : "off";
    result.mode_reason = window.why_not_cached;
    return result;
  }
  result.mode = name_of(window.cached->mode());
  result.mode_reason = window.cached->mode_reason();
  result.failures = window.cached->failures();
  return result;
}

WindowReport window_report(const Window& window) {
  WindowReport result = window_summary(window);
  result.stages = stages_of(window);
  result.counters = report::counters_of(kWindowCounters, window);
  if (!window.cached) return result;
  result.cache = cache_of(window);
  if (const Ahead* const ahead = window.cached->ahead()) result.blocks = ahead->changes;
  if (const RecallGets* const recalls = window.cached->recalls()) result.phases = recalls->phases();
  const auto drops = window.cached->drop_causes().rows();
  result.drops.assign(drops.begin(), drops.end());
  return result;
}

ordered_json series_json(const WindowReport& window) {
  ordered_json occupancy = ordered_json::array(), adaptations = ordered_json::array();
  if (window.cache) {
    for (const auto& p : window.cache->occupancy.points())
      occupancy.push_back({{"get", p.get},
                           {"used", p.used},
                           {"capacity", p.capacity},
                           {"entries", p.entries},
                           {"slots", p.slots}});
    for (const auto& a : window.cache->adjustments)
      adaptations.push_back({{"get", a.get},
                             {"what", a.of_index ? "index" : "storage"},
                             {"from", a.from},
                             {"to", a.to},
                             {"why", cache::reason_text(a.reason)}});
  }
  for (const BlockChange& c : window.blocks)
    adaptations.push_back({{"get", c.get},
                           {"what", "readahead"},
                           {"from", c.from},
                           {"to", c.to},
                           {"why", "what measured trips and bytes say pays"}});
  std::stable_sort(adaptations.begin(), adaptations.end(),
                   [](const auto& a, const auto& b) { return a["get"] < b["get"]; });
  ordered_json series = {{"occupancy", std::move(occupancy)},
                         {"adaptations", std::move(adaptations)}};
  for (const auto& p : window.phases)
    series["phases"].push_back({{"phase", p.phase},
                                {"count", p.count},
                                {"recalled", p.recalled},
                                {"used", p.used},
                                {"missed", p.missed}});
  return series;
}

ordered_json window_json(const WindowReport& window) {
  ordered_json json = {{"id", window.id},
                       {"name", window.name},
                       {"kind", window.kind},
                       {"bytes", window.bytes},
                       {"ranks", window.ranks},
                       {"mode", window.mode},
                       {"mode_reason", window.mode_reason},
                       {"stages", window.stages}};
  json["counters"] = report::counters_json(window.counters);
  ordered_json& histograms = json["histograms"] = ordered_json::object();
  if (window.cache) {
    histograms["get_size"] = report::histogram_json("B", window.cache->get_size);
    histograms["reuse"] = report::histogram_json("gets", window.cache->reuse);
  }
  json["series"] = series_json(window);
  json["drops"] = ordered_json::array();
  for (const DropCauses::Row& row : window.drops)
    json["drops"].push_back({{"call", row.call}, {"times", row.times}, {"bytes", row.bytes}});
  if (!window.failures.empty()) json["failures"] = window.failures;
  return json;
}

void count_windows(std::span<std::uint64_t> values) {
  {
    const std::lock_guard guard(ended().lock);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += ended().sums[i];
  }
  each_window([&](const Window& window) {
    direct::collect(window.handle);
    report::add_values(kWindowCounters, window, values);
  });
}

/// What is unusual about a window.
void note_unusual(const WindowReport& window) {
  if (!window.mode_reason.empty())
    note(fmt::format("window {} ({}) runs in mode {}: {}", window.id, window.kind, window.mode,
                     window.mode_reason));
  for (const auto& failure : window.failures) note(failure);
}

/// A report of each window is for the JSON. Programs make thousands of windows, and most jobs write
/// none.
bool reports_windows() { return !context().settings.json.empty(); }

/// Every window of this process, and notes of what is unusual about one.
ordered_json section() {
  if (!reports_windows()) {
    each_window([](const Window& window) { note_unusual(window_summary(window)); });
    return nullptr;
  }
  std::vector<WindowReport> windows;
  {
    const std::lock_guard guard(ended().lock);
    windows = ended().windows;
  }
  each_window([&](const Window& window) {
    direct::collect(window.handle);
    windows.push_back(window_report(window));
  });
  std::sort(windows.begin(), windows.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  ordered_json list = ordered_json::array();
  for (const auto& window : windows) {
    list.push_back(window_json(window));
    note_unusual(window);
  }
  return list;
}

/// Of the time that a run took: less is not worth an advice.
constexpr double kWorthAdvising = 0.02;

/// Whether waits are those for batches: they are long since a target applies many operations, not
/// since it does not attend.
bool mostly_batched(const report::Counters& sums) {
  const std::uint64_t issued =
      sums["puts"] + sums["accumulates"] + sums["atomics"] + sums["native_gets"];
  return sums["batched"] > issued / 2;
}

/// What waits without ghosts say for them.
std::vector<std::string> late_sentences(const report::Counters& sums) {
  const double late = static_cast<double>(sums["late_ns"]) / ranks_summed();
  const double lived = 1e9 * (seconds_since_epoch() - context().started);
  if (context().settings.ghosts != 0 || mostly_batched(sums) ||
      late < std::max(kWorthReporting, kWorthAdvising * lived))
    return {};
  const double cores = static_cast<double>(sums["core_waits_ns"]) / ranks_summed();
  if (cores >= late / 2)
    return {
        fmt::format("about {} on each rank was waiting for targets, and {} for a core: these "
                    "processes have fewer cores than they want",
                    report::time_text(late), report::time_text(cores))};
  return {fmt::format(
      "about {} on each rank was waiting for targets that computed, held a lock, or had no core: "
      "ghosts may serve them (--ghosts 1)",
      report::time_text(late))};
}

/// At 10 us each they would have saved a millisecond.
constexpr std::uint64_t kHitsWorthReporting = 100;
/// At 1 us each they would have saved a millisecond.
constexpr std::uint64_t kOperationsWorthReporting = 1000;

/// Small operations that went out together, where that is known to have saved nothing to speak of.
std::vector<report::Verdict> batch_verdict(const report::Counters& sums) {
  std::vector<report::Verdict> saved =
      saved_verdict(sums, {"batch_saved_ns", "batch_saved_least_ns", "batch_saved_most_ns"},
                    "small operations that went out together");
  if (saved.empty() && sums["batched"] >= kOperationsWorthReporting && sums["batch_saved_ns"] == 0)
    saved.push_back(
        {fmt::format("{} small operations went out together; what that saved is unknown: no "
                     "price was measured",
                     report::count_text(sums["batched"])),
         0});
  return saved;
}

std::vector<report::Verdict> verdicts(const report::Counters& sums) {
  std::vector<report::Verdict> lines;
  if (sums["verify_failures"] != 0)
    lines.push_back({fmt::format("verify FAILED: {} of {} hits that were compared differed from "
                                 "their targets' memory: results of this run may be wrong",
                                 report::count_text(sums["verify_failures"]),
                                 report::count_text(sums["verified"])),
                     report::kWrong});
  for (const auto& saved : {saved_verdict(sums, {"saved_ns", "saved_least_ns", "saved_most_ns"},
                                          "waits for gets that were served from the cache"),
                            batch_verdict(sums)})
    lines.insert(lines.end(), saved.begin(), saved.end());
  if (const std::uint64_t hits = sums["unpriced_hits"]; hits >= kHitsWorthReporting)
    lines.push_back({fmt::format("{} hits of unknown saving: too few waits were measured",
                                 report::count_text(hits)),
                     0});
  return lines;
}

/// Which gets were not cached, and why.
void add_left_gets(const report::Counters& sums, std::vector<std::string>& lines) {
  const auto add = [&](const char* counter, const char* what, const char* why) {
    if (sums[counter] != 0)
      lines.push_back(
          fmt::format("{} {} not cached: {}", report::count_text(sums[counter]), what, why));
  };
  add("bypassed", "gets", "their targets are as fast as a hit");
  add("own_rank", "gets", "they read the process's own memory");
  add("short_lived", "gets", "copies were dropped before they were asked for again");
  add("not_reused", "gets", "none that was looked up came back");
}

std::vector<std::string> sentences(const report::Counters& sums) {
  std::vector<std::string> lines = late_sentences(sums);
  if (sums["batched"] != 0)
    lines.push_back(fmt::format("{} small operations went out as {}",
                                report::count_text(sums["batched"]),
                                report::count_text(sums["batches"])));
  const std::uint64_t gets = sums["gets"];
  if (gets == 0) return lines;
  const auto number = [&](const char* name) { return report::count_text(sums[name]); };
  const auto bytes = [&](const char* name) {
    return report::bytes_text(static_cast<double>(sums[name]));
  };
  const std::uint64_t near = sums["own_rank"] + sums["bypassed"];
  const std::uint64_t remote = gets - std::min(near, gets);
  const auto percent = [&](std::uint64_t part) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(remote);
  };
  if (remote == 0)
    lines.push_back(fmt::format("none of {} gets was remote{}", report::count_text(gets),
                                context().one_node && context().size > 1
                                    ? " (with MPICH, hob run --remote takes each rank for a node)"
                                    : ""));
  else if (sums["hits_full"] + sums["hits_pending"] + sums["hits_partial"] == 0)
    lines.push_back(
        fmt::format("{} remote gets, none served from the cache", report::count_text(remote)));
  else
    lines.push_back(
        fmt::format("{} remote gets, {:.1f}% served from the cache ({}), {} given to the network",
                    report::count_text(remote), percent(sums["hits_full"] + sums["hits_pending"]),
                    bytes("bytes_from_cache"),
                    report::count_text(sums["native_gets"] - std::min(near, sums["native_gets"]))));
  if (sums["shared_hits"] != 0)
    lines.push_back(fmt::format("{:.1f}% served from what other ranks of the node had fetched ({})",
                                percent(sums["shared_hits"]), bytes("shared_bytes")));
  if (sums["kept_hits"] != 0)
    lines.push_back(fmt::format(
        "{} hits of bytes fetched before a barrier or its like: no process had written them",
        number("kept_hits")));
  if (sums["recalled"] != 0)
    lines.push_back(fmt::format(
        "{} places were fetched before they were asked for, since earlier phases had read them: {} "
        "of them were asked for, {} were not",
        number("recalled"), number("recall_used"), bytes("recall_bytes_unused")));
  if (sums["flushes_skipped"] != 0)
    lines.push_back(fmt::format("{} of {} flushes had nothing to complete",
                                number("flushes_skipped"), number("flushes")));
  add_left_gets(sums, lines);
  if (sums["verified"] != 0 && sums["verify_failures"] == 0)
    lines.push_back(fmt::format("verify: {} hits compared, none differed", number("verified")));
  return lines;
}

/// What is counted of the process as a whole.
struct Process {};
constexpr auto kProcessCounters = std::to_array<report::CounterRow<Process>>({
    {{"windows", "windows", "Windows that the program made."},
     [](const Process&) -> std::uint64_t {
       std::uint64_t windows = 0;
       {
         const std::lock_guard guard(ended().lock);
         windows = ended().count;
       }
       each_window([&](const Window&) { ++windows; });
       return windows;
     }},
    {{"acquires", "times", "Moments at which the process may have learned of others' writes."},
     [](const Process&) -> std::uint64_t {
       return acquires.count.load(std::memory_order_relaxed);
     }},
    {{"validations", "calls",
      "Collective calls in which the members of windows reported to each other who was written "
      "to."},
     [](const Process&) -> std::uint64_t { return validation_costs().reported; }},
    {{"validation_ns", "ns", "Time that this took beyond barriers, whose place it took."},
     [](const Process&) -> std::uint64_t { return validation_costs().nanoseconds; }},
    {{"core_waits_ns", "ns",
      "Time from MPI_Init on that the main thread waited for a core that others had."},
     [](const Process&) -> std::uint64_t {
       const std::uint64_t before = context().core_waits;
       return std::max(os::waited_for_core(::getpid()), before) - before;
     }},
    {{"incoming", "calls",
      "Calls that had the library fill memory of a window, where that would not be seen otherwise "
      "(RDMA adapters)."},
     [](const Process&) -> std::uint64_t { return incoming_fills(); }},
});
constexpr auto kProcessCounterInfos = report::infos_of(kProcessCounters);

void count_process(std::span<std::uint64_t> values) {
  report::add_values(kProcessCounters, Process{}, values);
}

}  // namespace

void remember_window(const Window& window) {
  Ended& all = ended();
  const std::lock_guard guard(all.lock);
  ++all.count;
  report::add_values(kWindowCounters, window, all.sums);
  if (all.count > kMaxWindows) return;
  if (!reports_windows()) return note_unusual(window_summary(window));
  try {
    all.windows.push_back(window_report(window));
  } catch (const std::bad_alloc&) {
    // One window of the report fewer.
  }
}

void register_window_report() {
  add_report_part({.counters = kWindowCounterInfos,
                   .count = count_windows,
                   .name = "windows",
                   .section = section,
                   .verdicts = verdicts,
                   .sentences = sentences});
  add_report_part({.counters = kProcessCounterInfos, .count = count_process});
}

}  // namespace hob::mpi
