#include "mpi/heat/heating.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "cache/lazy_memory.hpp"
#include "heat/probe.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/registry.hpp"

namespace hob::mpi::heating {
namespace {

/// What is registered, at most: a part of the shared cache. Heating more than it holds would only
/// cost memory bandwidth.
constexpr std::size_t kShareOfCache = 4;

heat::Verdict verdict;
std::atomic<std::size_t> heated_bytes{0};
std::size_t most_bytes = 0;

void added(const void* address, std::size_t bytes) noexcept {
  if (heated_bytes.fetch_add(bytes) + bytes > most_bytes) {
    heated_bytes.fetch_sub(bytes);
    return;  // its removal finds nothing registered, and releases it at once
  }
  try {
    heater->add(address, bytes);
  } catch (const std::bad_alloc&) {
    heated_bytes.fetch_sub(bytes);
  }
}

void removed(void* address, std::size_t bytes, void (*release)(void*)) noexcept {
  if (heater->remove(address, release)) heated_bytes.fetch_sub(bytes);
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

constexpr cache::IndexWatcher index_watcher{added, removed};

/// Processors that other ranks of this node run on: all that a rank is bound to, or the one that an
/// unbound rank is on now. Collective.
std::vector<int> occupied_by_others() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  sched_getaffinity(0, sizeof mine, &mine);
  MPI_Comm node = MPI_COMM_NULL;
  if (real::Comm_split_type(context().comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) !=
      MPI_SUCCESS)
    return {};
  int size = 1;
  int rank = 0;
  real::Comm_size(node, &size);
  real::Comm_rank(node, &rank);
  // Bound ranks share nothing; those of an unbound job can all go everywhere.
  cpu_set_t widest = mine;
  std::vector<cpu_set_t> all(static_cast<std::size_t>(size));
  const int bytes = static_cast<int>(sizeof mine);
  real::Allgather(&mine, bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, node);
  for (const cpu_set_t& each : all) CPU_OR(&widest, &widest, &each);
  std::vector<int> now(all.size());
  const int here = sched_getcpu();
  real::Allgather(&here, 1, MPI_INT, now.data(), 1, MPI_INT, node);
  real::Comm_free(&node);

  std::vector<int> occupied;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == static_cast<std::size_t>(rank)) continue;
    const bool unbound = CPU_EQUAL(&all[i], &widest);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
      if (unbound ? cpu == now[i] : CPU_ISSET(static_cast<unsigned>(cpu), &all[i]) != 0)
        occupied.push_back(cpu);
  }
  return occupied;
}

nlohmann::ordered_json section() {
  if (context().settings.heat == "off") return {};
  nlohmann::ordered_json json = {{"on", heater != nullptr},
                                 {"reason", verdict.reason},
                                 {"cpu", verdict.placement.cpu},
                                 {"cache_level", verdict.placement.cache_level},
                                 {"cold_ns", std::round(verdict.cold_ns)},
                                 {"heated_ns", std::round(verdict.heated_ns)},
                                 {"computing", verdict.interference}};
  if (heater != nullptr) {
    const heat::Stats stats = heater->stats();
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
void place(const std::vector<int>& occupied) {
  verdict.placement = heat::place_heater(sched_getcpu(), occupied);
  verdict.on = verdict.placement.cpu >= 0;
  verdict.reason = verdict.on ? fmt::format(
                                    "heater on processor {}, which shares the L{} cache: "
                                    "on without a probe, since heat = on",
                                    verdict.placement.cpu, verdict.placement.cache_level)
                              : "no heater: " + verdict.placement.reason;
}

}  // namespace

void start() {
  const settings::Settings& settings = context().settings;
  if (settings.heat == "off") return;
  if (!context().world) {
    verdict.reason = "no heater: a program of sessions alone has none";
    return note(verdict.reason);
  }
  const auto period_ns = static_cast<std::int64_t>(settings.heat_period_us) * 1000;
  const std::vector<int> occupied = occupied_by_others();
  if (settings.heat == "auto") {
    heat::ProbeConfig config;
    config.period_ns = period_ns;
    verdict = heat::probe(occupied, config);
  } else {
    place(occupied);
  }
  if (verdict.on) {
    heat::Config config;
    config.period_ns = period_ns;
    config.cpu = verdict.placement.cpu;
    config.follow_phases = true;
    config.communications = &acquires;
    auto* made = new heat::Heater(config);
    if (made->start()) {
      heater = made;
      most_bytes = verdict.placement.cache_bytes / kShareOfCache;
      cache::index_watcher = &index_watcher;
    } else {
      verdict.on = false;
      verdict.reason = "no heater: " + made->error();
      delete made;
    }
  }
  note(verdict.reason);
}

void finish() {
  if (heater != nullptr) heater->stop();
}

match::MemoryObserver* observer() {
  static QueueMemory memory;
  return heater != nullptr ? &memory : nullptr;
}

void register_report() { add_report_part({.name = "heat", .section = section}); }

void pause() {
  if (heater != nullptr) heater->pause();
}

void resume() {
  if (heater != nullptr) heater->resume();
}

}  // namespace hob::mpi::heating
