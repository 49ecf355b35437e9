// With many threads: receives and probes of the program that need nothing but the MPI library
// (match/direct_calls.hpp). The first thing that their wrappers ask.
#pragma once

#include <atomic>

#include "match/direct_calls.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/state.hpp"

namespace hob::mpi::p2p {

/// Of a call that follows; true: it begins now, and a DirectCall ends it. One that blocks, and a
/// probe, only while nothing is under way.
inline bool receives_directly(MPI_Count count, int source, MPI_Comm comm) {
  return own_direct && count < FastPath::kLong && source != MPI_PROC_NULL &&
         own_direct->begin_blocking(handle_bits(comm));
}
inline bool starts_directly(MPI_Count count, int source, MPI_Comm comm) {
  return own_direct && count < FastPath::kLong && source != MPI_PROC_NULL &&
         own_direct->begin_nonblocking(handle_bits(comm));
}
inline bool probes_directly(MPI_Comm comm) {
  return own_direct && own_direct->begin_probe(handle_bits(comm));
}

/// Ends it, also where an exception of the program's error handler does.
struct DirectCall {
  DirectCall() = default;
  ~DirectCall() { own_direct->end(); }
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;
};

class Channel;

// direct_grants.cpp. The gate is held.

/// Lets the next such calls of this thread on the channel's communicator go to the library unseen.
void grant_direct_calls(Channel& channel, match::DirectCalls::Receives receives);

/// Ends that, for all threads. True: none of them is in such a call any more, and messages may be
/// dequeued; until there is a grant again.
bool end_direct_calls(Channel& channel);

/// Books the receives that threads have made so.
void settle_direct_calls();

/// The channel goes.
void forget_direct_calls(Channel& channel);

}  // namespace hob::mpi::p2p
