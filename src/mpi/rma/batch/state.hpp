// What holds for the batches of all windows. All mutable globals of this layer are here.
#pragma once

#include <atomic>

#include "batch/saving.hpp"
#include "mpi/core/tuning.hpp"

namespace hob::mpi {

struct AllBatches {
  /// For samples of what operations take natively: a program may make many windows, and the time of
  /// all of them is the process's.
  batch::SampleBudget sample_budget{tuning::batching::kSampleShare};

  /// An indexed datatype was made: the first one of a process is dear (indexed.hpp).
  std::atomic<bool> type_made{false};
};
/// Of this process.
inline constinit AllBatches all_batches;

}  // namespace hob::mpi
