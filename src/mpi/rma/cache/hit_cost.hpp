// What a hit takes on this machine.
#pragma once

#include "gets/hit_cost.hpp"

namespace hob::mpi {

using gets::HitCost;

/// Measured once, at the first call (some hundred microseconds). Thread safe.
const HitCost& hit_cost();

}  // namespace hob::mpi
