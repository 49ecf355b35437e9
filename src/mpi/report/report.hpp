// The report at the end of a run.
#pragma once

namespace hob::mpi {

/// Summary and JSON, as the settings ask for them. While MPI is there; collective over Hob's
/// communicator.
void write_reports();

}  // namespace hob::mpi
