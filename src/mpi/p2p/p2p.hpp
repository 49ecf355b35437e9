// The receive side of point-to-point communication, taken over from the MPI library where its
// queues get long: docs/takeover.md. What the layers above see of it.
#pragma once

#include "mpi/p2p/state.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::p2p {

/// Adds the queues to the report. Before MPI starts.
void register_queues_report();

/// Before MPI starts. An unknown match_strategy ends the process with status 2.
void prepare();

/// After MPI has started: reads the settings.
void start();

/// Before MPI ends: what is in Hob's PRQ goes to the library; adds what is worth a sentence to the
/// report.
void finish();

/// From now on, all receives go to the library; messages that Hob has already are still received.
void leave_to_library();

/// The calls of the program. Sources, tags, communicators, statuses and errors as in MPI.
struct Wanted {
  int source;
  int tag;
  MPI_Comm comm;
};
struct Buffer {
  void* memory;
  MPI_Count count;
  MPI_Datatype type;
};

int receive(const Buffer& buffer, const Wanted& wanted, MPI_Status* status);
int start_receive(const Buffer& buffer, const Wanted& wanted, MPI_Request* request);
int make_persistent(const Buffer& buffer, const Wanted& wanted, MPI_Request* request);
int probe(const Wanted& wanted, MPI_Status* status);
int test_probe(const Wanted& wanted, int* flag, MPI_Status* status);
int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status);
int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status);

/// The same calls in reentrant calls, while there are messages in Hob's UMQ (`queued`): from
/// attribute callbacks of the program, within Hob's own calls or MPI_Finalize. What Hob has comes
/// first; all else is the library's.
namespace reentrant {
int receive(const Buffer& buffer, const Wanted& wanted, MPI_Status* status);
int start_receive(const Buffer& buffer, const Wanted& wanted, MPI_Request* request);
int probe(const Wanted& wanted, MPI_Status* status);
int test_probe(const Wanted& wanted, int* flag, MPI_Status* status);
int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status);
int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status);
}  // namespace reentrant

/// Whether a receive here may go straight to the library, which may block in it.
bool simply_native(MPI_Comm comm);

/// Gives the receives of this communicator that are in Hob's PRQ to the library.
void repost_natively(MPI_Comm comm);

/// The same, and the communicator's handle is about to go; it is gone, or has not gone.
void about_to_go(MPI_Comm comm);
void gone(MPI_Comm comm);
void stays(MPI_Comm comm);
/// MPI ends, and with it all of them.
void forget_communicators();

/// The same, after the communicator got hints on which the library may rely from now on.
void hints_changed(MPI_Comm comm);

/// The program is about to make one communicator of two groups of processes.
void foreign_processes_possible();

/// Whether Hob ever dequeues messages from the library.
bool may_dequeue();

/// The same of a program with many threads, from the settings and the process alone: before
/// start().
bool may_dequeue_with_threads();

}  // namespace hob::mpi::p2p
