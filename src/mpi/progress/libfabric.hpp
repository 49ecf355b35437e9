// Where the MPI library communicates over libfabric.
#pragma once

namespace hob::mpi {

/// Whether that is, as far as can be told, its tcp provider. After MPI has started.
bool libfabric_uses_tcp();

/// The tcp provider keeps 64 messages of a peer that nobody has asked for, by default, and may lose
/// others (MPICH 5). Asks for a million, if the user asks for nothing. Before MPI starts.
void keep_unexpected_messages();

/// Whether it keeps so many that Hob may dequeue messages, which are unexpected to it.
bool keeps_unexpected_messages();

}  // namespace hob::mpi
