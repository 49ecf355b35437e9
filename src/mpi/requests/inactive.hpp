// Which requests of the library's are known to be inactive. Private to the request layer.
#pragma once

#include <array>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::requests {

/// Persistent requests of the library's that were waited for and not started since: complete, and
/// waiting for them shows nothing. The last ones; a library does not say which ones are inactive.
/// Only while the program has one thread.
class Inactive {
 public:
  static constexpr int kMost = 16;

  /// Some request is started or freed.
  void forget() {
    if (number_ != 0) number_ = 0;
  }
  void add(MPI_Request handle);
  bool has(MPI_Request handle) const;

 private:
  std::array<MPI_Request, kMost> handles_{};
  int number_ = 0;
};

}  // namespace hob::mpi::requests
