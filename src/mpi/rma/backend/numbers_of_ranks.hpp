// A number of each process of a window, in all of them.
#pragma once

#include <cstdint>
#include <span>

#include "base/per_rank.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// `each`: by rank of `comm`, the same in all processes. Where that is a long list, of windows in
/// which each rank shows another size, the processes of a node keep it once. Collective.
PerRank numbers_of_ranks(std::span<const std::uint64_t> each, MPI_Comm comm);

/// The same, where each process knows its `own` number only. Collective.
PerRank gather_numbers(std::uint64_t own, MPI_Comm comm);

}  // namespace hob::mpi
