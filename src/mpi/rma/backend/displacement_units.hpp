// By what a target displacement is multiplied to give bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/per_rank.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/backend/window_answers.hpp"

namespace hob::mpi {

/// Displacement units of all targets. Copies share their memory.
class DisplacementUnits {
 public:
  /// The units of all processes of a window, exchanged when it is made. Collective over `comm`,
  /// through the MPI library. `exposed` has the exposed sizes of all of them afterwards.
  void exchange(std::int64_t own, WindowAnswers& answers, ExposedSizes& exposed, MPI_Comm comm);
  /// Where all units are known already.
  void assign(PerRank units) { units_ = std::move(units); }
  std::int64_t of(int target) const { return static_cast<std::int64_t>(units_.of(target)); }
  /// 0 where all ranks have the same unit, as almost all programs do.
  std::size_t memory_bytes() const { return units_.memory_bytes(); }

 private:
  PerRank units_{1};
};

}  // namespace hob::mpi
