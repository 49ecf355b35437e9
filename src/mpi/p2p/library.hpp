// The MPI library's own receives, with counts of any size, and what Hob asks of it about them.
#pragma once

#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::p2p {

int native_receive(const Buffer& buffer, const Wanted& wanted, MPI_Status* status);
int native_start(const Buffer& buffer, const Wanted& wanted, MPI_Request* request);
int native_persistent(const Buffer& buffer, const Wanted& wanted, MPI_Request* request);
int native_mrecv(const Buffer& buffer, MPI_Message* message, MPI_Status* status);
int native_imrecv(const Buffer& buffer, MPI_Message* message, MPI_Request* request);

/// Bytes of an element of one of MPI's own datatypes, which cannot be freed while a receive waits
/// in Hob's PRQ; -1 of any other. A small table remembers them. The gate is held.
int predefined_size(MPI_Datatype type);

/// Bytes of the longest message that fits. The gate is held.
MPI_Count room_of(const Buffer& buffer);

/// A message that is longer than its receive. The libraries report what goes wrong in receiving a
/// probed message to another communicator's error handler, so Hob looks beforehand. The gate is
/// held.
bool too_long(const Buffer& buffer, const MPI_Status& status);

/// Where a message that is too long goes. Null memory if there is none.
Buffer discarding(const MPI_Status& status);

/// Whether the library would refuse this receive at once, which Hob is about to post to its PRQ,
/// and with what error: it looks at the same buffer and type, of a receive from no rank. The gate
/// is held.
bool refused(const Buffer& buffer, Wanted wanted, int& error);

/// Whose messages come on a communicator: of an intercommunicator, the remote group. To be freed.
MPI_Group senders_of(MPI_Comm comm);

}  // namespace hob::mpi::p2p
