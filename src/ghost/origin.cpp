#include "ghost/origin.hpp"

#include <algorithm>

namespace hob::ghost {

namespace {

// Block lists longer than this are sent in several records.
constexpr std::size_t most_blocks = 256;

std::uint64_t sum(std::span<const Block> blocks) {
  std::uint64_t bytes = 0;
  for (const Block& block : blocks) bytes += block.length;
  return bytes;
}

// Visits the pieces of program memory that hold packed bytes [at, at + bytes).
template <class Visit>
void visit(const Local& local, std::uint64_t at, std::uint64_t bytes, Visit&& each) {
  for (const Block& block : local.blocks) {
    if (bytes == 0) return;
    if (at >= block.length) {
      at -= block.length;
      continue;
    }
    const std::uint64_t take = std::min(bytes, block.length - at);
    each(local.base + block.offset + at, take);
    bytes -= take;
    at = 0;
  }
}

void pack(const Local& from, std::uint64_t at, std::uint64_t bytes, std::byte* packed) {
  visit(from, at, bytes, [&](const std::byte* piece, std::uint64_t length) {
    std::memcpy(packed, piece, length);
    packed += length;
  });
}

// The program's memory if packed bytes [at, at + bytes) are one run of it, else null.
std::byte* one_run(const Local& local, std::uint64_t at, std::uint64_t bytes) {
  std::byte* run = nullptr;
  visit(local, at, bytes,
        [&](std::byte* piece, std::uint64_t length) { run = length == bytes ? piece : nullptr; });
  return run;
}

// Copies between program memory and mapped target memory, block by block.
template <class Move>
void pairwise(const Local& local, std::span<const Block> there, Move&& move) {
  std::uint64_t at = 0;
  for (const Block& block : there) {
    std::int64_t offset = block.offset;
    visit(local, at, block.length, [&](std::byte* piece, std::uint64_t length) {
      move(piece, Block{offset, length});
      offset += static_cast<std::int64_t>(length);
    });
    at += block.length;
  }
}

}  // namespace

// Where results go when they arrive.
struct Origin::Landing {
  std::size_t at = 0;  // in the reply, behind its header
  std::uint64_t bytes = 0;
  std::byte* run = nullptr;   // one run of program memory, or
  std::byte* base = nullptr;  // blocks of it
  std::vector<Block> blocks;
  std::vector<std::byte> separate;  // received apart from the reply before it is scattered
};

struct Origin::Message {
  std::uint32_t number = 0;
  Channel* channel = nullptr;
  std::unique_ptr<std::byte[]> request = std::make_unique<std::byte[]>(message_bytes);
  std::vector<std::byte> reply;
  Writer writer;
  std::size_t results = 0;
  bool answered = false;  // wants a reply
  bool uses_buffers = false;
  bool exposed = false;  // has left
  Peer* sole = nullptr;  // its lock is not known to be held: nobody else travels along
  Handle sent = 0;
  Handle reply_arrived = 0;
  std::vector<Handle> data;                    // large data under way
  std::vector<std::vector<std::byte>> packed;  // what they are sent from
  std::vector<Landing> landings;
  std::vector<Peer*> grants;
  std::vector<std::pair<Peer*, unsigned>> peers;
  std::vector<Completion*> extras;
};

struct Origin::Channel {
  int ghost = 0;
  Message* open = nullptr;
  unsigned under_way = 0;
};

Origin::Origin(Config config, Transport& transport) : config_(config), transport_(transport) {
  channels_.resize(config_.ghosts);
}
Origin::~Origin() = default;

template <class Done>
void Origin::wait_until(Done done, bool for_message) {
  if (done()) return;
  const std::uint64_t start = transport_.waits(true);
  // The message has usually just left: its receiver first.
  for (unsigned turn = 0; !done(); ++turn) {
    transport_.relax(turn, for_message);
    progress();
  }
  stats_.wait_ns += transport_.waits(false) - start;
}

bool Origin::inside(const Peer& peer, std::span<const Block> blocks) const {
  for (const Block& block : blocks) {
    if (block.offset < 0 || static_cast<std::uint64_t>(block.offset) > peer.size ||
        block.length > peer.size - static_cast<std::uint64_t>(block.offset)) {
      return false;
    }
  }
  return true;
}

void Origin::lock_direct(Peer& peer) {
  constexpr unsigned polite_tries = 256;
  if (peer.fenced) {
    wait_until([&] { return peer.direct->entered(peer.fence); }, false);
  } else if (!peer.direct->try_lock(peer.mode)) {
    ++stats_.lock_waits;
    const bool writer = peer.mode == LockMode::exclusive;
    if (writer) peer.direct->writers_waiting.fetch_add(1, std::memory_order_relaxed);
    unsigned tries = 0;
    wait_until([&] { return peer.direct->try_lock(peer.mode, ++tries < polite_tries); }, false);
    if (writer) peer.direct->writers_waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  peer.lock = Peer::Lock::held;
}

void Origin::lock(Peer& peer, LockMode mode, bool lazily) {
  peer.mode = mode;
  peer.fenced = false;
  peer.lock = mode == LockMode::none ? Peer::Lock::none : Peer::Lock::wanted;
  if (peer.direct != nullptr && peer.lock == Peer::Lock::wanted && !lazily) lock_direct(peer);
}

void Origin::enter(Peer& peer, std::uint32_t fence) {
  peer.mode = LockMode::none;
  peer.fenced = true;
  peer.fence = fence;
  peer.lock = Peer::Lock::wanted;
}

void Origin::leave(Peer& peer) {
  if (!peer.fenced) return;
  peer.fenced = false;
  peer.lock = Peer::Lock::none;
}

bool Origin::direct_ready(Peer& peer) {
  if (peer.direct == nullptr) return false;
  if (peer.lock == Peer::Lock::wanted) [[unlikely]]
    lock_direct(peer);
  ++stats_.direct;
  return true;
}

bool Origin::put(Peer& peer, Local from, std::span<const Block> to, Completion* extra) {
  if (!inside(peer, to)) {
    ++stats_.errors;
    return false;
  }
  if (!direct_ready(peer)) {
    redirect(peer, {Kind::put, 0, {}}, from, {}, to, extra);
    return true;
  }
  const Memory memory(*peer.direct);
  bool good = true;
  pairwise(from, to, [&](const std::byte* piece, Block block) {
    good = memory.put(block, piece) && good;
    stats_.direct_bytes += block.length;
  });
  return good;
}

bool Origin::get(Peer& peer, Local into, std::span<const Block> from, Completion* extra) {
  if (!inside(peer, from)) {
    ++stats_.errors;
    return false;
  }
  if (!direct_ready(peer)) {
    redirect(peer, {Kind::get, 0, {}}, {}, into, from, extra);
    return true;
  }
  const Memory memory(*peer.direct);
  bool good = true;
  pairwise(into, from, [&](std::byte* piece, Block block) {
    good = memory.get(block, piece) && good;
    stats_.direct_bytes += block.length;
  });
  return good;
}

bool Origin::accumulate(Peer& peer, Local from, std::span<const Block> to, Element element,
                        unsigned operation, Completion* extra) {
  if (!inside(peer, to)) {
    ++stats_.errors;
    return false;
  }
  if (operation == operation_no_op) return true;
  if (!direct_ready(peer)) {
    redirect(peer, {Kind::accumulate, operation, element}, from, {}, to, extra);
    return true;
  }
  return get_accumulate(peer, from, {}, to, element, operation, extra);
}

bool Origin::get_accumulate(Peer& peer, Local from, Local result, std::span<const Block> to,
                            Element element, unsigned operation, Completion* extra) {
  if (!inside(peer, to)) {
    ++stats_.errors;
    return false;
  }
  if (peer.direct == nullptr) {
    redirect(peer, {Kind::get_accumulate, operation, element}, from, result, to, extra);
    return true;
  }
  if (!result.blocks.empty()) direct_ready(peer);
  const Memory memory(*peer.direct);
  const std::uint64_t bytes = sum(to);
  stats_.direct_bytes += bytes;
  const bool data = operation != operation_no_op;
  const std::byte* in = data ? one_run(from, 0, bytes) : nullptr;
  std::byte* out = result.blocks.empty() ? nullptr : one_run(result, 0, bytes);
  std::vector<std::byte> packed_in(data && in == nullptr ? bytes : 0);
  std::vector<std::byte> packed_out(!result.blocks.empty() && out == nullptr ? bytes : 0);
  if (!packed_in.empty()) {
    pack(from, 0, bytes, packed_in.data());
    in = packed_in.data();
  }
  if (!packed_out.empty()) out = packed_out.data();
  const bool good =
      memory.accumulate({to.begin(), to.end()}, in, out, element, operation, config_.combine);
  if (!packed_out.empty()) {
    const std::byte* packed = packed_out.data();
    visit(result, 0, bytes, [&](std::byte* piece, std::uint64_t length) {
      std::memcpy(piece, packed, length);
      packed += length;
    });
  }
  return good;
}

bool Origin::compare_and_swap(Peer& peer, const std::byte* compare, const std::byte* replace,
                              std::byte* result, std::int64_t offset, std::uint32_t bytes) {
  const Block block{offset, bytes};
  if (!inside(peer, {&block, 1}) || bytes > 64) {
    ++stats_.errors;
    return false;
  }
  if (direct_ready(peer)) {
    stats_.direct_bytes += bytes;
    return Memory(*peer.direct).compare_and_swap(offset, compare, replace, result, bytes);
  }
  std::byte both[128];
  std::memcpy(both, compare, bytes);
  std::memcpy(both + bytes, replace, bytes);
  const Block two{0, 2ULL * bytes};
  const Block one{0, bytes};
  redirect(peer, {Kind::compare_and_swap, 0, {0, bytes}}, {both, {&two, 1}}, {result, {&one, 1}},
           {&block, 1}, nullptr);
  return true;
}

// Chooses the ghost or ghosts.
void Origin::redirect(Peer& peer, Operation what, Local from, Local into, std::span<const Block> to,
                      Completion* extra) {
  const std::uint64_t bytes = sum(to);
  if (bytes == 0) return;
  ++stats_.redirected;
  stats_.redirected_bytes += bytes;
  const bool free = (what.kind == Kind::put || what.kind == Kind::get) &&
                    (peer.lock == Peer::Lock::none || peer.lock == Peer::Lock::held);
  if (peer.node->ghosts.size() > 1 && is_dynamic(config_.binding) && free) {
    ++stats_.dynamic;
    part(peer, choose(config_.binding, peer.node->load, peer.turn), what, from, into, to, 0, extra);
    return;
  }
  if (peer.pieces == nullptr || peer.node->ghosts.size() == 1) {
    part(peer, peer.home, what, from, into, to, 0, extra);
    return;
  }
  const std::vector<Part> parts = split(*peer.pieces, {to.begin(), to.end()}, what.element.bytes);
  if (parts.size() > 1) ++stats_.split;
  for (const Part& each : parts)
    part(peer, each.ghost, what, from, into, each.target, each.at, extra);
}

// One ghost's part: cut into transfers of bounded size and bounded block lists.
void Origin::part(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
                  std::span<const Block> to, std::uint64_t at, Completion* extra) {
  // A lock asked of one ghost must be held before another works under it.
  if (peer.lock == Peer::Lock::asked && (peer.used & ~(1ULL << (ghost % 64))) != 0) {
    push(peer);
    wait_until([&] { return peer.lock == Peer::Lock::held; });
  }
  const std::uint64_t chunk = std::max<std::uint64_t>(
      config_.chunk / what.element.bytes * what.element.bytes, what.element.bytes);
  std::vector<Block>& piece = piece_;
  piece.assign(to.begin(), to.end());
  const std::uint64_t bytes = sum(to);
  if (bytes <= chunk && (piece.size() <= most_blocks || is_strided(piece))) {
    emit(peer, ghost, what, from, into, piece, at, bytes, extra);
    return;
  }
  std::size_t next = 0;
  std::uint64_t skip = 0;
  while (next < to.size()) {
    piece.clear();
    std::uint64_t taken = 0;
    while (next < to.size() && taken < chunk && piece.size() < most_blocks) {
      const Block& block = to[next];
      const std::uint64_t take = std::min(chunk - taken, block.length - skip);
      piece.push_back({block.offset + static_cast<std::int64_t>(skip), take});
      taken += take;
      skip += take;
      if (skip == block.length) {
        ++next;
        skip = 0;
      }
    }
    emit(peer, ghost, what, from, into, piece, at, taken, extra);
    at += taken;
  }
}

std::uint32_t Origin::data_tag() {
  const std::uint32_t tag = first_data_tag + next_data_tag_;
  next_data_tag_ = (next_data_tag_ + 1) % (last_data_tag - first_data_tag + 1);
  return tag;
}

void Origin::emit(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
                  const std::vector<Block>& to, std::uint64_t at, std::uint64_t bytes,
                  Completion* extra) {
  Record record{};
  record.kind = what.kind;
  record.operation = static_cast<std::uint8_t>(what.operation);
  record.type = static_cast<std::uint8_t>(what.element.type);
  record.element = what.element.bytes;
  record.target = peer.target;
  record.bytes = bytes;
  const std::uint64_t data = record.data_bytes();
  const bool apart = data > inline_bytes;
  const bool result = record.has_result();
  const bool result_apart = result && bytes > inline_bytes;
  const std::size_t need = Writer::need(to, apart ? 0 : data);

  Message& message =
      open(channel(peer.node->ghosts[ghost]), peer, need, result && !result_apart ? bytes : 0);
  if (peer.lock == Peer::Lock::wanted) {
    if (peer.fenced) {
      record.flags |= Record::after_fence;
      record.fence = peer.fence;
    } else {
      record.flags |=
          peer.mode == LockMode::exclusive ? Record::lock_exclusive : Record::lock_shared;
    }
    peer.lock = Peer::Lock::asked;
    message.grants.push_back(&peer);
  }
  message.sole = peer.lock == Peer::Lock::asked ? &peer : nullptr;
  message.answered = true;
  peer.used |= 1ULL << (ghost % 64);
  peer.node->load.add(ghost, bytes);

  const int rank = peer.node->ghosts[ghost];
  if (apart) record.data_tag = data_tag();
  if (result_apart) record.result_tag = data_tag();
  const auto known = std::find_if(message.peers.begin(), message.peers.end(),
                                  [&](const auto& entry) { return entry.first == &peer; });
  if (known == message.peers.end()) {
    message.peers.emplace_back(&peer, ghost);
    ++peer.completion.pending;
    if (message.uses_buffers) ++peer.completion.local;
  }
  if (extra != nullptr &&
      std::find(message.extras.begin(), message.extras.end(), extra) == message.extras.end()) {
    message.extras.push_back(extra);
    ++extra->pending;
    if (message.uses_buffers) ++extra->local;
  }
  if ((apart || result) && !message.uses_buffers) {
    message.uses_buffers = true;
    for (auto& entry : message.peers) ++entry.first->completion.local;
    for (Completion* each : message.extras) ++each->local;
  }

  std::byte* place = message.writer.append(record, to, apart ? 0 : data);
  if (data > 0 && !apart) pack(from, at, data, place);
  if (apart) {
    const std::byte* run = one_run(from, at, data);
    if (run == nullptr) {
      message.packed.emplace_back(data);
      pack(from, at, data, message.packed.back().data());
      run = message.packed.back().data();
    }
    message.data.push_back(transport_.send(rank, record.data_tag, run, data));
  }
  if (result) {
    Landing landing;
    landing.bytes = bytes;
    landing.at = message.results;
    landing.run = one_run(into, at, bytes);
    if (landing.run == nullptr) {
      landing.base = into.base;
      landing.blocks = slice({into.blocks.begin(), into.blocks.end()}, at, bytes);
    }
    if (result_apart) {
      std::byte* buffer = landing.run;
      if (buffer == nullptr) {
        landing.separate.resize(bytes);
        buffer = landing.separate.data();
      }
      message.data.push_back(transport_.receive(rank, record.result_tag, buffer, bytes));
      if (landing.run != nullptr) landing.bytes = 0;  // nothing left to copy
    } else {
      message.results += padded(bytes);
    }
    if (landing.bytes != 0) message.landings.push_back(std::move(landing));
  }
  if (message.channel->under_way == 0 || apart || result_apart) dispatch(*message.channel);
}

Origin::Channel& Origin::channel(int ghost) {
  auto& slot = channels_[static_cast<std::size_t>(ghost)];
  if (!slot) {
    slot = std::make_unique<Channel>();
    slot->ghost = ghost;
  }
  return *slot;
}

// The channel's open message with room for one more record of this peer.
Origin::Message& Origin::open(Channel& channel, Peer& peer, std::size_t need, std::size_t result) {
  const bool certain = peer.lock == Peer::Lock::none || peer.lock == Peer::Lock::held;
  if (Message* message = channel.open) {
    const bool alone =
        certain ? message->sole != nullptr && message->sole != &peer : message->sole != &peer;
    if (alone || message->writer.room() < need ||
        message->results + padded(result) + sizeof(ReplyHeader) > message_bytes) {
      dispatch(channel);
    }
  }
  if (channel.open == nullptr) {
    if (channel.under_way >= config_.in_flight) {
      wait_until([&] { return channel.under_way < config_.in_flight; });
    }
    if (free_.empty() && pool_.size() >= most_messages) {
      wait_until([&] { return !free_.empty(); });
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(pool_.size()));
      pool_.push_back(std::make_unique<Message>());
      pool_.back()->number = free_.back();
    }
    Message& message = *pool_[free_.back()];
    free_.pop_back();
    message.channel = &channel;
    message.writer.open(message.request.get());
    message.results = 0;
    message.answered = message.uses_buffers = message.exposed = false;
    message.sole = nullptr;
    channel.open = &message;
    ++open_channels_;
  }
  return *channel.open;
}

void Origin::dispatch(Channel& channel) {
  Message& message = *channel.open;
  channel.open = nullptr;
  --open_channels_;
  const std::uint32_t tag = message.answered ? first_reply_tag + message.number : 0;
  message.writer.close(tag);
  message.sent =
      transport_.send(channel.ghost, request_tag, message.request.get(), message.writer.used());
  // While the request is on its way.
  if (message.answered) {
    message.reply.resize(sizeof(ReplyHeader) + message.results);
    message.reply_arrived =
        transport_.receive(channel.ghost, tag, message.reply.data(), message.reply.size());
  }
  message.exposed = true;
  ++stats_.messages;
  if (message.answered) ++channel.under_way;
  ++active_messages_;
  under_way_.push_back(message.number);
}

bool Origin::arrived(Message& message) {
  if (!transport_.done(message.reply_arrived)) return false;
  for (Handle& handle : message.data) {
    if (!transport_.done(handle)) return false;
  }
  return transport_.done(message.sent);
}

void Origin::finish(Message& message) {
  if (message.answered) {
    ReplyHeader header;
    std::memcpy(&header, message.reply.data(), sizeof header);
    stats_.errors += header.status;
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
    --message.channel->under_way;
  }
  for (Peer* peer : message.grants) {
    if (peer->lock == Peer::Lock::asked) peer->lock = Peer::Lock::held;
  }
  for (auto& [peer, ghost] : message.peers) {
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
  --active_messages_;
}

void Origin::progress() {
  for (std::size_t i = 0; i < under_way_.size();) {
    Message& message = *pool_[under_way_[i]];
    if (!arrived(message)) {
      ++i;
      continue;
    }
    Channel* channel = message.channel;
    const std::uint32_t number = message.number;
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    finish(message);
    free_.push_back(number);
    if (channel->open != nullptr && channel->under_way == 0) dispatch(*channel);
  }
}

void Origin::push(Peer& peer) {
  if (peer.direct != nullptr || open_channels_ == 0) return;
  for (const int ghost : peer.node->ghosts) {
    Channel& each = channel(ghost);
    if (each.open == nullptr) continue;
    for (const auto& entry : each.open->peers) {
      if (entry.first == &peer) {
        dispatch(each);
        break;
      }
    }
  }
}

void Origin::flush(Peer& peer) {
  if (peer.completion.pending == 0) return;
  push(peer);
  wait_until([&] { return peer.completion.pending == 0; });
}

void Origin::flush_local(Peer& peer) {
  if (peer.completion.local == 0) return;
  push(peer);
  wait_until([&] { return peer.completion.local == 0; });
}

void Origin::wait(const Completion& completion) {
  if (completion.pending == 0) return;
  for (const auto& each : channels_) {
    if (each && each->open != nullptr &&
        std::find(each->open->extras.begin(), each->open->extras.end(), &completion) !=
            each->open->extras.end()) {
      dispatch(*each);
    }
  }
  wait_until([&] { return completion.pending == 0; });
}

// A record that gives back a lock; with mode none it only tells, by its answer, that what was sent
// before it is done.
void Origin::release(Peer& peer, unsigned ghost, LockMode mode, bool answered) {
  Record record{};
  record.kind = Kind::unlock;
  record.operation = static_cast<std::uint8_t>(mode);
  record.target = peer.target;
  Channel& way = channel(peer.node->ghosts[ghost]);
  Message& message = open(way, peer, sizeof(Record), 0);
  message.writer.append(record, {}, 0);
  if (answered) {
    message.answered = true;
    message.peers.emplace_back(&peer, ghost);
    ++peer.completion.pending;
    if (message.uses_buffers) ++peer.completion.local;
  }
  dispatch(way);
}

void Origin::settle(Peer& peer) {
  if (peer.released == 0) return;
  for (unsigned ghost = 0; ghost < peer.node->ghosts.size(); ++ghost) {
    if ((peer.released & 1ULL << (ghost % 64)) != 0) release(peer, ghost, LockMode::none, true);
  }
  flush(peer);
  peer.released = 0;
}

void Origin::unlock(Peer& peer) {
  if (peer.direct != nullptr) {
    if (peer.lock == Peer::Lock::held) peer.direct->unlock(peer.mode);
  } else if (peer.lock == Peer::Lock::asked || peer.lock == Peer::Lock::held) {
    // The release follows the operations on their own channel; where they went to several ghosts,
    // it waits for them.
    unsigned ghost = peer.home;
    if (peer.used != 0 && (peer.used & (peer.used - 1)) == 0 && peer.node->ghosts.size() <= 64) {
      ghost = static_cast<unsigned>(__builtin_ctzll(peer.used));
    } else {
      flush(peer);
    }
    release(peer, ghost, peer.mode, false);
    peer.released |= 1ULL << (ghost % 64);
    flush(peer);
  } else {
    flush(peer);  // an epoch that needs no lock (MPI_MODE_NOCHECK) completes its operations, too
  }
  peer.mode = LockMode::none;
  peer.lock = Peer::Lock::none;
}

}  // namespace hob::ghost
