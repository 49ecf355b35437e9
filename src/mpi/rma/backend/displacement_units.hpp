// By what a target displacement is multiplied to give bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"

namespace hob::mpi {

/// What each process of a window says of it when it is made, and what all of them know afterwards.
struct WindowAnswers {
  std::uint64_t bytes = 0;       ///< of this process's memory that the window shows; stays its own
  bool aliased = false;          ///< another window may show the same: of one process, then of all
  bool share = false;            ///< ranks of a node share what they fetch: if all say so
  bool validate = false;         ///< copies may outlive collective calls: if all say so
  bool validate_always = false;  ///< likewise, in every such call
  std::uint64_t number = 0;      ///< a proposal for the window's number; then the largest of them
  bool rejects = false;          ///< this process rejects the window; stays its own
  int rejecting_rank = -1;       ///< the lowest that does, or -1
};

/// Displacement units of all targets. One number if they are equal, which they nearly always are.
class DisplacementUnits {
 public:
  /// What the processes of a window tell each other when it is made. Collective over `comm`,
  /// through the MPI library. `exposed` has the exposed sizes of all of them afterwards.
  void exchange(std::int64_t own, WindowAnswers& answers, ExposedSizes& exposed, MPI_Comm comm);
  /// Where all units are known already; not empty.
  void learn(std::vector<std::int64_t> each);
  std::int64_t of(int target) const {
    return each_.empty() ? common_ : each_[static_cast<std::size_t>(target)];
  }
  /// 0 where all ranks have the same unit, as almost all programs do.
  std::size_t memory_bytes() const { return each_.capacity() * sizeof each_[0]; }

 private:
  std::int64_t common_ = 1;
  std::vector<std::int64_t> each_;
};

}  // namespace hob::mpi
