#include "mpi/rma/ghost/ghost_report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/core/context.hpp"
#include "mpi/report/report.hpp"
#include "mpi/rma/ghost/client.hpp"

namespace hob::mpi {
namespace {

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

// The node's first application rank tells of its ghosts.
bool speaks_for_ghosts(const GhostWorld& world) {
  const WireRank& own = world.ranks[static_cast<std::size_t>(world.rank)];
  const auto first =
      std::find_if(world.ranks.begin(), world.ranks.end(),
                   [&](const WireRank& each) { return each.node == own.node && each.ghost < 0; });
  return first->user == own.user;
}

std::string ghost_text(std::size_t number, const GhostBoard& board) {
  std::string text = fmt::format(
      R"({{"ghost":{},"domain":{},"users":{},"messages":{},"operations":{},"bytes":{},"lock_waits":{},)"
      R"("deferred":{},"transfers":{},"sleeps":{},"lived_ms":{:.3f},"busy_ms":{:.3f},"cpu_ms":{:.3f},)"
      R"("timeline":{{"bucket_us":{},"busy_us":[)",
      number, board.domain, board.users, board.stats.messages, board.stats.operations,
      board.stats.bytes, board.stats.lock_waits, board.stats.deferred, board.stats.transfers,
      board.sleeps, milliseconds(board.ended_ns - board.started_ns), milliseconds(board.busy_ns),
      milliseconds(board.cpu_ns), board.timeline.bucket_ns / 1000);
  const std::uint64_t used = std::min<std::uint64_t>(
      (board.ended_ns - board.started_ns) / board.timeline.bucket_ns + 1, ghost::Timeline::buckets);
  for (std::uint64_t b = 0; b < used; ++b)
    text += fmt::format("{}{}", b == 0 ? "" : ",", board.timeline.busy_ns[b] / 1000);
  return text + "]}}";
}

std::string own_text() {
  const GhostHold hold;
  const ghost::Origin::Stats s = ghost_client->origin.stats();
  const auto& fences = ghost_client->fences;
  return fmt::format(
      R"({{"node":{},"binding":"{}","windows":{},"windows_declined":{},"direct":{},"direct_bytes":{},)"
      R"("redirected":{},"redirected_bytes":{},"messages":{},"split":{},"dynamic":{},"lock_waits":{},)"
      R"("wait_ms":{:.3f},"outside_window":{},"fences":{},"fence_completions":{},)"
      R"("fence_synchronisations":{},"tokens":{})",
      ghost_client->world.own_node, context().settings.ghost_binding, ghost_client->windows,
      ghost_client->windows_declined, s.direct, s.direct_bytes, s.redirected, s.redirected_bytes,
      s.messages, s.split, s.dynamic, s.lock_waits, milliseconds(s.wait_ns), s.errors, fences.calls,
      fences.completions, fences.synchronisations, ghost_client->messages.sent());
}

std::string ghost_json() {
  std::string text = own_text();
  const GhostWorld& world = ghost_client->world;
  if (speaks_for_ghosts(world)) {
    text += ",\"ghosts\":[";
    for (std::size_t g = 0; g < world.boards.size(); ++g) {
      if (g != 0) text += ",";
      text += ghost_text(g, *world.boards[g]);
    }
    text += "]";
  }
  return text + "}";
}

void ghost_count(report::Counters& counters) {
  const GhostHold hold;
  const ghost::Origin::Stats s = ghost_client->origin.stats();
  counters[report::Counter::ghost_redirected] += s.redirected;
  counters[report::Counter::ghost_direct] += s.direct;
}

}  // namespace

void add_ghost_report() { add_report_part({"ghost", &ghost_json, &ghost_count}); }

}  // namespace hob::mpi
