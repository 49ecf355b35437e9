// What holds for the batches of all windows. All mutable globals of this layer are here.
#pragma once

#include "batch/saving.hpp"
#include "mpi/core/tuning.hpp"

namespace hob::mpi {

/// For samples of what operations take natively. Global, since a program may make many windows, and
/// the time of all of them is the process's.
inline constinit batch::SampleBudget sample_budget{tuning::batching::kSampleShare};

}  // namespace hob::mpi
