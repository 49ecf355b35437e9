// What a window's cached gets are made with.
#pragma once

#include <cstdint>

#include "cache/readahead.hpp"
#include "mpi/rma/backend/near_targets.hpp"
#include "mpi/rma/cache/terms.hpp"

namespace hob::mpi {

/// What the settings say; the parts of them that matter here.
struct GetOptions {
  Mode mode = Mode::automatic;
  bool bypass = true;
  bool atomic_reads_are_gets = false;  ///< mode auto: MPI_NO_OP reads are cached
  std::uint32_t poll_hits = 64;
  double poll_nanoseconds = 2e7;
  double poll_share = 0.005;
  double progress_nanoseconds = 2e4;
  double verify = 0;
  cache::Readahead::Config readahead{};
};

/// What of its window a cache needs.
struct WindowContext {
  int id = 0;                         ///< counts the windows of this process
  int rank = 0;                       ///< of this process in the window's group
  int size = 0;                       ///< of the group
  bool one_node = false;              ///< the whole job is on one
  const NearTargets* near = nullptr;  ///< outlives the object; null: there are none
};

}  // namespace hob::mpi
