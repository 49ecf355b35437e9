// Children of fork() see memory of MPI_Alloc_mem as it was at the fork, although the parent shares
// it with its node.
#pragma once

#include <cstddef>
#include <functional>

namespace hob::mpi {

/// Of memory that the child is to have copies of: `each(address, bytes)` is called for every part
/// while no thread changes them.
using EachPart = std::function<void(const std::function<void(std::byte*, std::size_t)>& each)>;

/// From now on, fork() copies what `parts` names at that moment, and returns in the parent when the
/// child has its copies. Nothing for vfork() and posix_spawn(), whose children see no memory. To be
/// called once.
void copy_at_fork(EachPart parts);

}  // namespace hob::mpi
