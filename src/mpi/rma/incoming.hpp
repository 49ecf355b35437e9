// Buffers that the MPI library fills for calls of the program's, where an adapter may store into
// windows' memory unseen (validation/incoming.hpp). The generated wrappers use it in every call
// that fills a buffer.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/rma/state.hpp"

namespace hob::mpi {

inline bool compares_incoming() {
  return HOB_UNLIKELY(all_windows.incoming_compared.load(std::memory_order_relaxed) != 0);
}

/// Around one call that fills a buffer. Its functions are called where compares_incoming(); types
/// and counts are the call's own. Throws OutOfMemory.
class IncomingBuffer {
 public:
  IncomingBuffer() = default;
  ~IncomingBuffer() {
    if (HOB_UNLIKELY(fill_ != 0)) end();
  }
  IncomingBuffer(const IncomingBuffer&) = delete;
  IncomingBuffer& operator=(const IncomingBuffer&) = delete;

  /// `count` elements in a row.
  void fill(void* buffer, MPI_Count count, MPI_Datatype type);

  /// As many from each process that sends to this one in a call on `comm`.
  void fill_from_all(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);
  void fill_from_neighbors(void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm);

  /// Blocks at displacements of their own, in elements. Count and Displacement are int, MPI_Count
  /// or MPI_Aint.
  template <class Count, class Displacement>
  void fill_blocks(void* buffer, const Count* counts, const Displacement* displs, MPI_Datatype type,
                   int blocks);

  /// Likewise, in bytes and with types of their own.
  template <class Count, class Displacement>
  void fill_typed_blocks(void* buffer, const Count* counts, const Displacement* displs,
                         const MPI_Datatype* types, int blocks);

  /// Processes that send to this one in collective, or neighborhood, calls on `comm`.
  static int senders(MPI_Comm comm);
  static int neighbors(MPI_Comm comm);

  /// Whether this process is the one that a rooted call fills a buffer of.
  static bool is_root(int root, MPI_Comm comm);

  /// What an array with a count for each rank says of this one.
  template <class Count>
  static MPI_Count own(const Count* counts, MPI_Comm comm) {
    return counts[rank_in(comm)];
  }

  /// The call has started a request, which goes on until it is complete; or `succeeded` not.
  void until(const MPI_Request* request, bool succeeded);

  /// Its end will not be seen: persistent requests, and one-sided operations, which any of
  /// several calls may complete.
  void for_good() { fill_ = 0; }

 private:
  static int rank_in(MPI_Comm comm);
  void add(std::uintptr_t begin, std::uintptr_t end);
  void end();

  std::uint64_t fill_ = 0;
  std::uintptr_t begin_ = UINTPTR_MAX, end_ = 0;
};

/// A window's memory is compared with these buffers from now on, until it no longer is. `window` is
/// any number that no other window has. Thread safe.
void compare_incoming(std::uint64_t window, const void* base, std::uint64_t bytes);
void stop_comparing_incoming(std::uint64_t window);

/// Whether a call may have filled memory of the window since this was asked last. Thread safe.
bool take_incoming(std::uint64_t window);

/// Calls so far whose buffer overlapped memory of a window that is watched. Thread safe.
std::uint64_t incoming_fills();

}  // namespace hob::mpi
