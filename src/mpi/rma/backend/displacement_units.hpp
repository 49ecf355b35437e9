// By what a target displacement is multiplied to give bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/backend/window_answers.hpp"

namespace hob::mpi {

/// Displacement units of all targets. One number if they are equal, which they nearly always are.
class DisplacementUnits {
 public:
  /// What the processes of a window tell each other when it is made. Collective over `comm`,
  /// through the MPI library. `exposed` has the exposed sizes of all of them afterwards.
  void exchange(std::int64_t own, WindowAnswers& answers, ExposedSizes& exposed, MPI_Comm comm);
  /// Where all units are known already; not empty.
  void assign(std::vector<std::int64_t> each);
  std::int64_t of(int target) const {
    return each_.empty() ? common_ : each_[static_cast<std::size_t>(target)];
  }
  /// 0 where all ranks have the same unit, as almost all programs do.
  std::size_t memory_bytes() const { return each_.capacity() * sizeof each_[0]; }

 private:
  std::int64_t common_ = 1;
  std::vector<std::int64_t> each_;
};

}  // namespace hob::mpi
