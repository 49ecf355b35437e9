#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/machine.hpp"

namespace hob::heat {

/// Where a heater for a rank should run.
struct HeaterPlacement {
  int cpu = -1;                 ///< logical processor for the heater; -1: nowhere
  int cache_level = 0;          ///< of the smallest cache that it shares with the rank
  std::size_t cache_bytes = 0;  ///< size of that cache
  std::string reason;           ///< why nowhere; empty if somewhere
};

/// Looks for a processor of another core that shares a cache with processor `rank_cpu`, the
/// smallest cache possible, and is not in `occupied` (processors of this node that other ranks
/// run on). Paper section 3.2.
HeaterPlacement place_heater(const Machine& machine, int rank_cpu,
                             const std::vector<int>& occupied);

}  // namespace hob::heat
