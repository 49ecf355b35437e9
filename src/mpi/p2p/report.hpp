// The matching queues in the report.
#pragma once

namespace hob::mpi::p2p {

/// Before MPI starts.
void register_queues_report();

}  // namespace hob::mpi::p2p
