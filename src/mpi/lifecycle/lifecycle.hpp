// Start and finish of Hob in a process: what puts its parts together.
#pragma once

namespace hob::mpi {

/// Reads the settings before MPI is initialised. Errors end every process with status 2, and one of
/// them prints them.
void read_settings();

/// Handles and constants differ between ABI families: with an MPI library of another one, every
/// process ends with status 2, and one of them says which Hob to use. Before MPI is initialised.
void check_family();

/// Whether a rank of another job began this process, or what began it. Also before main().
bool is_in_another_job();

/// After the library's own initialisation. thread_level: what it provided. any_thread: it is known
/// that threads of Hob's own may call the library, too.
void start(int thread_level, bool world, bool any_thread);

/// A session came with more threads than the sessions opened before it: from now on, threads of the
/// program may be inside MPI together.
void expect_threads();

/// Before the library's own finalisation: report, release.
void finish();

}  // namespace hob::mpi
