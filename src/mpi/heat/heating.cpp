#include "mpi/heat/heating.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "base/lasting.hpp"
#include "cache/state.hpp"
#include "heat/probe.hpp"
#include "mpi/core/acquires.hpp"
#include "mpi/core/context.hpp"
#include "mpi/core/node.hpp"
#include "mpi/core/tuning.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/registry.hpp"

namespace hob::mpi::heating {
namespace {

heat::Verdict& verdict() { return lasting<heat::Verdict>(); }

void added(const void* address, std::size_t bytes) noexcept {
  if (own.bytes.fetch_add(bytes) + bytes > own.most_bytes) {
    own.bytes.fetch_sub(bytes);
    return;  // its removal finds nothing registered, and releases it at once
  }
  try {
    own.heater->add(address, bytes);
  } catch (const std::bad_alloc&) {
    own.bytes.fetch_sub(bytes);
  }
}

void removed(void* address, std::size_t bytes, void (*release)(void*)) noexcept {
  if (own.heater->remove(address, release)) own.bytes.fetch_sub(bytes);
}

class QueueMemory final : public match::MemoryObserver {
 public:
  void added(const void* address, std::size_t bytes) noexcept override {
    heating::added(address, bytes);
  }
  void removed(void* address, std::size_t bytes, void (*release)(void*)) noexcept override {
    heating::removed(address, bytes, release);
  }
};

constexpr cache::IndexObserver kIndexObserver{added, removed};

/// Processors that other ranks of this node run on: all that a rank is bound to, or the one that an
/// unbound rank is on now. Collective.
std::vector<int> occupied_by_others() {
  const Node node(context().comm);
  const auto allowed = node.allowed_cpus();
  std::vector<int> now(allowed.size());
  const int here = sched_getcpu();
  real::Allgather(&here, 1, MPI_INT, now.data(), 1, MPI_INT, node.comm());
  // Bound ranks share nothing; those of an unbound job can all go everywhere.
  std::set<int> widest;
  for (const auto& each : allowed) widest.insert(each.begin(), each.end());
  std::vector<int> occupied;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    if (i == static_cast<std::size_t>(node.rank())) continue;
    if (allowed[i].size() == widest.size())
      occupied.push_back(now[i]);
    else
      occupied.insert(occupied.end(), allowed[i].begin(), allowed[i].end());
  }
  return occupied;
}

nlohmann::ordered_json section() {
  if (context().settings.heat == "off") return {};
  nlohmann::ordered_json json = {{"on", own.heater != nullptr},
                                 {"reason", verdict().reason},
                                 {"cpu", verdict().placement.cpu},
                                 {"cache_level", verdict().placement.cache_level},
                                 {"cold_ns", std::round(verdict().cold_ns)},
                                 {"heated_ns", std::round(verdict().heated_ns)},
                                 {"computing", verdict().interference}};
  if (own.heater != nullptr) {
    const heat::Stats stats = own.heater->stats();
    json["passes"] = stats.passes;
    json["idle_passes"] = stats.idle_passes;
    json["lines"] = stats.lines;
    json["regions"] = stats.regions;
    json["region_bytes"] = stats.region_bytes;
    json["deferred"] = stats.deferred;
  }
  return json;
}

/// Where a heater goes without asking whether it gains.
void place(const heat::HeaterPlacement& placement) {
  verdict().placement = placement;
  verdict().on = verdict().placement.cpu >= 0;
  verdict().reason = verdict().on ? fmt::format(
                                        "heater on processor {}, which shares the L{} cache: "
                                        "on without a probe, since heat = on",
                                        verdict().placement.cpu, verdict().placement.cache_level)
                                  : "no heater: " + verdict().placement.reason;
}

}  // namespace

void start() {
  const settings::Settings& settings = context().settings;
  if (settings.heat == "off") return;
  if (!context().world) {
    verdict().reason = "no heater: a program of sessions alone has none";
    return note(verdict().reason);
  }
  const auto period_ns = static_cast<std::int64_t>(settings.heat_period_us) * 1000;
  const heat::HeaterPlacement placement =
      heat::place_heater(Machine::here(), sched_getcpu(), occupied_by_others());
  if (settings.heat == "auto") {
    heat::ProbeConfig config;
    config.period_ns = period_ns;
    verdict() = heat::probe(placement, config);
  } else {
    place(placement);
  }
  if (verdict().on) {
    heat::Config config;
    config.period_ns = period_ns;
    config.cpu = verdict().placement.cpu;
    config.follow_phases = true;
    config.communications = &acquires.count;
    auto* created = new heat::Heater(config);
    if (created->start()) {
      own.heater = created;
      own.most_bytes = verdict().placement.cache_bytes / tuning::kHeatedShare;
      cache::index_observer = &kIndexObserver;
    } else {
      verdict().on = false;
      verdict().reason = "no heater: " + created->error();
      delete created;
    }
  }
  note(verdict().reason);
}

void finish() {
  if (own.heater != nullptr) own.heater->stop();
}

match::MemoryObserver* observer() {
  return own.heater != nullptr ? &lasting<QueueMemory>() : nullptr;
}

void register_report() { add_report_part({.name = "heat", .section = section}); }

void pause() {
  if (own.heater != nullptr) own.heater->pause();
}

void resume() {
  if (own.heater != nullptr) own.heater->resume();
}

}  // namespace hob::mpi::heating
