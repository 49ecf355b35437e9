// Receives that need nothing but the MPI library: one branch of their wrappers.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::p2p {

/// Receives and probes of one communicator that may go to the library unseen: nothing waits in
/// Hob's queues there, and none of them is to be watched or timed. The long way (receive.cpp)
/// grants some and books them later. Where threads of the program may be here together, each has
/// its own (direct_calls.hpp).
struct FastPath {
  /// Receives of so many elements take so long that the long way costs nothing, and are timed
  /// sooner (match::SearchTimer). With 65,536 bytes, 64 of which take 7.6 us each on one node, it
  /// costs 4%: the copies empty the processor's caches.
  static constexpr MPI_Count kLong = 262144;

  MPI_Comm comm{};
  /// So many more, as of the next two; below 0 once one too many was asked for, so that one
  /// instruction counts, and says whether one was left.
  std::int32_t nonblocking = 0;
  std::int32_t blocking = 0;
  std::int32_t exchanges = 0;  ///< calls that send, too

  /// Of fewer than kLong elements, which the wrapper has asked for another reason
  /// (overlap_thread::may_be_large).
  bool start(int source, MPI_Comm on) {
    return on == comm && source != MPI_PROC_NULL && --nonblocking >= 0;
  }
  bool start(MPI_Count count, int source, MPI_Comm on) {
    return count < kLong && start(source, on);
  }
  bool receive(MPI_Count count, int source, MPI_Comm on) {
    return on == comm && source != MPI_PROC_NULL && count < kLong && --blocking >= 0;
  }
  bool probe(MPI_Comm on) const { return on == comm; }
  /// A call that sends, too: not one of those that are booked. Now and then one goes the long way,
  /// where reports are written that are due.
  bool exchange(MPI_Comm on) { return on == comm && --exchanges >= 0; }
};

}  // namespace hob::mpi::p2p
