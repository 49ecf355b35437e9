// How MPI libraries differ inside, where Hob must know. One table: a family's row is in a file of
// its own (mpich.hpp, openmpi.hpp, abi.hpp), and library.hpp chooses it.
#pragma once

#include <cstdint>

namespace hob::mpi::library {

/// One family of libraries.
struct Traits {
  /// Its progress engine takes callbacks (opal_progress_register). Otherwise Hob is called where
  /// the library calls UCX, if it does: ucp_worker_progress and the closing of connections are
  /// Hob's.
  bool has_progress_callbacks;
  /// MPI_Iprobe on MPI_COMM_SELF drives all of its progress, for less than a test of a request.
  bool probe_drives_progress;
  /// Its receives are in one list for each source: a message is compared with those of its source.
  bool receives_by_source;
  /// MPI_Intercomm_create sends messages with the program's tag on the program's communicator.
  bool leaders_use_program_comm;
  /// With several threads, delete callbacks of attributes run under a lock that freeing a
  /// communicator takes.
  bool locks_attributes;
  /// Long answers to gets come in pieces where MPIR_CVAR_CH4_OFI_ENABLE_RMA is 0
  /// (workarounds/long_replies.hpp).
  bool may_split_answers;
  /// Partitioned transfers are announced by messages on the program's communicators, from Open MPI
  /// 5 on, and their first use duplicates MPI_COMM_WORLD.
  bool announces_partitioned;
  /// An info key of MPI_Comm_spawn gives the child variables of the environment.
  bool spawns_with_variables;
  /// It may communicate over libfabric, as MPICH does (workarounds/complete_puts.hpp).
  bool may_run_over_libfabric;
  /// MPI_Request_get_status has no other effect on a request than that of any look. MPICH's reports
  /// a receive's error, frees what a persistent request has started, and completes a request of a
  /// file again each time.
  bool status_is_a_look;
  /// A window may be in an epoch of locks while other processes are in a fence of it: the library's
  /// account of epochs is each process's own. Of Open MPI's components it is not known.
  bool keeps_epochs_locally;
  /// Error handlers get two pointers more than MPI asks for: a text, and null.
  bool passes_error_texts;
  /// A persistent request whose transfer has failed is freed.
  bool frees_failed_requests;
  /// Messages in Hob's UMQ, each of which takes a request of the library's.
  std::uint64_t most_unexpected;
};

}  // namespace hob::mpi::library
