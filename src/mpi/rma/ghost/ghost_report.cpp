// What the report says of ghosts.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ghost/advice.hpp"
#include "mpi/core/context.hpp"
#include "mpi/report/registry.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

using nlohmann::ordered_json;

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

// The node's first application rank reports on its ghosts.
bool speaks_for_ghosts(const GhostWorld& world) {
  const ProcessPlace& own = world.ranks[static_cast<std::size_t>(world.rank)];
  const auto first = std::find_if(
      world.ranks.begin(), world.ranks.end(),
      [&](const ProcessPlace& each) { return each.node == own.node && each.ghost < 0; });
  return first->application_rank == own.application_rank;
}

ordered_json json_of(std::size_t number, const GhostStatus& status) {
  const std::uint64_t used =
      std::min<std::uint64_t>((status.ended_ns - status.started_ns) / status.timeline.bucket_ns + 1,
                              ghost::Timeline::kBuckets);
  auto busy_us = ordered_json::array();
  for (std::uint64_t b = 0; b < used; ++b) busy_us.push_back(status.timeline.busy_ns[b] / 1000);
  ordered_json timeline = {{"bucket_us", status.timeline.bucket_ns / 1000},
                           {"busy_us", std::move(busy_us)}};
  return {{"ghost", number},
          {"domain", status.domain},
          {"application_ranks", status.application_ranks},
          {"messages", status.stats.messages},
          {"operations", status.stats.operations},
          {"bytes", status.stats.bytes},
          {"lock_waits", status.stats.lock_waits},
          {"deferred", status.stats.deferred},
          {"transfers", status.stats.transfers},
          {"sleeps", status.sleeps},
          {"lived_ms", milliseconds(status.ended_ns - status.started_ns)},
          {"busy_ms", milliseconds(status.busy_ns)},
          {"cpu_ms", milliseconds(status.cpu_ns)},
          {"timeline", std::move(timeline)}};
}

ordered_json own_json() {
  const GhostHold hold;
  const ghost::Origin::Stats s = ghost_client->origin.stats();
  const auto& fences = ghost_client->fences;
  const std::uint64_t windows = ghost_client->windows, declined = ghost_client->windows_declined;
  return {{"node", ghost_client->world.own_node},
          {"binding", context().settings.ghost_binding},
          {"windows", windows},
          {"windows_declined", declined},
          {"direct", s.direct},
          {"direct_bytes", s.direct_bytes},
          {"through_kernel", s.through_kernel},
          {"redirected", s.redirected},
          {"redirected_bytes", s.redirected_bytes},
          {"messages", s.messages},
          {"split", s.split},
          {"dynamic", s.dynamic},
          {"lock_waits", s.lock_waits},
          {"wait_ms", milliseconds(s.wait_ns)},
          {"outside_window", s.errors},
          {"fences", fences.calls},
          {"fence_completions", fences.completions},
          {"fence_synchronisations", fences.synchronisations},
          {"tokens", ghost_client->messages.sent()},
          {"network_moves", ghost_client->world.network_moves},
          {"native", ghost_client->natively.operations},
          {"native_bytes", ghost_client->natively.bytes},
          {"native_flushes", ghost_client->natively.flushes},
          {"native_trials", ghost_client->natively.trials},
          {"native_trials_won", ghost_client->natively.trials_won}};
}

void note_advice(const GhostWorld& world) {
  ghost::GhostUse use;
  use.host = world.shares_machine ? fmt::format("node {} of {}", world.own_node, context().host)
                                  : context().host;
  {
    const GhostHold hold;
    use.nodes = static_cast<unsigned>(world.ghosts.size());
    use.windows = ghost_client->windows;
    use.direct = ghost_client->origin.stats().direct;
    use.native = ghost_client->natively.operations;
  }
  for (const GhostStatus* status : world.statuses)
    use.ghosts.push_back(
        {status->stats.operations, status->busy_ns, status->ended_ns - status->started_ns});
  for (std::string& sentence : ghost::advice(use)) note(std::move(sentence));
}

ordered_json section() {
  if (!ghost_client) return {};
  ordered_json json = own_json();
  const GhostWorld& world = ghost_client->world;
  // A report before the end of the run: the counts of a ghost are known when it has ended.
  const bool ended =
      std::all_of(world.statuses.begin(), world.statuses.end(), [](const GhostStatus* status) {
        return status->closed.load(std::memory_order_acquire) != 0;
      });
  if (!ended || !speaks_for_ghosts(world)) return json;
  json["ghosts"] = ordered_json::array();
  for (std::size_t g = 0; g < world.statuses.size(); ++g)
    json["ghosts"].push_back(json_of(g, *world.statuses[g]));
  note_advice(world);
  return json;
}

/// What this process has done in windows that ghosts serve.
struct Done {
  ghost::Origin::Stats own;
  NativeCounts natively;
};
/// The counters of this process: name, unit, meaning, and where the value is found.
using Row = report::CounterRow<Done>;
constexpr auto kCounters = std::to_array<Row>({
    {{"ghost_redirected", "operations", "One-sided operations that went to a ghost."},
     [](const Done& done) -> std::uint64_t { return done.own.redirected; }},
    {{"ghost_direct", "operations",
      "One-sided operations done in the shared memory of the target's node, in a window that "
      "ghosts "
      "serve."},
     [](const Done& done) -> std::uint64_t { return done.own.direct; }},
    {{"ghost_native", "operations",
      "Puts and gets that the MPI library carried out in a window that ghosts serve."},
     [](const Done& done) -> std::uint64_t { return done.natively.operations; }},
});
constexpr auto kCounterInfos = report::infos_of(kCounters);

void count(std::span<std::uint64_t> values) {
  if (!ghost_client) return;
  const GhostHold hold;
  report::add_values(kCounters, Done{ghost_client->origin.stats(), ghost_client->natively}, values);
}

std::vector<std::string> sentences(const report::Counters& sums) {
  if (sums["ghost_redirected"] + sums["ghost_direct"] + sums["ghost_native"] == 0) return {};
  std::string sentence = fmt::format(
      "{} one-sided operations done by ghosts, {} directly in shared memory",
      report::count_text(sums["ghost_redirected"]), report::count_text(sums["ghost_direct"]));
  if (sums["ghost_native"] != 0)
    sentence += fmt::format(", {} by the MPI library", report::count_text(sums["ghost_native"]));
  return {std::move(sentence)};
}

}  // namespace

void register_ghost_report() {
  add_report_part({.counters = kCounterInfos,
                   .count = count,
                   .name = "ghost",
                   .section = section,
                   .sentences = sentences});
}

}  // namespace hob::mpi
