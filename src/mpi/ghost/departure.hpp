// The end of a job with ghosts.
#pragma once

namespace hob::mpi {

/// Before MPI is initialised: a ghost that ends runs no handlers that the program has registered
/// until then, and writes nothing of what it had buffered. Those that MPI registers later it does
/// run: MPICH takes its leave of the launcher in one.
void end_ghosts_early();

/// This process ends as a ghost does, with that status.
[[noreturn]] void exit_as_ghost(int status);

/// In application ranks: from now on, a process that leaves without MPI_Finalize says so.
void report_early_exit();

/// In application ranks, before the report is written: the program has ended everywhere. Ghosts
/// finish. Collective over the application ranks.
void dismiss_ghosts();

/// After the report, in all processes: frees what is Hob's. Nothing if that was done.
void leave_ghosts();

/// The MPI library's own MPI_Finalize, in processes that the program does not see.
void finalize_library();

}  // namespace hob::mpi
