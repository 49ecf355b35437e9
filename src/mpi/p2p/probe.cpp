// The probes of the program, and all receives and probes in reentrant calls.
#include <mutex>

#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/library.hpp"
#include "mpi/p2p/matcher.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/interim.hpp"

namespace hob::mpi::p2p {
namespace {

/// A probe that is the library's own: nothing of Hob's is concerned, or it returns at once
/// (MPI_PROC_NULL, wrong arguments: MPICH 5 turns errors into success where the program handles
/// them itself).
bool native_probe(const Wanted& wanted) {
  if (simply_native(wanted.comm)) return true;
  const std::lock_guard guard(gate);
  const Channel* channel = channel_of(wanted.comm);
  return !channel || !channel->serves(wanted);
}

/// Receives in the PRQ advance, for other communicators too: their senders may be what is waited
/// for.
void advance_others() {
  if (parts_under_way.load(std::memory_order_relaxed) != 0) advance();
}

}  // namespace

int test_probe(const Wanted& wanted, int* flag, MPI_Status* status) {
  advance_others();
  const std::lock_guard guard(gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !channel->serves(wanted))
    return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
  if (channel->prq_length != 0) dequeue(*channel);
  if ((*flag = show_unexpected(*channel, wanted, status))) return MPI_SUCCESS;
  if (channel->prq_length == 0)
    return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
  *flag = 0;
  return MPI_SUCCESS;
}

int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status) {
  advance_others();
  const std::lock_guard guard(gate);
  Channel* channel = channel_of(wanted.comm);
  if (!channel || !channel->serves(wanted))
    return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
  if (channel->prq_length != 0) dequeue(*channel);
  if ((*flag = hand_out_unexpected(*channel, wanted, message, status))) return MPI_SUCCESS;
  if (channel->prq_length == 0) return improbe(*channel, wanted, flag, message, status);
  *flag = 0;
  return MPI_SUCCESS;
}

bool simply_native(MPI_Comm comm) {
  if (many_threads || blocking_needs_care()) return false;
  report_if_due();
  const std::lock_guard guard(gate);
  settle_fast_path();
  Channel* channel = channel_of(comm);
  if (!channel) return true;
  if (channel->umq_length != 0 || !channel->blocking_goes_native() ||
      (!channel->native_only && channel->timer.due()))
    return false;
  grant_fast_path(*channel);
  return true;
}

int probe(const Wanted& wanted, MPI_Status* status) {
  if (native_probe(wanted)) return real::Probe(wanted.source, wanted.tag, wanted.comm, status);
  return advance_until_found([&](int* flag) { return test_probe(wanted, flag, status); });
}

int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status) {
  if (native_probe(wanted))
    return real::Mprobe(wanted.source, wanted.tag, wanted.comm, message, status);
  return advance_until_found(
      [&](int* flag) { return test_matched_probe(wanted, flag, message, status); });
}

namespace reentrant {
namespace {

/// The message that Hob has for this receive or probe, taken out of the UMQ if `take`.
bool find(const Wanted& wanted, bool take, MPI_Message* message, MPI_Status* status) {
  if (gate.mine()) return false;  // called back from within what changes the queues
  const std::lock_guard guard(gate);
  Channel* channel = known_channel(wanted.comm);
  if (!channel || !channel->serves(wanted)) return false;
  return take ? hand_out_unexpected(*channel, wanted, message, status)
              : show_unexpected(*channel, wanted, status);
}

}  // namespace

int receive(const Buffer& buffer, const Wanted& wanted, MPI_Status* status) {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (find(wanted, true, &message, MPI_STATUS_IGNORE))
    return native_mrecv(buffer, &message, status);
  return native_receive(buffer, wanted, status);
}

int start_receive(const Buffer& buffer, const Wanted& wanted, MPI_Request* request) {
  MPI_Message message = MPI_MESSAGE_NULL;
  if (find(wanted, true, &message, MPI_STATUS_IGNORE))
    return native_imrecv(buffer, &message, request);
  return native_start(buffer, wanted, request);
}

int probe(const Wanted& wanted, MPI_Status* status) {
  if (find(wanted, false, nullptr, status)) return MPI_SUCCESS;
  return real::Probe(wanted.source, wanted.tag, wanted.comm, status);
}

int test_probe(const Wanted& wanted, int* flag, MPI_Status* status) {
  if ((*flag = find(wanted, false, nullptr, status))) return MPI_SUCCESS;
  return real::Iprobe(wanted.source, wanted.tag, wanted.comm, flag, status);
}

int matched_probe(const Wanted& wanted, MPI_Message* message, MPI_Status* status) {
  if (find(wanted, true, message, status)) return MPI_SUCCESS;
  return real::Mprobe(wanted.source, wanted.tag, wanted.comm, message, status);
}

int test_matched_probe(const Wanted& wanted, int* flag, MPI_Message* message, MPI_Status* status) {
  if ((*flag = find(wanted, true, message, status))) return MPI_SUCCESS;
  return real::Improbe(wanted.source, wanted.tag, wanted.comm, flag, message, status);
}

}  // namespace reentrant

}  // namespace hob::mpi::p2p
