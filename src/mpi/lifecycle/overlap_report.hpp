// What overlap has to say in the report.
#pragma once

namespace hob::mpi {

/// Before MPI starts.
void register_overlap_report();

}  // namespace hob::mpi
