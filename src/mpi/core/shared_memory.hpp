// Memory that the processes of one node share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "mpi/core/node.hpp"

namespace hob::mpi {

/// Maps zeroed memory that all processes of the node share, in every process; it has no name that
/// could outlive them. Only what is touched takes memory. Collective; the arguments of rank 0
/// count. Where the system does not give `bytes` bytes, the half is tried, and so on, down to
/// `least` bytes, or where a limit on addresses (RLIMIT_AS) leaves less; all learn `bytes`. Null in
/// all processes if one of them cannot. Ended with munmap.
///
/// Files without a name (memfd_create) are used, or, where the size of files is limited
/// (RLIMIT_FSIZE, ulimit -f: growing such a file would end the process), a System V segment.
///
/// What rank 0 has made is found by the number of its descriptor, and distinguished from other
/// files: in containers that number processes themselves it may be any file of the user's. Those
/// that do not find it get it through a Unix socket, where they are in one network namespace.
/// `why_not`: set in all processes where null is returned.
std::byte* share_memory(const Node& node, std::uint64_t& bytes, std::uint64_t least,
                        std::string& why_not);

}  // namespace hob::mpi
