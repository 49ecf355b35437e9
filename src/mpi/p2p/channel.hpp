// What Hob knows of the receives and messages of one communicator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "match/envelope.hpp"
#include "match/meters.hpp"
#include "match/sampler.hpp"
#include "match/search_timer.hpp"
#include "match/source_share.hpp"
#include "match/takeover_policy.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/p2p/takeover.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/requests/request.hpp"

namespace hob::mpi::p2p {

/// The receives of one communicator, wherever they wait. Guarded by the gate.
class Channel final : public CompletionObserver {
 public:
  Channel(MPI_Comm handle, std::uint32_t number);

  /// A watched receive that went to the library is complete. Takes the gate, unless this thread has
  /// it.
  void completed(std::uint64_t ticket, bool freed) override;
  bool may_end() const override { return true; }

  /// Receives at the library, as far as is known.
  std::uint64_t at_library() const { return outstanding + sampler.unseen(); }

  /// A new nonblocking receive may have to go to Hob's PRQ. Cheap; may be true too often.
  bool takes_over() const;

  /// Whether a receive is timed, since the library may search many unexpected messages. libfabric's
  /// tcp provider searches dequeued messages, too, so that nothing is gained there.
  bool times_receives() { return timer.due() && !native_only && !asks_source; }

  /// So many unexpected messages were dequeued that receiving them costs more than is gained.
  bool is_crowded() const;

  /// A new blocking one goes to the library. While a thread is in it, nothing is posted that it
  /// could hold up, so by itself it is no reason to begin a takeover.
  bool blocking_goes_native() const {
    return prq_length == 0 && !(takeover().mode == Takeover::Mode::always && takes_over());
  }

  /// A new nonblocking receive goes to Hob's PRQ. Receives at the library must all be older than
  /// those in Hob's PRQ, so all that follow it go there, too.
  bool begins_takeover();

  /// Reads whether the program's hints forbid wildcards, and so dequeuing.
  void read_hints();

  /// Whether Hob may look at this receive or probe at all; everything else, mistakes included, is
  /// the library's.
  bool serves(const Wanted& w) const {
    return !of_threads && (w.source == MPI_ANY_SOURCE || (w.source >= 0 && w.source < ranks)) &&
           (w.tag == MPI_ANY_TAG || (w.tag >= 0 && w.tag <= highest_tag));
  }
  bool serves(const Wanted& wanted, const Buffer& buffer) const {
    return serves(wanted) && buffer.count >= 0 && buffer.type != MPI_DATATYPE_NULL;
  }

  match::Envelope envelope(int source, int tag) const {
    return {context, source == MPI_ANY_SOURCE ? match::kAnySource : source,
            tag == MPI_ANY_TAG ? match::kAnyTag : tag};
  }

  /// A receive of so many elements goes to the library, and is not timed.
  void started_natively(MPI_Count elements) {
    ++meters.counters.native;
    timer.started(static_cast<std::uint64_t>(elements));
  }

  /// One more receive waits at the library, and Hob will hear of its end.
  void posted_at_library();

  /// The sentinel, for requests::watch(); one more is at the library.
  CompletionObserver& post_sentinel() {
    sampler.sentinel_posted();
    return sentinel_;
  }

  /// The sentinel is complete. The gate is held.
  void sentinel_completed();

  // Of the communicator.

  MPI_Comm comm;
  std::uint32_t context;
  int ranks = 0;  ///< that may send here
  int highest_tag = 0;
  bool among_others = false;       ///< a message here may come from another process
  bool foreign_processes = false;  ///< processes of another world, where that matters
  bool native_only = false;        ///< no receive ever goes to Hob's PRQ, nothing is dequeued
  bool is_left = false;            ///< the same, for good: leave_to_library()
  bool uncounted = false;          ///< the same, and it has been said that nothing is counted
  bool of_threads = false;         ///< belongs_to_threads(): Hob looks at nothing here
  bool ends = false;               ///< the communicator is being freed, and messages are left
  bool gone = false;               ///< it was
  bool errors_return = false;      ///< the library calls no error handler of the program's now
  bool asks_source = false;        ///< before a message is dequeued: matcher.cpp, improbe()

  // Of direct_calls.hpp.

  bool granted_to_threads = false;  ///< a thread may have a grant here
  bool awaits_threads = false;      ///< none has, but one may still be inside

  // Who sends next, where Hob has to ask.

  int likely_source = 0;
  std::uint32_t guesses = 0;  ///< times that this is tried before Hob asks again

  // Where receives and messages are.

  std::uint64_t prq_length = 0;   ///< receives in Hob's PRQ
  std::uint64_t umq_length = 0;   ///< messages in Hob's UMQ
  std::uint64_t outstanding = 0;  ///< nonblocking receives at the library, not known to be complete
  std::size_t active_place = 0;   ///< in the matcher's list of channels with receives in the PRQ
  std::uint64_t references = 0;   ///< receives and watched requests that point here
  match::SourceShare prq_sources;

  match::Sampler sampler;
  match::SearchTimer timer;
  match::TakeoverPolicy policy;
  match::Meters meters;

 private:
  class Sentinel final : public CompletionObserver {
   public:
    explicit Sentinel(Channel& of) : channel_(of) {}
    void completed(std::uint64_t, bool) override;
    bool may_end() const override { return true; }

   private:
    Channel& channel_;
  };

  Sentinel sentinel_{*this};
};

/// The channel of a communicator, made at its first use; null for a handle that is none, or without
/// memory. The gate is held.
Channel* channel_of(MPI_Comm comm);

/// The same, but null if there has been no use. The gate is held.
Channel* known_channel(MPI_Comm comm);

/// Forgets the handle; the channel goes when nothing points to it any more. The gate is held.
void forget(Channel& channel);
void drop_reference(Channel& channel);

/// All channels whose communicator has not been freed, oldest first. The gate is held.
std::vector<Channel*> all_channels();

// fast_path_grants.cpp

/// Lets the next receives of this channel take the fast path, if they may. The gate is held.
void grant_fast_path(Channel& channel);

/// Books those that took it, and ends it. Before anything that looks at or changes what a channel
/// counts or queues. The gate is held.
void settle_fast_path();

/// Records the report of an ending channel. The gate is held.
void remember(const Channel& channel);

}  // namespace hob::mpi::p2p
