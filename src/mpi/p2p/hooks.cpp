// Point-to-point calls of the program.
#include "mpi/pmpi/hooks.hpp"

#include <cstdlib>
#include <new>

#include "mpi/core/context.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi {
namespace {

/// A send that blocks, made of one that does not, so that Hob's things advance meanwhile.
template <class Start>
int send_and_wait(Start start) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = start(&request);
  return error == MPI_SUCCESS ? requests::wait(&request, MPI_STATUS_IGNORE) : error;
}

/// The half that sends did not start. In MPICH 5 a program's own error handler turns the error into
/// success.
bool not_started(int error, MPI_Request send) {
  return error != MPI_SUCCESS || send == MPI_REQUEST_NULL;
}

/// What the program sends from a buffer that it receives into at the same time.
class Packed {
 public:
  Packed(const void* buffer, MPI_Count count, MPI_Datatype type, MPI_Comm comm) {
    int bytes = 0;
    if (count < 0 || count > INT_MAX || type == MPI_DATATYPE_NULL ||
        real::Type_size(type, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED ||
        count * bytes > kMost)
      return;
    const int elements = static_cast<int>(count);
    if (real::Pack_size(elements, type, comm, &bytes) != MPI_SUCCESS) return;
    data_ = std::malloc(static_cast<std::size_t>(bytes) + 1);
    if (data_ && real::Pack(buffer, elements, type, data_, bytes, &size_, comm) != MPI_SUCCESS) {
      std::free(data_);
      data_ = nullptr;
    }
  }
  ~Packed() { std::free(data_); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  bool good() const { return data_ != nullptr; }
  const void* data() const { return data_; }
  int size() const { return size_; }

 private:
  /// Bytes: what MPI_Pack_size can say, with room for what the library adds.
  static constexpr MPI_Count kMost = INT_MAX - 65536;

  void* data_ = nullptr;
  int size_ = 0;
};

/// MPI_Isendrecv: complete when both halves are. The status is the receive's.
class SendAndReceive final : public Operation {
 public:
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Request receive = MPI_REQUEST_NULL;
  Packed* packed = nullptr;

  bool ready() override {
    int flag = 1;
    if (send != MPI_REQUEST_NULL &&
        (error_ = real::Test(&send, &flag, MPI_STATUS_IGNORE)) != MPI_SUCCESS)
      return true;
    if (!flag) return false;
    if (received_) return true;
    // A test of Hob's own receive that is not ready would advance others.
    if (Operation* own = requests::find(receive); own && !own->ready()) return false;
    error_ = on_Test(&receive, &flag, &status_);
    received_ = flag != 0 || error_ != MPI_SUCCESS;
    return received_;
  }
  int result(MPI_Status* status) override {
    requests::copy_status(status_, status);
    return error_;
  }
  void retire() override { delete this; }
  void abandon() override {
    // The buffer of a replace stays until the send is complete, of which no caller learns.
    if (packed && send != MPI_REQUEST_NULL) packed = nullptr;
    if (send != MPI_REQUEST_NULL) real::Request_free(&send);
    if (receive != MPI_REQUEST_NULL) on_Request_free(&receive);
    delete this;
  }
  ~SendAndReceive() override { delete packed; }

 private:
  bool received_ = false;
  int error_ = MPI_SUCCESS;
  MPI_Status status_{};
};

/// The other half, of which the sending one was started with `error`.
int receive_too(SendAndReceive* both, int error, const p2p::Buffer& target,
                const p2p::Wanted& wanted, MPI_Request* request) {
  if (!not_started(error, both->send)) error = p2p::start_receive(target, wanted, &both->receive);
  if (both->receive != MPI_REQUEST_NULL)
    *request = requests::add(*both);
  else
    both->abandon();
  return error;
}

}  // namespace

int on_Recv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
            MPI_Status* status) {
  // While Hob is off, the wrapper has asked already.
  if (!tracking_off() && !blocking_needs_care() && p2p::fast_path.receive(count, source, comm))
    return call::Recv(buf, count, datatype, source, tag, comm, status);
  return p2p::receive({buf, count, datatype}, {source, tag, comm}, status);
}

int on_Irecv(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Request* request) {
  if (!tracking_off() && p2p::fast_path.start(count, source, comm))
    return call::Irecv(buf, count, datatype, source, tag, comm, request);
  return p2p::start_receive({buf, count, datatype}, {source, tag, comm}, request);
}

int on_Recv_init(void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag,
                 MPI_Comm comm, MPI_Request* request) {
  return p2p::make_persistent({buf, count, datatype}, {source, tag, comm}, request);
}

int on_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status) {
  return p2p::probe({source, tag, comm}, status);
}

int on_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  return p2p::test_probe({source, tag, comm}, flag, status);
}

int on_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  return p2p::matched_probe({source, tag, comm}, message, status);
}

int on_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
               MPI_Status* status) {
  return p2p::test_matched_probe({source, tag, comm}, flag, message, status);
}

namespace {

/// By the library's blocking call, or the nonblocking one.
template <auto kSend, auto kStart>
int send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
         MPI_Comm comm) {
  if (HOB_LIKELY(!blocking_needs_care())) {
    const Blocking blocking;
    return kSend(buf, count, datatype, dest, tag, comm);
  }
  return send_and_wait(
      [&](MPI_Request* request) { return kStart(buf, count, datatype, dest, tag, comm, request); });
}

}  // namespace

int on_Send(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
            MPI_Comm comm) {
  return send<call::Send, call::Isend>(buf, count, datatype, dest, tag, comm);
}

int on_Ssend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm) {
  return send<call::Ssend, call::Issend>(buf, count, datatype, dest, tag, comm);
}

int on_Rsend(const void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm) {
  return send<call::Rsend, call::Irsend>(buf, count, datatype, dest, tag, comm);
}

int on_Sendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
                int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (p2p::simply_native(comm))
    return call::Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                          source, recvtag, comm, status);
  MPI_Request send = MPI_REQUEST_NULL;
  if (const int error = call::Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &send);
      not_started(error, send))
    return error;
  const int received =
      p2p::receive({recvbuf, recvcount, recvtype}, {source, recvtag, comm}, status);
  const int sent = requests::wait(&send, MPI_STATUS_IGNORE);
  return received != MPI_SUCCESS ? received : sent;
}

int on_Sendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                        int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  if (p2p::simply_native(comm))
    return call::Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                  status);
  const Packed packed(buf, count, datatype, comm);
  if (!packed.good()) {
    p2p::repost_natively(comm);
    return call::Sendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                  status);
  }
  MPI_Request send = MPI_REQUEST_NULL;
  if (const int error =
          real::Isend(packed.data(), packed.size(), MPI_PACKED, dest, sendtag, comm, &send);
      not_started(error, send))
    return error;
  const int received = p2p::receive({buf, count, datatype}, {source, recvtag, comm}, status);
  const int sent = requests::wait(&send, MPI_STATUS_IGNORE);
  return received != MPI_SUCCESS ? received : sent;
}

int on_Isendrecv(const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest,
                 int sendtag, void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source,
                 int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (p2p::simply_native(comm))
    return call::Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, request);
  auto* both = new (std::nothrow) SendAndReceive;
  if (!both) {
    p2p::repost_natively(comm);
    return call::Isendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                           recvtype, source, recvtag, comm, request);
  }
  const int sent = call::Isend(sendbuf, sendcount, sendtype, dest, sendtag, comm, &both->send);
  return receive_too(both, sent, {recvbuf, recvcount, recvtype}, {source, recvtag, comm}, request);
}

int on_Isendrecv_replace(void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Request* request) {
  if (p2p::simply_native(comm))
    return call::Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                   request);
  auto* both = new (std::nothrow) SendAndReceive;
  if (both) both->packed = new (std::nothrow) Packed(buf, count, datatype, comm);
  if (!both || !both->packed || !both->packed->good()) {
    if (both) both->abandon();
    p2p::repost_natively(comm);
    return call::Isendrecv_replace(buf, count, datatype, dest, sendtag, source, recvtag, comm,
                                   request);
  }
  const int sent = real::Isend(both->packed->data(), both->packed->size(), MPI_PACKED, dest,
                               sendtag, comm, &both->send);
  return receive_too(both, sent, {buf, count, datatype}, {source, recvtag, comm}, request);
}

int on_Comm_set_info(MPI_Comm comm, MPI_Info info) {
  const int error = real::Comm_set_info(comm, info);
  p2p::hints_changed(comm);
  return error;
}

int on_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm* newintracomm) {
  p2p::foreign_processes_possible();
  return real::Intercomm_merge(intercomm, high, newintracomm);
}

/// The leaders talk on the peer communicator, in Open MPI with the program's tag: a message that
/// Hob could draw. They can as well talk on Hob's own communicator; where other processes than its
/// own meet, nothing is dequeued.
int on_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                        int remote_leader, int tag, MPI_Comm* newintercomm) {
  const Context& process = context();
  int rank = 0;
  real::Comm_rank(local_comm, &rank);
  if (p2p::may_dequeue() && process.comm != MPI_COMM_NULL && rank == local_leader &&
      peer_comm != MPI_COMM_NULL) {
    MPI_Group peers = p2p::senders_of(peer_comm), all = MPI_GROUP_NULL;
    real::Comm_group(process.comm, &all);
    int size = 0, leader = MPI_UNDEFINED;
    real::Group_size(peers, &size);
    if (remote_leader >= 0 && remote_leader < size)
      real::Group_translate_ranks(peers, 1, &remote_leader, all, &leader);
    real::Group_free(&peers);
    real::Group_free(&all);
    if (leader != MPI_UNDEFINED)
      return real::Intercomm_create(local_comm, local_leader, process.comm, leader, tag,
                                    newintercomm);
  }
  return real::Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag,
                                newintercomm);
}

}  // namespace hob::mpi
