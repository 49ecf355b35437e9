// What went natively although ghosts serve its window.
#pragma once

#include <cstdint>

namespace hob::mpi {

/// What this process has done natively in all its ghost windows, for the report.
struct NativeCounts {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  std::uint64_t flushes = 0;
  std::uint64_t trials = 0;
  std::uint64_t trials_won = 0;
};

}  // namespace hob::mpi
