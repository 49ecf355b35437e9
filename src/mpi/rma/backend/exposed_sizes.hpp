// How much memory each target of a window shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/per_rank.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Exposed bytes of all targets. Unknown sizes are 0. Copies share their memory.
class ExposedSizes {
 public:
  /// What the processes of a window tell each other when it is made. Collective over `comm`,
  /// through the MPI library. `smallest` and `largest` are those of all ranks.
  void gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest, MPI_Comm comm);
  /// Where all sizes are known already.
  void assign(PerRank sizes) { sizes_ = std::move(sizes); }
  std::uint64_t of(int target) const { return sizes_.of(target); }
  std::size_t memory_bytes() const { return sizes_.memory_bytes(); }

 private:
  PerRank sizes_;
};

}  // namespace hob::mpi
