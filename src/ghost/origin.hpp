// What a user process does to reach targets through ghosts: direct access on its own node, request
// messages to others, with locks taken with the first operation and given back with the last.
//
// Batching: the first operation of a quiet channel leaves at once; those that follow collect until
// its reply arrives, the message is full, or somebody waits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ghost/binding.hpp"
#include "ghost/memory.hpp"
#include "ghost/transport.hpp"
#include "ghost/wire.hpp"

namespace hob::ghost {

/// Messages under way that somebody wants to know the end of.
struct Completion {
  std::uint32_t pending = 0;  ///< messages whose reply or data are missing
  std::uint32_t local = 0;    ///< those of them that still use the program's buffers
};

/// The ghosts of one node as one origin knows them.
struct GhostNode {
  std::vector<int> ghosts;  ///< their ranks on the transport
  Load load;
};

/// One target of one window as one origin knows it. Must outlive its operations.
struct Peer {
  Target* direct = nullptr;   ///< same node: its header; else null
  std::uint64_t target = 0;   ///< other node: where its header is in that node's arena
  std::uint64_t size = 0;     ///< bytes exposed
  GhostNode* node = nullptr;  ///< other node: who serves it
  unsigned home = 0;          ///< its statically bound ghost, an index into node->ghosts
  const std::vector<Segments::Piece>* pieces = nullptr;  ///< segment binding; else null

  LockMode mode = LockMode::none;  ///< the epoch's lock
  bool fenced = false;             ///< instead of a lock: that the owner has entered a fence,
  std::uint32_t fence = 0;         ///< the one of this number
  enum class Lock : std::uint8_t { none, wanted, asked, held } lock = Lock::none;
  std::uint64_t used = 0;      ///< bit g: ghost g has operations that are not known complete
  std::uint64_t released = 0;  ///< bit g: a release to ghost g has not been seen to arrive
  unsigned turn = 0;           ///< of the random binding
  Completion completion;
};

/// The packed data of an operation: blocks of the program's memory.
struct Local {
  std::byte* base = nullptr;
  std::span<const Block> blocks;
};

class Origin {
 public:
  struct Config {
    Combine combine = nullptr;
    Binding binding = Binding::rank;
    std::uint32_t ghosts = 0;       ///< ranks on the transport are below this
    std::uint64_t chunk = 1 << 20;  ///< longest single transfer
    unsigned in_flight = 64;        ///< messages to one ghost that may lack their reply
  };
  struct Stats {
    std::uint64_t direct = 0;  ///< operations done in shared memory by this process
    std::uint64_t direct_bytes = 0;
    std::uint64_t redirected = 0;  ///< operations given to ghosts
    std::uint64_t redirected_bytes = 0;
    std::uint64_t messages = 0;    ///< requests sent
    std::uint64_t split = 0;       ///< operations that went to more than one ghost
    std::uint64_t dynamic = 0;     ///< operations whose ghost was chosen by load
    std::uint64_t lock_waits = 0;  ///< direct locks that were not free at once
    std::uint64_t wait_ns = 0;     ///< time in waits for ghosts and locks
    std::uint64_t errors = 0;      ///< accesses outside a window
  };

  Origin(Config config, Transport& transport);
  ~Origin();

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

  /// Opens an access epoch. Direct targets are locked here (`lazily`: with the first operation).
  void lock(Peer& peer, LockMode mode, bool lazily);
  /// Completes everything and gives the lock back.
  void unlock(Peer& peer);
  /// Opens an access epoch between fences: operations wait for the target's owner to enter its
  /// fence of this number, nobody else does.
  void enter(Peer& peer, std::uint32_t fence);
  /// After flush: closes it.
  void leave(Peer& peer);
  /// Completes everything at the target.
  void flush(Peer& peer);
  /// Completes what uses the program's buffers.
  void flush_local(Peer& peer);
  void wait(const Completion& completion);
  /// After unlock: the release has arrived, and the peer's header may be used for something else.
  void settle(Peer& peer);

  /// Sends what is collected for this peer, so that it is under way (before a wait for several).
  void push(Peer& peer);
  /// Takes in what has arrived and sends what may go. Never blocks.
  void progress();
  /// Something is under way or collected.
  bool active() const { return active_messages_ != 0 || open_channels_ != 0; }
  const Stats& stats() const { return stats_; }

 private:
  struct Landing;
  struct Message;
  struct Channel;

  struct Operation {
    Kind kind;
    unsigned operation;
    Element element;
  };

  bool inside(const Peer& peer, std::span<const Block> blocks) const;
  void lock_direct(Peer& peer);
  bool direct_ready(Peer& peer);
  void redirect(Peer& peer, Operation what, Local from, Local into, std::span<const Block> to,
                Completion* extra);
  void part(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
            std::span<const Block> to, std::uint64_t at, Completion* extra);
  void emit(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
            const std::vector<Block>& to, std::uint64_t at, std::uint64_t bytes, Completion* extra);
  Channel& channel(int ghost);
  Message& open(Channel& channel, Peer& peer, std::size_t need, std::size_t result);
  void dispatch(Channel& channel);
  void release(Peer& peer, unsigned ghost, LockMode mode, bool answered);
  void finish(Message& message);
  bool arrived(Message& message);
  std::uint32_t data_tag();
  template <class Done>
  void wait_until(Done done, bool for_message = true);

  Config config_;
  Transport& transport_;
  Stats stats_;
  std::vector<std::unique_ptr<Channel>> channels_;
  std::vector<std::unique_ptr<Message>> pool_;
  std::vector<std::uint32_t> free_;       // messages of the pool not in use
  std::vector<std::uint32_t> under_way_;  // in the order of sending
  std::vector<Block> piece_;              // of the transfer that is being issued
  std::uint32_t next_data_tag_ = 0;
  std::uint32_t active_messages_ = 0;
  std::uint32_t open_channels_ = 0;
};

}  // namespace hob::ghost
