// Polls that find nothing: programs ask the same requests a million times while they compute.
#pragma once

#include <cstdint>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::requests {

/// The last MPI_Test, Testany, Testsome or Testall that completed nothing. Until Hob watches
/// another request, the same call again is the library's: nothing is learned from it unless it
/// completes something. Only while the program has one thread.
class VainPolls {
 public:
  /// Longer arrays are not copied for the case that something is complete.
  static constexpr int kMost = 16;

  /// These requests were asked last, and nothing was complete; so many were watched until then.
  void note(int count, const MPI_Request* requests, std::uint64_t watches) {
    if (count <= 0 || count > kMost) return;
    requests_ = requests;
    first_ = *requests;
    count_ = count;
    watches_ = watches;
  }

  /// Another request is watched: whoever watches it hears that it is asked for (asked()).
  void forget() { requests_ = nullptr; }

  /// These requests are asked again. Others in the array than the first may have changed.
  bool are(int count, const MPI_Request* requests) const {
    return requests == requests_ && requests && count == count_ && *requests == first_;
  }

  /// How many requests were watched before the call that asks these again.
  std::uint64_t watches() const { return watches_; }

 private:
  const MPI_Request* requests_ = nullptr;
  MPI_Request first_{};
  int count_ = 0;
  std::uint64_t watches_ = 0;
};

}  // namespace hob::mpi::requests
