#include "mpi/workarounds/partitioned.hpp"

#include <atomic>

#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/resolve.hpp"

namespace hob::mpi {

void partitioned_begins() {
  if (!library::kTraits.announces_partitioned) return;
  GhostWorld* const world = ghost_world();
  if (!world || world->node_status->partitioned.exchange(1, std::memory_order_acq_rel) != 0) return;
  for (GhostStatus* status : world->statuses) wake(*status);
}

void PartitionedTurn::advance() {
  if (state_ == State::done) return;
  if (state_ == State::not_yet) {
    if (world_.node_status->partitioned.load(std::memory_order_acquire) == 0) return;
    begin();
    if (state_ == State::done) return;
  }
  int flag = 0;
  if (real::Testall(2, requests_, &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS && flag == 0) return;
  for (MPI_Request& request : requests_) real::Request_free(&request);
  state_ = State::done;
}

void PartitionedTurn::begin() {
  state_ = State::done;  // whatever fails: it is not tried again
  if (!real::find("PMPI_Psend_init")) return;
  if (real::Psend_init(&sent_, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, &requests_[0]) !=
          MPI_SUCCESS ||
      real::Precv_init(&received_, 1, 1, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL,
                       &requests_[1]) != MPI_SUCCESS ||
      real::Startall(2, requests_) != MPI_SUCCESS || real::Pready(0, requests_[0]) != MPI_SUCCESS)
    return;
  state_ = State::under_way;
}

int on_Psend_init(const void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int dest,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  partitioned_begins();
  return real::Psend_init(buf, partitions, count, datatype, dest, tag, comm, info, request);
}

int on_Precv_init(void* buf, int partitions, MPI_Count count, MPI_Datatype datatype, int source,
                  int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  partitioned_begins();
  return real::Precv_init(buf, partitions, count, datatype, source, tag, comm, info, request);
}

}  // namespace hob::mpi
