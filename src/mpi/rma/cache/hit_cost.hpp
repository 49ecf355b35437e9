// What a hit takes on this machine.
#pragma once

#include "gets/hit_cost.hpp"

namespace hob::mpi {

using gets::HitCost;

/// As measured, or an estimate while nothing was.
const HitCost& hit_cost();

/// Measures it, once: a tenth of a millisecond. With the first get that misses, since a process
/// that only writes need not know. Thread safe.
void measure_hit_cost();

}  // namespace hob::mpi
