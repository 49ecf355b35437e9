#include "heat/placement.hpp"

#include <algorithm>

namespace hob::heat {
namespace {

bool contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

HeaterPlacement place_heater(const Machine& machine, int rank_cpu,
                             const std::vector<int>& occupied) {
  HeaterPlacement result;
  if (!machine.problem.empty()) {
    result.reason = machine.problem;
    return result;
  }
  const auto own = std::find_if(machine.processors.begin(), machine.processors.end(),
                                [&](const auto& each) { return each.cpu == rank_cpu; });
  if (own == machine.processors.end()) {
    result.reason = "the rank's processor is not known to hwloc";
    return result;
  }
  bool shared = false;
  for (const int cache : own->caches) {
    for (const auto& other : machine.processors) {
      if (other.core == own->core || !contains(other.caches, cache)) continue;
      shared = true;
      if (contains(occupied, other.cpu)) continue;
      result.cpu = other.cpu;
      result.cache_level = machine.caches[static_cast<std::size_t>(cache)].level;
      result.cache_bytes = machine.caches[static_cast<std::size_t>(cache)].bytes;
      return result;
    }
  }
  const bool other_core = std::any_of(machine.processors.begin(), machine.processors.end(),
                                      [&](const auto& each) { return each.core != own->core; });
  result.reason = !other_core ? "there is only one core"
                  : !shared   ? "no other core shares a cache with the rank's"
                              : "every core that shares a cache with the rank's runs a rank itself";
  return result;
}

}  // namespace hob::heat
