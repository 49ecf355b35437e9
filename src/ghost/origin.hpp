// What an application rank does to reach targets through ghosts: direct access on its own node,
// request messages to others (endpoints.hpp), with locks taken with the first operation and given
// back with the last.
//
// Threads: as in endpoints.hpp. Several threads may operate on one peer, flush it, and wait, at
// once; an epoch is opened and closed by one thread, as MPI asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ghost/binding.hpp"
#include "ghost/endpoints.hpp"
#include "ghost/memory.hpp"
#include "ghost/peer.hpp"
#include "ghost/transport.hpp"
#include "ghost/wire.hpp"

namespace hob::ghost {

class Origin {
 public:
  struct Config {
    Combine combine = nullptr;
    Binding binding = Binding::rank;
    std::uint64_t chunk = 1 << 20;  ///< longest single transfer
    Endpoints::Limits limits;
  };
  struct Stats {
    std::uint64_t direct = 0;  ///< operations done in shared memory by this process
    std::uint64_t direct_bytes = 0;
    std::uint64_t through_kernel = 0;  ///< direct ones by system calls: the memory is not mapped
    std::uint64_t redirected = 0;      ///< operations given to ghosts
    std::uint64_t redirected_bytes = 0;
    std::uint64_t messages = 0;    ///< requests sent
    std::uint64_t split = 0;       ///< operations that went to more than one ghost
    std::uint64_t dynamic = 0;     ///< operations whose ghost was chosen by load
    std::uint64_t lock_waits = 0;  ///< direct locks that were not free at once
    std::uint64_t wait_ns = 0;     ///< time in waits for ghosts and locks
    std::uint64_t errors = 0;      ///< accesses outside a window
  };

  Origin(Config config, Transport& transport);

  /// Operations. They return false where the target range is not inside the window; then nothing
  /// was done. The program's buffers must stay until the completion says so; `extra` (may be null)
  /// learns of the end as well as the peer's own completion does.
  bool put(Peer& peer, Local from, std::span<const Block> to, Completion* extra = nullptr);
  bool get(Peer& peer, Local into, std::span<const Block> from, Completion* extra = nullptr);
  bool accumulate(Peer& peer, Local from, std::span<const Block> to, Element element,
                  unsigned operation, Completion* extra = nullptr);
  bool get_accumulate(Peer& peer, Local from, Local result, std::span<const Block> to,
                      Element element, unsigned operation, Completion* extra = nullptr);
  bool compare_and_swap(Peer& peer, const std::byte* compare, const std::byte* replace,
                        std::byte* result, std::int64_t offset, std::uint32_t bytes);

  /// Whether these bytes are in the memory that the target exposes; where not, counts an error.
  bool inside(const Peer& peer, std::span<const Block> blocks);

  /// Opens an access epoch. Direct targets are locked here (`lazily`: with the first operation).
  void lock(Peer& peer, LockMode mode, bool lazily);
  /// Waits until an operation on a peer of the same node need not wait for others first.
  void let_in(Peer& peer) {
    if (must_wait(peer)) lock_direct(peer);
  }
  static bool must_wait(const Peer& peer) {
    return peer.direct != nullptr && peer.lock == Peer::Lock::wanted;
  }
  /// Completes everything and gives the lock back.
  void unlock(Peer& peer);
  /// Opens an access epoch between fences: operations wait for the target's owner to enter its
  /// fence of this number, no other thread does.
  void enter(Peer& peer, std::uint32_t fence);
  /// After flush: closes it.
  void leave(Peer& peer);
  /// Completes everything at the target that was issued before the call.
  void flush(Peer& peer) { endpoints_.complete(peer, false); }
  /// Completes what uses the program's buffers.
  void flush_local(Peer& peer) { endpoints_.complete(peer, true); }
  /// After unlock: the release has arrived, and the peer's header may be used for something else.
  void settle(Peer& peer);

  /// Sends what is collected for this peer, so that it is under way (before a wait for several).
  void push(Peer& peer) { endpoints_.push(peer); }
  /// The same at the end of an epoch in which operations are counted.
  void push_counted(Peer& peer) { endpoints_.push_counted(peer); }
  /// Takes in what has arrived and sends what may go. Never blocks.
  void progress() { endpoints_.progress(); }
  /// Something is under way or collected.
  bool active() const { return endpoints_.active(); }
  Stats stats() const;

 private:
  struct Operation {
    Kind kind;
    unsigned operation;
    Element element;
  };

  void lock_direct(Peer& peer);
  bool direct_ready(Peer& peer);
  bool combine_direct(Peer& peer, Local from, Local result, std::span<const Block> to,
                      Element element, unsigned operation);
  void redirect(Peer& peer, Operation what, Local from, Local into, std::span<const Block> to,
                Completion* extra);
  void submit(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
              std::span<const Block> to, std::uint64_t at, Completion* extra);

  Config config_;
  Endpoints endpoints_;
  Stats stats_;
};

}  // namespace hob::ghost
