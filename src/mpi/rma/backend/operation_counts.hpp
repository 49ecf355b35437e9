// How many operations a window's origin has given to its targets.
#pragma once

#include <cstdint>

namespace hob::mpi {

/// By kind; see tally().
struct OperationCounts {
  std::uint64_t puts = 0, accumulates = 0, atomics = 0;

  bool any() const { return (puts | accumulates | atomics) != 0; }
};

}  // namespace hob::mpi
