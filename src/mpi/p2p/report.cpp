// The queues of every communicator in the report.
#include "mpi/p2p/report.hpp"

#include <fmt/core.h>

#include <array>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "match/meters.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/fast_path.hpp"
#include "mpi/p2p/gate.hpp"
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
using Row = report::CounterRow<match::QueueCounters>;
constexpr auto kCounters = std::to_array<Row>({
    {{"receives", "receives", "Receives that the program posted."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.receives(); }},
    {{"receives_in_prq", "receives",
      "Of these, those that went to Hob's posted-receive queue instead of the MPI library's."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.in_prq; }},
    {{"receives_immediate", "receives",
      "Of these, those that found their message in Hob's unexpected-message queue."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.immediate; }},
    {{"receives_reposted", "receives",
      "Receives of Hob's queue that were posted with the MPI library after all."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.reposted; }},
    {{"receives_reposted_few", "receives",
      "The same, since they were few and the program waited for one."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.reposted_few; }},
    {{"messages_dequeued", "messages",
      "Messages that Hob dequeued from the MPI library and matched itself."},
     [](const match::QueueCounters& c) -> std::uint64_t { return c.dequeued; }},
});
constexpr auto kCounterInfos = report::infos_of(kCounters);

void count(std::span<std::uint64_t> values) {
  const std::lock_guard guard(gate);
  for (const Queues& queues : all_queues())
    report::add_values(kCounters, queues.stats.counters, values);
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
  if (ended().queues.size() < kMaxEnded) {
    ended().queues.push_back(queues);
    return;
  }
  ++ended().others.communicators;
  ended().others.stats.add(queues.stats);
}

void register_queues_report() {
  add_report_part({.counters = kCounterInfos,
                   .count = count,
                   .name = "queues",
                   .section = section,
                   .sentences = sentences});
}

}  // namespace hob::mpi::p2p
