// The report at the end of a run.
#pragma once

namespace hob::mpi {

/// Summary and JSON, as the settings ask for them. While MPI is there; collective over Hob's
/// communicator.
void write_reports();

/// The JSON of a run that Hob stood aside in: the program's time, to compare others with. Of rank 0
/// alone; calls nothing of MPI.
void write_time_alone();

}  // namespace hob::mpi
