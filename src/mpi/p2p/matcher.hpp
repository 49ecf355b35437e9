// Hob's posted-receive queue (PRQ) and unexpected-message queue (UMQ), over all communicators: what
// enters and leaves them, and the dequeuing of messages from the MPI library.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/lasting.hpp"
#include "match/depth_meter.hpp"
#include "match/engine.hpp"
#include "mpi/p2p/channel.hpp"
#include "mpi/p2p/posted_receive.hpp"
#include "mpi/p2p/takeover.hpp"

namespace hob::mpi::p2p {

/// A message that was dequeued and is not received yet.
struct UnexpectedMessage {
  MPI_Message handle;
  MPI_Status status;
  match::DepthMeter::Ticket ticket;
  std::uint64_t kept = 0;  ///< bytes of it that the library keeps here
};

/// The queues of this process. Guarded by the gate.
struct Matcher {
  std::unique_ptr<match::Engine> engine;
  std::vector<Channel*> active;  ///< with receives in the PRQ
  std::uint64_t pending = 0;     ///< receives in the PRQ that no thread is blocked in
  std::uint64_t dequeued = 0;    ///< messages in all
  bool served = false;           ///< a receive that a thread waits for got its message since reset
  std::unique_ptr<UnexpectedMessage> spare;
  std::vector<std::unique_ptr<UnexpectedMessage>> free_messages;
};

inline Matcher& matcher() { return lasting<Matcher>(); }

// In all of the following, the gate is held.

/// Puts a receive into the PRQ; its channel has no message for it in the UMQ. Throws std::bad_alloc
/// with nothing changed.
void post_to_prq(PostedReceive& receive);

/// The receive leaves the PRQ without a message: it is cancelled.
void withdraw(PostedReceive& receive);

/// A receive that is not in the PRQ gets its message.
void give(PostedReceive& receive, MPI_Message message, const MPI_Status& status);

/// Dequeues what has come from the library, while there are receives for it, and until one that a
/// thread waits for has its message: to look once more than needed costs a look at the network.
void dequeue(Channel& channel);
/// The same for all channels with receives in the PRQ.
void dequeue_all();

/// For a receive before which nothing is posted: dequeues what has come from the library up to the
/// message that it takes, which is in Matcher::spare then. Null if that was not found.
const UnexpectedMessage* dequeue_up_to(Channel& channel, const Wanted& wanted);

/// Dequeues all unexpected messages of the library. How many.
std::uint64_t empty_library(Channel& channel);

/// MPI_Improbe.
int improbe(const Channel& channel, Wanted wanted, int* flag, MPI_Message* message,
            MPI_Status* status);

/// Takes a message out of the UMQ, if one is there.
std::unique_ptr<UnexpectedMessage> take_unexpected(Channel& channel, const Wanted& wanted);
/// Its object is free for the next message.
void recycle(std::unique_ptr<UnexpectedMessage> message);

/// What the UMQ has for a probe: its message stays.
bool show_unexpected(Channel& channel, const Wanted& wanted, MPI_Status* status);

/// What the UMQ has for a matched probe: its message is the program's now.
bool hand_out_unexpected(Channel& channel, const Wanted& wanted, MPI_Message* message,
                         MPI_Status* status);

/// Reposts the channel's PRQ natively, in order.
void repost_natively(Channel& channel);

/// The same, for good: the library uses this communicator in a way that dequeuing would disturb.
/// What Hob has dequeued still matches.
void leave_to_library(Channel& channel);

/// The program waits for a receive in the PRQ, and few are there in all: the library has them
/// searched sooner than Hob has dequeued a message (docs/takeover.md). The instruments go on
/// following them.
void repost_few(Channel& channel);

/// Memory is gone where MPI offers no way to say so: a sentence, and the job ends.
[[noreturn]] void out_of_memory();

}  // namespace hob::mpi::p2p
