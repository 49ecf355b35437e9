#include "ghost/origin.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ghost/packing.hpp"

namespace hob::ghost {

namespace {

// Block lists longer than this are sent in several records.
constexpr std::size_t kMostBlocks = 256;

}  // namespace

Origin::Origin(Config config, Transport& transport)
    : config_(config), endpoints_(config.limits, transport) {}

Origin::Stats Origin::stats() const {
  Stats all = stats_;
  const Endpoints::Stats& sent = endpoints_.stats();
  all.messages = sent.messages;
  all.wait_ns = sent.wait_ns;
  all.errors += sent.errors;
  return all;
}

bool Origin::inside(const Peer& peer, std::span<const Block> blocks) {
  for (const Block& block : blocks) {
    if (block.offset < 0 || static_cast<std::uint64_t>(block.offset) > peer.size ||
        block.length > peer.size - static_cast<std::uint64_t>(block.offset)) {
      ++stats_.errors;
      return false;
    }
  }
  return true;
}

// Several threads may come here for one epoch: one of them takes the lock.
void Origin::lock_direct(Peer& peer) {
  if (peer.fenced) {
    endpoints_.wait_until(
        [&] { return peer.lock != Peer::Lock::wanted || peer.direct->entered(peer.fence); }, false);
    peer.lock = Peer::Lock::held;
    return;
  }
  unsigned tries = 0;
  const auto held = [&] {
    if (peer.lock != Peer::Lock::wanted) return true;
    if (!peer.direct->try_lock(peer.mode, tries++ < Target::kWritersFirstTries)) return false;
    peer.lock = Peer::Lock::held;
    return true;
  };
  if (held()) return;
  ++stats_.lock_waits;
  const bool writer = peer.mode == LockMode::exclusive;
  if (writer) peer.direct->writers_waiting.fetch_add(1, std::memory_order_relaxed);
  endpoints_.wait_until(held, false);
  if (writer) peer.direct->writers_waiting.fetch_sub(1, std::memory_order_relaxed);
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
  if (Memory(*peer.direct).through_kernel()) [[unlikely]]
    ++stats_.through_kernel;
  return true;
}

bool Origin::put(Peer& peer, Local from, std::span<const Block> to, Completion* extra) {
  if (!inside(peer, to)) return false;
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
  if (!inside(peer, from)) return false;
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
  if (!inside(peer, to)) return false;
  if (operation == kOperationNoOp) return true;
  if (direct_ready(peer)) return combine_direct(peer, from, {}, to, element, operation);
  redirect(peer, {Kind::accumulate, operation, element}, from, {}, to, extra);
  return true;
}

bool Origin::get_accumulate(Peer& peer, Local from, Local result, std::span<const Block> to,
                            Element element, unsigned operation, Completion* extra) {
  if (!inside(peer, to)) return false;
  if (direct_ready(peer)) return combine_direct(peer, from, result, to, element, operation);
  redirect(peer, {Kind::get_accumulate, operation, element}, from, result, to, extra);
  return true;
}

// Without `result` nothing is fetched. Buffers that are no single run are packed for it.
bool Origin::combine_direct(Peer& peer, Local from, Local result, std::span<const Block> to,
                            Element element, unsigned operation) {
  const std::uint64_t bytes = total_bytes(to);
  stats_.direct_bytes += bytes;
  const bool data = operation != kOperationNoOp;
  const bool fetch = !result.blocks.empty();
  const std::byte* in = data ? one_run(from, 0, bytes) : nullptr;
  std::byte* out = fetch ? one_run(result, 0, bytes) : nullptr;
  std::vector<std::byte> packed_in(data && in == nullptr ? bytes : 0);
  std::vector<std::byte> packed_out(fetch && out == nullptr ? bytes : 0);
  if (!packed_in.empty()) {
    pack(from, 0, bytes, packed_in.data());
    in = packed_in.data();
  }
  if (!packed_out.empty()) out = packed_out.data();
  const bool good =
      Memory(*peer.direct).accumulate(to, in, out, element, operation, config_.combine);
  if (!packed_out.empty()) unpack(result, bytes, packed_out.data());
  return good;
}

bool Origin::compare_and_swap(Peer& peer, const std::byte* compare, const std::byte* replace,
                              std::byte* result, std::int64_t offset, std::uint32_t bytes) {
  const Block block{offset, bytes};
  if (bytes > 64) {
    ++stats_.errors;
    return false;
  }
  if (!inside(peer, {&block, 1})) return false;
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
  const std::uint64_t bytes = total_bytes(to);
  if (bytes == 0) return;
  ++stats_.redirected;
  stats_.redirected_bytes += bytes;
  const bool any_order = what.kind == Kind::put || what.kind == Kind::get;
  if (peer.node->ghosts.size() > 1 && is_dynamic(config_.binding) && any_order &&
      peer.lock_is_certain()) {
    ++stats_.dynamic;
    submit(peer, choose(config_.binding, peer.node->load, peer.turn), what, from, into, to, 0,
           extra);
    return;
  }
  if (peer.pieces == nullptr || peer.node->ghosts.size() == 1) {
    submit(peer, peer.home, what, from, into, to, 0, extra);
    return;
  }
  const std::vector<Share> shares = split(*peer.pieces, to, what.element.bytes);
  if (shares.size() > 1) ++stats_.split;
  for (const Share& each : shares)
    submit(peer, each.ghost, what, from, into, each.target, each.at, extra);
}

// One ghost's share: cut into transfers of bounded size and bounded block lists.
void Origin::submit(Peer& peer, unsigned ghost, Operation what, Local from, Local into,
                    std::span<const Block> to, std::uint64_t at, Completion* extra) {
  Transfer transfer{{}, from, into, to, at};
  transfer.record.kind = what.kind;
  transfer.record.operation = static_cast<std::uint8_t>(what.operation);
  transfer.record.type = static_cast<std::uint8_t>(what.element.type);
  transfer.record.element = what.element.bytes;
  transfer.record.target = peer.target;
  transfer.record.bytes = total_bytes(to);
  const std::uint64_t chunk = std::max<std::uint64_t>(
      config_.chunk / what.element.bytes * what.element.bytes, what.element.bytes);
  if (transfer.record.bytes <= chunk && (to.size() <= kMostBlocks || is_strided(to))) {
    endpoints_.submit(peer, ghost, transfer, extra);
    return;
  }
  // On this thread's stack: submitting waits, and other threads cut theirs meanwhile.
  std::vector<Block> piece;
  std::size_t next = 0;
  std::uint64_t skip = 0;
  while (next < to.size()) {
    piece.clear();
    std::uint64_t taken = 0;
    while (next < to.size() && taken < chunk && piece.size() < kMostBlocks) {
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
    transfer.to = piece;
    transfer.record.bytes = taken;
    endpoints_.submit(peer, ghost, transfer, extra);
    transfer.at += taken;
  }
}

void Origin::settle(Peer& peer) {
  if (peer.released == 0) return;
  for (unsigned ghost = 0; ghost < peer.node->ghosts.size(); ++ghost) {
    if ((peer.released & 1ULL << (ghost % 64)) != 0)
      endpoints_.release(peer, ghost, LockMode::none, true);
  }
  flush(peer);
  peer.released = 0;
}

void Origin::unlock(Peer& peer) {
  if (peer.direct != nullptr) {
    if (peer.lock == Peer::Lock::held) peer.direct->unlock(peer.mode);
  } else if (peer.lock == Peer::Lock::asked || peer.lock == Peer::Lock::held) {
    // The release follows the operations to their ghost; where they went to several ghosts, it
    // waits for them.
    unsigned ghost = peer.home;
    if (peer.used != 0 && (peer.used & (peer.used - 1)) == 0 && peer.node->ghosts.size() <= 64) {
      ghost = static_cast<unsigned>(__builtin_ctzll(peer.used));
    } else {
      flush(peer);
    }
    endpoints_.release(peer, ghost, peer.mode, false);
    peer.released |= 1ULL << (ghost % 64);
    flush(peer);
  } else {
    flush(peer);  // an epoch that needs no lock (MPI_MODE_NOCHECK) completes its operations, too
  }
  peer.mode = LockMode::none;
  peer.lock = Peer::Lock::none;
}

}  // namespace hob::ghost
