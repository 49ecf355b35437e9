// What Hob knows of this process: its settings and its place in the job.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

#include "mpi/pmpi/mpi.hpp"
#include "settings/settings.hpp"

namespace hob::mpi {

/// Filled while MPI starts (lifecycle/lifecycle.hpp), and only read afterwards.
struct Context {
  settings::Settings settings;
  int rank = 0;                   ///< in the world that the program sees
  int size = 1;                   ///< of it
  bool world = false;             ///< MPI_Init was called (not only sessions)
  MPI_Comm comm = MPI_COMM_NULL;  ///< Hob's own communicator over the program's world
  bool one_node = false;          ///< all ranks share memory
  bool alone_on_node = false;     ///< no other rank shares memory with this one
  bool crowded = false;           ///< more ranks on this node than processors
  bool first_on_node = true;      ///< none that shares memory with this one has a lower rank
  std::vector<int> node_ranks;    ///< of the program's world, those that share memory with this one
  /// The program asked for a thread level: while one thread is in a call, others may store.
  bool threads_may_store = true;
  /// An error handler that may return was set on some communicator of the program's.
  std::atomic<bool> errors_may_return{false};
  void note_error_handler(MPI_Errhandler handler) {
    if (handler != MPI_ERRORS_ARE_FATAL) errors_may_return.store(true, std::memory_order_relaxed);
  }
  /// Bytes that a get of Hob's own may bring, at most (workarounds/long_replies.hpp).
  std::uint64_t longest_get = std::numeric_limits<std::uint64_t>::max();
  std::string host;
  std::string mpi_version;
  double started = 0;              ///< seconds since the Unix epoch
  std::uint64_t core_waits = 0;    ///< ns that the main thread had waited for a core until then
  std::vector<std::string> notes;  ///< plain sentences for the report; only from this process
  std::mutex lock_of_notes;
  std::string suffix;      ///< of files that this job writes; "" unless another job began it
  int first_pid = 0;       ///< process id of its rank 0
  int interim_writer = 0;  ///< of the process that writes the job's interim reports; not of its
                           ///< children, which inherit the handler of the exit
};

/// The one context of a process. Global, since MPI calls have no argument that could carry it.
Context& context();

/// Adds a sentence to the report, once. Thread safe.
void note(std::string sentence);

/// The notes so far. Thread safe.
std::vector<std::string> all_notes();

/// Where this job writes what the settings name: a job that another one began (MPI_Comm_spawn, or a
/// launcher called by a program) has the same settings, and must not write over the other's files.
/// %j in the name is the job and its step, %h the host, %p the process id of rank 0, %% a percent
/// sign.
std::string output_path(const std::string& configured);

/// The rank that the launcher gave this process, before MPI is initialised; -1 if none did.
int launcher_rank();

/// Ends this process before MPI_Init with status 2, after rank 0 has said why. Launchers end a job
/// at the first process that ends: the others wait a second, so that rank 0 is heard.
[[noreturn]] void end_at_start();

}  // namespace hob::mpi
