#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "heat/placement.hpp"

namespace hob::heat {

/// What the start-up probe does. Set once.
struct ProbeConfig {
  std::int64_t period_ns = 1'000'000;  ///< of the heater
  std::size_t list_bytes = 64 << 10;   ///< of the list that is searched: 1024 lines
  std::size_t sweep_bytes = 0;         ///< of the memory that "the program" computes on; 0: 2 x
                                       ///< the shared cache, at least 16 MiB, at most 256 MiB
  unsigned rounds = 7;                 ///< with and without the heater, in turn; the last 15 count
  double least_gain = 1.1;             ///< search without / with heater, to be worth it
  double most_interference = 1.03;     ///< computing with / without heater, to be harmless
};

/// What the probe found.
struct Verdict {
  bool on = false;            ///< heating gains on this machine
  std::string reason;         ///< a sentence for the report, whatever the outcome
  HeaterPlacement placement;  ///< where the heater runs
  double cold_ns = 0;         ///< search of the list after computing, without heater
  double heated_ns = 0;       ///< the same, with heater
  double interference = 0;    ///< computing with / without heater
};

/// Finds out whether a heater at `placement` gains: searches a scattered list after sweeping
/// through much memory, with and without a heater, and compares the times of the sweeps too. To be
/// called by the thread that will search, bound to its processor. Takes some tenths of a second;
/// none where there is nowhere to put a heater. Paper section 4.3 (it gained on Sandy Bridge and
/// lost on Broadwell).
Verdict probe(const HeaterPlacement& placement, const ProbeConfig& config = {});

}  // namespace hob::heat
