// How much memory each target of a window shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Exposed bytes of all targets. One number where they are equal; else eight bytes for each rank of
/// the window. Unknown sizes are 0.
class ExposedSizes {
 public:
  /// What the processes of a window tell each other when it is made. Collective over `comm`,
  /// through the MPI library. `smallest` and `largest` are those of all ranks.
  void gather(std::uint64_t own, std::uint64_t smallest, std::uint64_t largest, MPI_Comm comm);
  /// Where all sizes are known already; not empty.
  void assign(std::vector<std::uint64_t> each);
  std::uint64_t of(int target) const {
    return each_.empty() ? common_ : each_[static_cast<std::size_t>(target)];
  }
  std::size_t memory_bytes() const { return each_.capacity() * sizeof each_[0]; }

 private:
  std::uint64_t common_ = 0;
  std::vector<std::uint64_t> each_;
};

}  // namespace hob::mpi
