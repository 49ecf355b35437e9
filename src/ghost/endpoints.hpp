// The request messages of one origin: collected for each ghost, sent, and completed by its replies.
//
// Batching: the first operation for an idle ghost leaves at once; those that follow collect until
// its reply arrives, the message is full, or a thread waits for them.
//
// Threads: whoever calls holds the lock that Transport::relax() gives away. So after each wait
// anything may have changed: a wait ends with what it waited for true, and nothing else that was
// looked at before is used after it. Only reserve(), wait_until() and what calls them wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ghost/peer.hpp"
#include "ghost/transport.hpp"
#include "ghost/wire.hpp"

namespace hob::ghost {

/// What one record asks for, and where its data are and go.
struct Transfer {
  Record record;              ///< but for the place of the target's blocks, the lock and the tags
  Local from;                 ///< packed data of the whole operation
  Local into;                 ///< results of the whole operation
  std::span<const Block> to;  ///< the target's blocks of this record
  std::uint64_t at = 0;       ///< where in the packed data this record's begin

  std::uint64_t data() const { return record.data_bytes(); }
  /// Large data travel apart from request and reply.
  bool data_apart() const { return data() > kInlineBytes; }
  bool result_apart() const { return record.has_result() && record.bytes > kInlineBytes; }
  std::size_t inline_data() const { return data_apart() ? 0 : data(); }
  std::size_t inline_result() const {
    return record.has_result() && !result_apart() ? record.bytes : 0;
  }
  /// The program's buffers are needed until the reply, or data apart from it, have arrived.
  bool uses_buffers() const { return data_apart() || record.has_result(); }
};

class Endpoints {
 public:
  struct Limits {
    std::uint32_t ghosts = 0;  ///< ranks on the transport are below this
    unsigned in_flight = 64;   ///< messages to one ghost that may lack their reply; at least 1
    std::uint32_t messages = kMostMessages;  ///< of all ghosts, open ones too; at least 1
  };
  struct Stats {
    std::uint64_t messages = 0;  ///< sent
    std::uint64_t wait_ns = 0;   ///< time in waits
    std::uint64_t errors = 0;    ///< operations that ghosts could not carry out
  };

  Endpoints(Limits limits, Transport& transport);
  ~Endpoints();

  /// Sends one record to a ghost, now or with others; may wait for room. `extra` (may be null)
  /// learns of its end as well as the peer's own completion does.
  void submit(Peer& peer, unsigned ghost, const Transfer& transfer, Completion* extra);
  /// Sends a record that gives back a lock, behind everything for this peer that the ghost was
  /// sent before. With mode none it only confirms, by its answer, that all that is done.
  void release(Peer& peer, unsigned ghost, LockMode mode, bool answered);

  /// Sends what is collected for this peer, so that it is under way (before a wait for several).
  void push(Peer& peer);
  /// Of a peer whose operations are counted: sends what is collected, without wanting an answer
  /// where all that travels along can do without (Peer::counted).
  void push_counted(Peer& peer);
  /// Waits for the requests submitted for this peer before the call; `local`: until the program's
  /// buffers are free. What other threads submit meanwhile is not waited for.
  void complete(Peer& peer, bool local);

  /// Waits until done(), while messages come and go. Conditions may have effects: they are asked
  /// until they are true, and once they are, nothing comes between that and the return.
  template <class Done>
  void wait_until(Done done, bool for_message = true) {
    if (done()) return;
    const std::uint64_t start = transport_.waits(true);
    for (unsigned turn = 0; !done(); ++turn) {
      transport_.relax(turn, for_message);
      progress();
    }
    stats_.wait_ns += transport_.waits(false) - start;
  }

  /// Takes in what has arrived and sends what may go. Never blocks.
  void progress();
  /// Something is under way or collected.
  bool active() const { return active_messages_ != 0 || open_messages_ != 0; }
  const Stats& stats() const { return stats_; }

 private:
  struct Landing;
  struct Message;
  struct Endpoint;

  Endpoint& endpoint(int ghost);
  bool has_room(const Message& message, const Peer& peer, std::size_t need,
                std::size_t result) const;
  bool may_open_another() const;
  bool may_open(const Endpoint& to) const;
  void open(Endpoint& to);
  Message& reserve(Endpoint& to, Peer& peer, unsigned ghost, std::size_t need, std::size_t result);
  void ask_for_lock(Message& message, Peer& peer, unsigned ghost, Record& record);
  void account(Message& message, Peer& peer, bool uses_buffers, Completion* extra);
  void fill(Message& message, Record record, const Transfer& transfer);
  void expect_result(Message& message, const Record& record, const Transfer& transfer);
  void dispatch(Endpoint& to);
  void forgo_answer(Message& message);
  bool arrived(Message& message);
  void finish(Message& message);
  bool under_way(const Peer& peer, std::uint64_t newest, bool local) const;
  std::uint32_t data_tag();

  Limits limits_;
  Transport& transport_;
  Stats stats_;
  std::vector<std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<Message>> pool_;
  std::vector<std::uint32_t> free_;       // messages of the pool not in use
  std::vector<std::uint32_t> under_way_;  // in the order of sending
  std::uint64_t newest_ = 0;              // serial number of the message opened last
  std::uint32_t next_data_tag_ = 0;
  std::uint32_t active_messages_ = 0;
  std::uint32_t open_messages_ = 0;
};

}  // namespace hob::ghost
