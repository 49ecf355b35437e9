// Start and finish of Hob in a process: what puts its parts together.
#pragma once

namespace hob::mpi {

/// Reads the settings before MPI is initialised. Errors end every process with status 2, and one of
/// them prints them.
void read_settings();

/// Handles and constants differ between ABI families: with an MPI library of another one, every
/// process ends with status 2, and one of them says which Hob to use. Before MPI is initialised.
void check_family();

/// After the library's own initialisation. thread_level: what it provided. any_thread: it is known
/// that threads of Hob's own may call the library, too.
void start(int thread_level, bool world, bool any_thread);

/// Before the library's own finalisation: report, release.
void finish();

}  // namespace hob::mpi
