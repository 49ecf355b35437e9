// The queues of every communicator in the report.
#include "report/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/lasting.hpp"
#include "match/meters.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/direct_calls.hpp"
#include "mpi/p2p/gate.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/report/registry.hpp"
#include "pay/price_range.hpp"

namespace hob::mpi::p2p {
namespace {

using nlohmann::ordered_json;

/// Ended communicators that are reported one by one; later ones are summed up.
constexpr std::size_t kMaxEnded = 64;

struct Queues {
  std::string name;
  std::uint64_t communicators = 1;
  match::QueueStats stats;
};

struct Ended {
  std::vector<Queues> queues;
  Queues others{.name = "others", .communicators = 0, .stats = {}};
};

Ended& ended() { return lasting<Ended>(); }

Queues queues_of(const Channel& channel) {
  Queues queues;
  if (!channel.gone) {
    char name[MPI_MAX_OBJECT_NAME] = {};
    int length = 0;
    real::Comm_get_name(channel.comm, name, &length);
    queues.name = name;
  }
  if (queues.name.empty()) queues.name = fmt::format("communicator {}", channel.context);
  queues.stats = channel.meters.stats();
  return queues;
}

/// Ticks of one step of a search in a queue of the library's that grew so long. Its entries lie
/// neither in order nor at random, and only a part of them is passed again and again: `least`, as
/// if they lay in order; `most`, of long ones half of them at random. The gate is held.
pay::PriceRange long_step(double longest) {
  constexpr int kShortest = 9, kLongest = 14;  // log2; MatchCosts knows shorter ones
  struct Steps {
    double ordered = 0, scattered = 0;
  };
  static std::array<Steps, kLongest + 1> measured{};
  const double step = takeover().costs.step;
  const int doublings =
      std::clamp(static_cast<int>(std::log2(std::max(longest / 2, 1.0))), kShortest, kLongest);
  Steps& its = measured[static_cast<std::size_t>(doublings)];
  if (its.ordered == 0) try {
      const std::size_t entries = std::size_t{1} << doublings;
      its.ordered = tuning::matching::kStepsPerEntry * match::measure_ordered_list_step(entries) *
                    ticks_per_nanosecond();
      its.scattered = doublings == kShortest
                          ? 0
                          : match::measure_scattered_list_step(entries) * ticks_per_nanosecond();
    } catch (const std::bad_alloc&) {
      its = {step, step};
    }
  const double least = std::min(its.ordered, step);
  const double most = std::max(step, std::sqrt(step * its.scattered));
  // Nearer to order, as libraries take entries from pools: measured on MPICH 5, of 1,024 to 16,384.
  return {least, std::cbrt(least * least * most), most, true};
}

/// Nanoseconds that the library's searches would have taken, had it matched these messages, less
/// what dequeuing them took, with the looks that find nothing; all as measured in this process. The
/// gate is held.
pay::SavedRange saved_by(const match::QueueStats& stats) {
  const auto entries = static_cast<double>(stats.counters.passed + stats.arrived.depth_sum);
  if (entries == 0) return {};
  const pay::PriceRange step =
      long_step(static_cast<double>(std::max(stats.counters.longest, stats.arrived.max_length)));
  const double spent = static_cast<double>(stats.counters.dequeued) *
                       (takeover().costs.dequeue + takeover().vain_poll);
  const auto saved = [&](double each) {
    return std::max(0.0, entries * each - spent) / ticks_per_nanosecond();
  };
  return {saved(step.least), saved(step.usual), saved(step.most), true};
}

std::uint64_t whole_ns(double ns) { return static_cast<std::uint64_t>(ns); }

ordered_json json_of(const Queues& q) {
  const match::QueueCounters& c = q.stats.counters;
  const pay::SavedRange saved = saved_by(q.stats);
  return {{"comm", q.name},
          {"counters",
           {{"communicators", q.communicators},
            {"receives", c.receives()},
            {"watched", q.stats.posted.appended},
            {"native", c.native},
            {"in_prq", c.in_prq},
            {"immediate", c.immediate},
            {"dequeued", c.dequeued},
            {"reposted", c.reposted},
            {"reposted_few", c.reposted_few},
            {"passed", c.passed},
            {"saved_ns", whole_ns(saved.usual)},
            {"saved_least_ns", whole_ns(saved.least)},
            {"saved_most_ns", whole_ns(saved.most)},
            {"emptied", c.emptied},
            {"cancelled", q.stats.posted.withdrawn},
            {"prq_max", c.longest},
            {"umq_max", q.stats.arrived.max_length},
            {"prq_depth_sum", q.stats.posted.depth_sum},
            {"umq_depth_sum", q.stats.arrived.depth_sum},
            {"prq_missed", q.stats.posted.missed},
            {"umq_missed", q.stats.arrived.missed}}},
          {"histograms",
           {{"prq_length", report::histogram_json("entries", q.stats.posted.length)},
            {"umq_length", report::histogram_json("entries", q.stats.arrived.length)},
            {"prq_depth", report::histogram_json("entries", q.stats.posted.depth)},
            {"umq_depth", report::histogram_json("entries", q.stats.arrived.depth)}}}};
}

/// All communicators that were used, ended ones too. The gate is held.
std::vector<Queues> all_queues() {
  settle_fast_path();
  settle_direct_calls();
  std::vector<Queues> all;
  for (const Channel* channel : all_channels()) all.push_back(queues_of(*channel));
  all.insert(all.end(), ended().queues.begin(), ended().queues.end());
  all.push_back(ended().others);
  return all;
}

ordered_json section() {
  const std::lock_guard guard(gate);
  ordered_json list;
  for (const Queues& queues : all_queues())
    if (queues.stats.any()) list.push_back(json_of(queues));
  return list;
}

/// The counters of this process: name, unit, meaning, and where the value is found.
using Row = report::CounterRow<match::QueueStats>;
constexpr auto kCounters = std::to_array<Row>({
    {{"receives", "receives", "Receives that the program posted."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.receives(); }},
    {{"receives_in_prq", "receives",
      "Of these, those that went to Hob's posted-receive queue instead of the MPI library's."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.in_prq; }},
    {{"receives_immediate", "receives",
      "Of these, those that found their message in Hob's unexpected-message queue."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.immediate; }},
    {{"receives_reposted", "receives",
      "Receives of Hob's queue that were posted with the MPI library after all."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.reposted; }},
    {{"receives_reposted_few", "receives",
      "The same, since they were few and the program waited for one."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.reposted_few; }},
    {{"messages_dequeued", "messages",
      "Messages that Hob dequeued from the MPI library and matched itself."},
     [](const match::QueueStats& q) -> std::uint64_t { return q.counters.dequeued; }},
    {{"match_saved_ns", "ns",
      "Time that searches of the MPI library would have taken for these, less what dequeuing took: "
      "an estimate from costs measured in this run."},
     [](const match::QueueStats& q) -> std::uint64_t { return whole_ns(saved_by(q).usual); }},
    {{"match_saved_least_ns", "ns", "The same, if the entries of queues lay in order."},
     [](const match::QueueStats& q) -> std::uint64_t { return whole_ns(saved_by(q).least); }},
    {{"match_saved_most_ns", "ns", "The same, if they lay as far apart as in the list at start."},
     [](const match::QueueStats& q) -> std::uint64_t { return whole_ns(saved_by(q).most); }},
});
constexpr auto kCounterInfos = report::infos_of(kCounters);

void count(std::span<std::uint64_t> values) {
  const std::lock_guard guard(gate);
  for (const Queues& queues : all_queues()) report::add_values(kCounters, queues.stats, values);
}

std::vector<report::Verdict> verdicts(const report::Counters& sums) {
  return saved_verdict(sums, {"match_saved_ns", "match_saved_least_ns", "match_saved_most_ns"},
                       "searches of long queues");
}

std::vector<std::string> sentences(const report::Counters& sums) {
  if (sums["receives_in_prq"] + sums["messages_dequeued"] == 0) return {};
  return {fmt::format("{} of {} receives waited in Hob's queue, {} messages matched there",
                      report::count_text(sums["receives_in_prq"]),
                      report::count_text(sums["receives"]),
                      report::count_text(sums["messages_dequeued"]))};
}

}  // namespace

void remember(const Channel& channel) {
  const Queues queues = queues_of(channel);
  if (!queues.stats.any()) return;
  if (ended().queues.size() < kMaxEnded) try {
      ended().queues.push_back(queues);
      return;
    } catch (const std::bad_alloc&) {
      // It is reported with the others.
    }
  ++ended().others.communicators;
  ended().others.stats.add(queues.stats);
}

void register_queues_report() {
  add_report_part({.counters = kCounterInfos,
                   .count = count,
                   .name = "queues",
                   .section = section,
                   .verdicts = verdicts,
                   .sentences = sentences});
}

}  // namespace hob::mpi::p2p
