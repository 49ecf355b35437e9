// What Hob knows of this process: its settings, its place in the job, its start and end.
#pragma once

#include <string>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "settings/settings.hpp"

namespace hob::mpi {

/// The one runtime of a process. Filled by start(); read by everybody afterwards.
struct Runtime {
  settings::Settings settings;
  int rank = 0;                   ///< in the world the program sees
  int size = 1;                   ///< of it
  bool world = false;             ///< MPI_Init was called (not only sessions)
  MPI_Comm comm = MPI_COMM_NULL;  ///< Hob's own communicator over the program's world
  bool one_node = false;          ///< all ranks share memory
  std::string host;
  std::string mpi_version;
  double started = 0;              ///< seconds since the Unix epoch
  std::vector<std::string> notes;  ///< plain sentences for the report; only from this process
  bool memory_shared_by_windows = false;  ///< some window shows memory that another one shows too
};

Runtime& runtime();

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

/// Adds a sentence to the report, once.
void note(std::string sentence);

/// The rank that the launcher gave this process, before MPI is initialised; -1 if none did.
int launcher_rank();

/// Called at the end by finish(): writes summary and JSON.
void write_reports();

}  // namespace hob::mpi
