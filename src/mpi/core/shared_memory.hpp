// Memory that the processes of one node share.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// Maps the first `bytes` bytes of the file that `fd` names in rank 0 of `node`, in every process;
/// the file is closed. Collective. Arguments count in rank 0 only; all learn `bytes`. Null in all
/// processes if one of them cannot, or if rank 0 has no file (fd < 0). Nothing outlives the
/// processes if the file has no name (memfd_create).
std::byte* map_together(MPI_Comm node, int fd, std::uint64_t& bytes);

}  // namespace hob::mpi
