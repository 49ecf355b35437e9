// Open MPI's partitioned communication beside ghosts.
//
// At the first MPI_Psend_init or MPI_Precv_init of a process, Open MPI 5 begins to duplicate the
// MPI_COMM_WORLD of the launch, and no partitioned transfer moves before every process has done so.
// Ghosts are among them, and make no such call by themselves.
#pragma once

#include <cstddef>

#include "mpi/ghost/job/world.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// In an application rank, before a partitioned request is made: the ghosts of its node are
/// notified once.
void partitioned_begins();

/// In a ghost: a transfer of its own, to itself, which takes it into the duplication.
class PartitionedTurn {
 public:
  explicit PartitionedTurn(const GhostWorld& world) : world_(world) {}

  /// Never blocks. Begins when an application rank of the node has made a partitioned request.
  void advance();

  /// The MPI library needs calls: the ghost must not sleep.
  bool under_way() const { return state_ == State::under_way; }

 private:
  enum class State { not_yet, under_way, done };

  void begin();

  const GhostWorld& world_;
  State state_ = State::not_yet;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::byte sent_{};
  std::byte received_{};
};

}  // namespace hob::mpi
