// Where the MPI library communicates over libfabric.
#pragma once

namespace hob::mpi {

/// Whether that is, as far as is known, its tcp provider. After MPI has started.
bool libfabric_uses_tcp();

/// Asks the tcp provider to keep a million unexpected messages of a peer, unless the user asks for
/// another number. Otherwise it keeps 64, and then reads nothing from this peer until the next one
/// is received. More cost memory (16 KiB each), whose first touch costs more than the message, and
/// a sender is no longer held up by a slow receiver. Before MPI starts.
void keep_unexpected_messages();

/// How many unexpected messages of a peer the tcp provider keeps. A message that Hob has dequeued
/// is one of them until it is received.
unsigned long unexpected_messages_kept();

}  // namespace hob::mpi
