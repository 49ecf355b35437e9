// The queues of every communicator in the report.
#include "mpi/p2p/report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "match/meters.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/gate.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/report/registry.hpp"
#include "report/report.hpp"

namespace hob::mpi::p2p {
namespace {

using nlohmann::ordered_json;

/// Ended communicators that are told of one by one; later ones are summed up.
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

/// Never destroyed: communicators may end after everything else.
Ended& ended() {
  static auto* all = new Ended;
  return *all;
}

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

ordered_json json_of(const match::Log2Histogram& histogram) {
  std::size_t size = histogram.counts.size();
  while (size != 0 && histogram.counts[size - 1] == 0) --size;
  return {{"unit", "entries"},
          {"scale", "log2"},
          {"counts", std::vector(histogram.counts.begin(),
                                 histogram.counts.begin() + static_cast<std::ptrdiff_t>(size))}};
}

/// Ticks of one step of a search in a queue of the library's that grew so long. The entries of long
/// ones lie neither in order nor at random, and only a part of them is passed again and again:
/// between both, for half of the length. The gate is held.
double long_step(std::uint64_t longest) {
  constexpr int kShortest = 9, kLongest = 14;  // log2; MatchCosts knows shorter ones
  static std::array<double, kLongest + 1> measured{};
  const double step = takeover().costs.step;
  const int doublings = std::min(static_cast<int>(std::bit_width(longest / 2)) - 1, kLongest);
  if (doublings <= kShortest) return step;
  double& scattered = measured[static_cast<std::size_t>(doublings)];
  if (scattered == 0) try {
      scattered =
          match::measure_scattered_list_step(std::size_t{1} << doublings) * ticks_per_nanosecond();
    } catch (const std::bad_alloc&) {
      scattered = step;  // less is told
    }
  return std::max(step, std::sqrt(step * scattered));
}

/// Nanoseconds that the library's searches would have taken, had it matched these messages, less
/// what dequeuing them took; both as measured in this process. The gate is held.
std::uint64_t saved_nanoseconds(const match::QueueStats& stats) {
  const auto entries = static_cast<double>(stats.counters.passed + stats.arrived.depth_sum);
  if (entries == 0) return 0;
  const double saved =
      entries * long_step(std::max(stats.counters.longest, stats.arrived.max_length)) -
      static_cast<double>(stats.counters.dequeued) * takeover().costs.dequeue;
  return saved <= 0 ? 0 : nanoseconds_in(saved);
}

ordered_json json_of(const Queues& q) {
  const match::QueueCounters& c = q.stats.counters;
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
            {"saved_ns", saved_nanoseconds(q.stats)},
            {"emptied", c.emptied},
            {"cancelled", q.stats.posted.withdrawn},
            {"prq_max", c.longest},
            {"umq_max", q.stats.arrived.max_length},
            {"prq_depth_sum", q.stats.posted.depth_sum},
            {"umq_depth_sum", q.stats.arrived.depth_sum},
            {"prq_missed", q.stats.posted.missed},
            {"umq_missed", q.stats.arrived.missed}}},
          {"histograms",
           {{"prq_length", json_of(q.stats.posted.length)},
            {"umq_length", json_of(q.stats.arrived.length)},
            {"prq_depth", json_of(q.stats.posted.depth)},
            {"umq_depth", json_of(q.stats.arrived.depth)}}}};
}

/// All communicators that were used, ended ones too. The gate is held.
std::vector<Queues> all_queues() {
  settle_express();
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
     saved_nanoseconds},
});
constexpr auto kCounterInfos = report::infos_of(kCounters);

void count(std::span<std::uint64_t> values) {
  const std::lock_guard guard(gate);
  for (const Queues& queues : all_queues()) report::add_values(kCounters, queues.stats, values);
}

std::vector<std::string> verdicts(const report::Counters& sums) {
  constexpr std::string_view name = "match_saved_ns";
  return saved_sentence(sums, {name, name, name}, "searches of long queues");
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
      // It is told with the others.
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
