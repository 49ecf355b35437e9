#include "mpi/p2p/library.hpp"

#include <cstdlib>
#include <limits>

#include "base/two_ways.hpp"
#include "mpi/core/handle.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/library/library.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::p2p {

int native_receive(const Buffer& b, const Wanted& w, MPI_Status* status) {
  return call::Recv(b.memory, b.count, b.type, w.source, w.tag, w.comm, status);
}

int native_start(const Buffer& b, const Wanted& w, MPI_Request* request) {
  return call::Irecv(b.memory, b.count, b.type, w.source, w.tag, w.comm, request);
}

int native_persistent(const Buffer& b, const Wanted& w, MPI_Request* request) {
  return call::Recv_init(b.memory, b.count, b.type, w.source, w.tag, w.comm, request);
}

int native_mrecv(const Buffer& b, MPI_Message* message, MPI_Status* status) {
  return call::Mrecv(b.memory, b.count, b.type, message, status);
}

int native_imrecv(const Buffer& b, MPI_Message* message, MPI_Request* request) {
  return call::Imrecv(b.memory, b.count, b.type, message, request);
}

int predefined_size(MPI_Datatype type) {
  struct Known {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    int bytes = 0;
  };
  static TwoWays<Known, 32> table;
  const std::size_t home = handle_hash(handle_bits(type), 5);
  if (const Known* known =
          table.find(home, [type](const Known& each) { return each.type == type; }))
    return known->bytes;
  int integers = 0, addresses = 0, types = 0, combiner = 0, bytes = 0;
  // What is no type any more may be one again.
  if (real::Type_get_envelope(type, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
      combiner != MPI_COMBINER_NAMED || real::Type_size(type, &bytes) != MPI_SUCCESS)
    return -1;
  table.put(home, {type, bytes});
  return bytes;
}

MPI_Count room_of(const Buffer& buffer) {
  int size = predefined_size(buffer.type);
  if (size < 0 && real::Type_size(buffer.type, &size) != MPI_SUCCESS) size = MPI_UNDEFINED;
  return size == MPI_UNDEFINED ? std::numeric_limits<MPI_Count>::max() : buffer.count * size;
}

bool too_long(const Buffer& buffer, const MPI_Status& status) {
  const MPI_Count bytes = library::message_bytes(status);
  return bytes != 0 && bytes > room_of(buffer);
}

Buffer discarding(const MPI_Status& status) {
  const MPI_Count bytes = library::message_bytes(status);
  return {std::malloc(static_cast<std::size_t>(bytes)), bytes, MPI_BYTE};
}

bool refused(const Buffer& buffer, Wanted wanted, int& error) {
  error = MPI_SUCCESS;
  if (buffer.memory && predefined_size(buffer.type) >= 0) return false;
  // In MPICH 5 a program's own error handler turns errors into success, but no status is set.
  MPI_Status status;
  status.MPI_SOURCE = MPI_ANY_SOURCE;
  wanted.source = MPI_PROC_NULL;
  error = native_receive(buffer, wanted, &status);
  return error != MPI_SUCCESS || status.MPI_SOURCE != MPI_PROC_NULL;
}

MPI_Group senders_of(MPI_Comm comm) {
  int inter = 0;
  MPI_Group group = MPI_GROUP_NULL;
  real::Comm_test_inter(comm, &inter);
  if (inter)
    real::Comm_remote_group(comm, &group);
  else
    real::Comm_group(comm, &group);
  return group;
}

}  // namespace hob::mpi::p2p
