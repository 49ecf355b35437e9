#include "ghost/endpoints.hpp"

#include <algorithm>

#include "ghost/packing.hpp"

namespace hob::ghost {

// Where results go when they arrive.
struct Endpoints::Landing {
  std::size_t at = 0;  // in the reply, behind its header
  std::uint64_t bytes = 0;
  std::byte* run = nullptr;   // one run of program memory, or
  std::byte* base = nullptr;  // blocks of it
  std::vector<Block> blocks;
  std::vector<std::byte> separate;  // received apart from the reply before it is scattered
};

struct Endpoints::Message {
  std::uint32_t number = 0;  // in the pool
  std::uint64_t serial = 0;  // in the order of opening
  Endpoint* endpoint = nullptr;
  std::unique_ptr<std::byte[]> request = std::make_unique<std::byte[]>(kMessageBytes);
  std::vector<std::byte> reply;
  Writer writer;
  std::size_t results = 0;
  bool answered = false;  // wants a reply
  bool uses_buffers = false;
  bool countable = true;  // all records are operations that their targets' owners wait for
  Peer* sole = nullptr;   // its lock is not known to be held: no other request travels along
  Handle sent = 0;
  Handle reply_arrived = 0;
  std::vector<Handle> data;                    // large data under way
  std::vector<std::vector<std::byte>> packed;  // what they are sent from
  std::vector<Landing> landings;
  std::vector<Peer*> grants;  // whose locks are held when the reply is here
  std::vector<Peer*> peers;
  std::vector<Completion*> extras;
  struct Asker {
    Peer* peer;
    Completion* extra;
  };
  std::vector<Asker> askers;  // of each record

  bool serves(const Peer& peer) const {
    return std::find(peers.begin(), peers.end(), &peer) != peers.end();
  }
};

// The way to one ghost. A message is open only while another is under way: its reply sends the open
// one off.
struct Endpoints::Endpoint {
  int ghost = 0;
  Message* open = nullptr;
  unsigned under_way = 0;  // messages that lack their reply
};

Endpoints::Endpoints(Limits limits, Transport& transport) : limits_(limits), transport_(transport) {
  endpoints_.resize(limits_.ghosts);
}
Endpoints::~Endpoints() = default;

Endpoints::Endpoint& Endpoints::endpoint(int ghost) {
  auto& slot = endpoints_[static_cast<std::size_t>(ghost)];
  if (!slot) {
    slot = std::make_unique<Endpoint>();
    slot->ghost = ghost;
  }
  return *slot;
}

bool Endpoints::has_room(const Message& message, const Peer& peer, std::size_t need,
                         std::size_t result) const {
  const bool kept_apart =
      message.sole != &peer && (message.sole != nullptr || !peer.lock_is_certain());
  return !kept_apart && message.writer.room() >= need &&
         message.results + padded(result) + sizeof(ReplyHeader) <= kMessageBytes;
}

bool Endpoints::may_open_another() const {
  return !free_.empty() || pool_.size() < limits_.messages;
}

bool Endpoints::may_open(const Endpoint& to) const {
  return to.under_way < limits_.in_flight && may_open_another();
}

void Endpoints::open(Endpoint& to) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(pool_.size()));
    pool_.push_back(std::make_unique<Message>());
    pool_.back()->number = free_.back();
  }
  Message& message = *pool_[free_.back()];
  free_.pop_back();
  message.serial = ++newest_;
  message.endpoint = &to;
  message.writer.open(message.request.get());
  message.results = 0;
  message.answered = message.uses_buffers = false;
  message.countable = true;
  message.sole = nullptr;
  to.open = &message;
  ++open_messages_;
}

// The ghost's open message, with room for one more record of this peer. Everything is looked at
// again after each wait; what is returned is true until the caller waits.
Endpoints::Message& Endpoints::reserve(Endpoint& to, Peer& peer, unsigned ghost, std::size_t need,
                                       std::size_t result) {
  for (;;) {
    if (!peer.may_use(ghost)) {
      push(peer);
      wait_until([&] { return peer.may_use(ghost); });
    }
    if (to.open != nullptr && !has_room(*to.open, peer, need, result)) dispatch(to);
    if (to.open == nullptr && may_open(to)) open(to);
    if (to.open != nullptr) return *to.open;
    wait_until([&] { return to.open != nullptr || may_open(to); });
  }
}

void Endpoints::ask_for_lock(Message& message, Peer& peer, unsigned ghost, Record& record) {
  if (peer.lock == Peer::Lock::wanted) {
    if (peer.fenced) {
      record.flags |= Record::after_fence;
      record.fence = peer.fence;
    } else {
      record.flags |=
          peer.mode == LockMode::exclusive ? Record::lock_exclusive : Record::lock_shared;
    }
    peer.lock = Peer::Lock::asked;
    peer.lock_ghost = ghost;
    message.grants.push_back(&peer);
  }
  message.sole = peer.lock == Peer::Lock::asked ? &peer : nullptr;
}

// Who learns of this message's end.
void Endpoints::account(Message& message, Peer& peer, bool uses_buffers, Completion* extra) {
  message.answered = true;
  if (uses_buffers && !message.uses_buffers) {
    message.uses_buffers = true;
    for (Peer* each : message.peers) ++each->completion.local;
    for (Completion* each : message.extras) ++each->local;
  }
  if (!message.serves(peer)) {
    message.peers.push_back(&peer);
    ++peer.completion.pending;
    if (message.uses_buffers) ++peer.completion.local;
  }
  if (extra != nullptr &&
      std::find(message.extras.begin(), message.extras.end(), extra) == message.extras.end()) {
    message.extras.push_back(extra);
    ++extra->pending;
    if (message.uses_buffers) ++extra->local;
  }
}

std::uint32_t Endpoints::data_tag() {
  const std::uint32_t tag = kFirstDataTag + next_data_tag_;
  next_data_tag_ = (next_data_tag_ + 1) % (kLastDataTag - kFirstDataTag + 1);
  return tag;
}

// Writes the record, and its data or where they come from.
void Endpoints::fill(Message& message, Record record, const Transfer& transfer) {
  const std::uint64_t data = transfer.data();
  if (transfer.data_apart()) record.data_tag = data_tag();
  if (transfer.result_apart()) record.result_tag = data_tag();
  std::byte* place = message.writer.append(record, transfer.to, transfer.inline_data());
  if (transfer.data_apart()) {
    const std::byte* run = one_run(transfer.from, transfer.at, data);
    if (run == nullptr) {
      message.packed.emplace_back(data);
      pack(transfer.from, transfer.at, data, message.packed.back().data());
      run = message.packed.back().data();
    }
    message.data.push_back(transport_.send(message.endpoint->ghost, record.data_tag, run, data));
  } else if (data > 0) {
    pack(transfer.from, transfer.at, data, place);
  }
  if (record.has_result()) expect_result(message, record, transfer);
}

void Endpoints::expect_result(Message& message, const Record& record, const Transfer& transfer) {
  Landing landing;
  landing.bytes = record.bytes;
  landing.at = message.results;
  landing.run = one_run(transfer.into, transfer.at, record.bytes);
  if (landing.run == nullptr) {
    landing.base = transfer.into.base;
    landing.blocks = slice(transfer.into.blocks, transfer.at, record.bytes);
  }
  if (transfer.result_apart()) {
    std::byte* buffer = landing.run;
    if (buffer == nullptr) {
      landing.separate.resize(record.bytes);
      buffer = landing.separate.data();
    }
    message.data.push_back(
        transport_.receive(message.endpoint->ghost, record.result_tag, buffer, record.bytes));
    if (landing.run != nullptr) return;  // nothing left to copy
  } else {
    message.results += padded(record.bytes);
  }
  message.landings.push_back(std::move(landing));
}

void Endpoints::submit(Peer& peer, unsigned ghost, const Transfer& transfer, Completion* extra) {
  Endpoint& to = endpoint(peer.node->ghosts[ghost]);
  Message& message = reserve(to, peer, ghost, Writer::need(transfer.to, transfer.inline_data()),
                             transfer.inline_result());
  Record record = transfer.record;
  ask_for_lock(message, peer, ghost, record);
  message.askers.push_back({&peer, extra});
  account(message, peer, transfer.uses_buffers(), extra);
  peer.used |= 1ULL << (ghost % 64);
  peer.node->load.add(ghost, record.bytes);
  fill(message, record, transfer);
  const bool counted =
      peer.counts && extra == nullptr && !transfer.uses_buffers() && peer.mode == LockMode::none;
  if (!counted) message.countable = false;
  // Data that are under way by themselves are of use only to a ghost that knows of them. What is
  // counted waits for the end of its epoch, unless others wait for the room that it takes.
  const bool waits = message.countable && may_open_another();
  if ((to.under_way == 0 && !waits) || transfer.data_apart() || transfer.result_apart())
    dispatch(to);
}

void Endpoints::release(Peer& peer, unsigned ghost, LockMode mode, bool answered) {
  Record record{};
  record.kind = Kind::unlock;
  record.operation = static_cast<std::uint8_t>(mode);
  record.target = peer.target;
  Endpoint& to = endpoint(peer.node->ghosts[ghost]);
  Message& message = reserve(to, peer, ghost, sizeof(Record), 0);
  message.writer.append(record, {}, 0);
  message.countable = false;
  message.askers.push_back({&peer, nullptr});
  if (answered) account(message, peer, false, nullptr);
  dispatch(to);
}

void Endpoints::dispatch(Endpoint& to) {
  Message& message = *to.open;
  to.open = nullptr;
  --open_messages_;
  const std::uint32_t tag = message.answered ? kFirstReplyTag + message.number : 0;
  message.writer.close(tag);
  message.sent =
      transport_.send(to.ghost, kRequestTag, message.request.get(), message.writer.used());
  // While the request is on its way.
  if (message.answered) {
    message.reply.resize(sizeof(ReplyHeader) + message.results);
    message.reply_arrived =
        transport_.receive(to.ghost, tag, message.reply.data(), message.reply.size());
    ++to.under_way;
  }
  ++stats_.messages;
  ++active_messages_;
  under_way_.push_back(message.number);
}

bool Endpoints::arrived(Message& message) {
  if (!transport_.done(message.reply_arrived)) return false;
  for (Handle& handle : message.data) {
    if (!transport_.done(handle)) return false;
  }
  return transport_.done(message.sent);
}

void Endpoints::finish(Message& message) {
  if (message.answered) {
    ReplyHeader header;
    std::memcpy(&header, message.reply.data(), sizeof header);
    for (std::size_t i = 0; header.status != 0 && i < message.askers.size(); ++i) {
      if ((header.status & failure_bit(i)) == 0) continue;
      const Message::Asker& asker = message.askers[i];
      ++stats_.errors;
      asker.peer->completion.failed = true;
      if (asker.extra != nullptr) asker.extra->failed = true;
    }
    const std::byte* results = message.reply.data() + sizeof header;
    for (Landing& landing : message.landings) {
      const std::byte* packed =
          landing.separate.empty() ? results + landing.at : landing.separate.data();
      if (landing.run != nullptr) {
        std::memcpy(landing.run, packed, landing.bytes);
      } else {
        scatter(landing.base, landing.blocks, packed);
      }
    }
    --message.endpoint->under_way;
  }
  for (Peer* peer : message.grants) {
    if (peer->lock == Peer::Lock::asked) peer->lock = Peer::Lock::held;
  }
  for (Peer* peer : message.peers) {
    --peer->completion.pending;
    if (message.uses_buffers) --peer->completion.local;
    if (peer->completion.pending == 0) peer->used = 0;
  }
  for (Completion* extra : message.extras) {
    --extra->pending;
    if (message.uses_buffers) --extra->local;
  }
  message.landings.clear();
  message.data.clear();
  message.packed.clear();
  message.grants.clear();
  message.peers.clear();
  message.extras.clear();
  message.askers.clear();
  --active_messages_;
}

void Endpoints::progress() {
  for (std::size_t i = 0; i < under_way_.size();) {
    Message& message = *pool_[under_way_[i]];
    if (!arrived(message)) {
      ++i;
      continue;
    }
    Endpoint& from = *message.endpoint;
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(message);
    free_.push_back(message.number);
    if (from.open != nullptr && from.under_way == 0) dispatch(from);
  }
}

void Endpoints::push(Peer& peer) {
  if (peer.direct != nullptr || open_messages_ == 0) return;
  for (const int ghost : peer.node->ghosts) {
    Endpoint& each = endpoint(ghost);
    if (each.open != nullptr && each.open->serves(peer)) dispatch(each);
  }
}

// Who asked for its operations learns from the targets' owners of their end.
void Endpoints::forgo_answer(Message& message) {
  message.answered = false;
  for (const Message::Asker& each : message.askers) ++each.peer->counted;
  for (Peer* peer : message.peers) {
    --peer->completion.pending;
    if (peer->completion.pending == 0) peer->used = 0;
  }
  message.peers.clear();
}

void Endpoints::push_counted(Peer& peer) {
  if (peer.direct != nullptr || open_messages_ == 0) return;
  for (const int ghost : peer.node->ghosts) {
    Endpoint& each = endpoint(ghost);
    if (each.open == nullptr || !each.open->serves(peer)) continue;
    if (each.open->countable) forgo_answer(*each.open);
    dispatch(each);
  }
}

bool Endpoints::under_way(const Peer& peer, std::uint64_t newest, bool local) const {
  return std::any_of(under_way_.begin(), under_way_.end(), [&](std::uint32_t number) {
    const Message& message = *pool_[number];
    return message.serial <= newest && (message.uses_buffers || !local) && message.serves(peer);
  });
}

void Endpoints::complete(Peer& peer, bool local) {
  const std::uint32_t& count = local ? peer.completion.local : peer.completion.pending;
  if (count == 0) return;
  push(peer);
  // Other threads may keep the count above 0 for ever, or open a message that only they send off.
  const std::uint64_t newest = newest_;
  wait_until([&] { return count == 0 || !under_way(peer, newest, local); });
}

}  // namespace hob::ghost
