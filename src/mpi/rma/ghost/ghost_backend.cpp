#include "mpi/rma/ghost/ghost_backend.hpp"

#include <cstddef>
#include <utility>

#include "base/clock.hpp"
#include "mpi/core/after_handler.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/blocks.hpp"
#include "os/thread_state.hpp"

namespace hob::mpi {
namespace {

using ghost::Completion;
using ghost::Local;
using ghost::Peer;

// Of the operation that this thread is issuing; it may wait, and other threads have their own.
struct Blocks {
  std::vector<ghost::Block> origin, result, target;
};
Blocks& own_blocks() { return os::PerThread<Blocks>::here(); }

/// Results of an atomic operation may depend on others' writes.
bool depends_on_writes(const rma::Op& op) { return op.kind == rma::Op::Kind::get_accumulate; }

bool is_get(const rma::Op& op) { return op.kind == rma::Op::Kind::get; }

}  // namespace

GhostBackend::GhostBackend(GhostTargets targets, ArenaMemory memory, int self)
    : targets_(std::move(targets)),
      memory_(std::move(memory)),
      self_(self),
      pscw_(targets_.window_number()) {
  may_hold_back_.set(true);
}

int GhostBackend::already_complete(const rma::Op& op, bool fetches) {
  if (op.request == nullptr) return MPI_SUCCESS;
  const GhostHold hold;
  *op.request = requests::add(ghost_client->begin_operation(fetches));
  return MPI_SUCCESS;
}

int GhostBackend::fail(int code) const {
  real::Win_call_errhandler(handle, code);
  return after_handler(handle, code);
}

int GhostBackend::check(const rma::Op& op) const {
  const MPI_Count count = is_get(op) ? op.result.count : op.origin.count;
  if (HOB_UNLIKELY(!targets_.exists(op.target))) return MPI_ERR_RANK;
  if (HOB_UNLIKELY(count < 0 || op.target_count < 0)) return MPI_ERR_COUNT;
  return MPI_SUCCESS;
}

std::int64_t GhostBackend::start_of(const rma::Op& op) const {
  return op.disp * targets_.unit(op.target);
}

// A target that is used for the first time joins the epoch that is open.
GhostTargets::Target& GhostBackend::at(int target) {
  GhostTargets::Target* known = targets_.find(target);
  if (HOB_LIKELY(known != nullptr)) return *known;
  GhostTargets::Target& added = targets_.add(target);
  if (locked_all_) {
    ghost_client->origin.lock(added.peer, all_, true);
  } else if (unsynchronised_) {
    ghost_client->origin.enter(added.peer, fences_);
  }
  return added;
}

// Before an operation. A ghost has to report to the origin that it failed to reach memory outside
// the arena: such operations are answered one by one.
void GhostBackend::join_epoch(GhostTargets::Target& to) {
  if (HOB_LIKELY(!pscw_.accessing())) return;
  pscw_.wait_for_post(targets_.rank(to.rank));
  to.peer.counts = targets_.all_in_arena() && !NativeWay::wanted();
}

// Locks of the same node and posts of others are waited for by the first operation.
bool GhostBackend::holds_back(int target) {
  const GhostHold hold;
  if (!targets_.exists(target)) return false;
  if (pscw_.accessing()) return true;
  const GhostTargets::Target* const known = targets_.find(target);
  return known ? ghost::Origin::must_wait(known->peer) : locked_all_ || unsynchronised_;
}

int GhostBackend::let_in(int target) {
  return held([&] {
    GhostTargets::Target& to = at(target);
    join_epoch(to);
    ghost_client->origin.let_in(to.peer);
    return MPI_SUCCESS;
  });
}

void GhostBackend::send_collected(int target) {
  const GhostHold hold;
  if (GhostTargets::Target* const known = targets_.find(target))
    ghost_client->origin.push(known->peer);
}

int GhostBackend::issue(const rma::Op& op) {
  using Kind = rma::Op::Kind;
  if (op.target == MPI_PROC_NULL) return already_complete(op, false);
  if (const int wrong = check(op)) return fail(wrong);
  switch (op.kind) {
    case Kind::get:
    case Kind::put:
      return move(op);
    case Kind::accumulate:
    case Kind::get_accumulate:
    case Kind::fetch_and_op:
      return combine_at(op);
    case Kind::compare_and_swap:
      return compare_and_swap(op);
  }
  return fail(MPI_ERR_INTERN);
}

template <class Act>
int GhostBackend::by_ghost(const rma::Op& op, Act act) {
  return held([&]() -> int {
    GhostTargets::Target& to = at(op.target);
    Peer& peer = to.peer;
    join_epoch(to);
    // Operations that were issued before keep their place.
    to.native.others = true;
    if (HOB_UNLIKELY(to.native.native != 0)) {
      if (const int wrong = native_.complete(handle, to)) return wrong;
    }
    if (op.request == nullptr) return act(peer, nullptr) ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    GhostOperation& mine = ghost_client->begin_operation(depends_on_writes(op));
    mine.window = handle;
    const bool good = act(peer, &mine.completion);
    ghost_client->origin.push(peer);
    *op.request = requests::add(mine);
    return good ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
  });
}

int GhostBackend::move(const rma::Op& op) {
  const TypedBuffer& here = op.here();
  if (HOB_UNLIKELY(is_on_accelerator(here))) return issue_staged(op);
  Blocks& blocks = own_blocks();
  if (HOB_UNLIKELY(!data_blocks(here.type, here.count, 0, blocks.origin) ||
                   !data_blocks(op.target_type, op.target_count, start_of(op), blocks.target))) {
    return fail(MPI_ERR_TYPE);
  }
  if (op.request == nullptr && NativeWay::possible()) {
    if (const auto move = as_bytes(op)) return move_either_way(op, *move);
  }
  const Local local{static_cast<std::byte*>(here.address), blocks.origin};
  return by_ghost(op, [&](Peer& peer, Completion* extra) {
    return is_get(op) ? ghost_client->origin.get(peer, local, blocks.target, extra)
                      : ghost_client->origin.put(peer, local, blocks.target, extra);
  });
}

// Libraries move other data by messages, which their target has to take. The window's units have to
// be able to say where the block is.
std::optional<NativeWay::Move> GhostBackend::as_bytes(const rma::Op& op) const {
  Blocks& blocks = own_blocks();
  if (blocks.origin.size() != 1 || blocks.target.size() != 1) return {};
  ghost::Block& here = blocks.origin.front();
  const ghost::Block& there = blocks.target.front();
  const MPI_Aint unit = targets_.unit(op.target);
  if (here.length != there.length || there.offset % unit != 0) return {};
  // From here on, offsets count from the move's address.
  std::byte* const address = static_cast<std::byte*>(op.here().address) + here.offset;
  here.offset = 0;
  return NativeWay::Move{address, there.offset / unit, static_cast<MPI_Count>(here.length)};
}

// The blocks are those of this thread.
int GhostBackend::move_either_way(const rma::Op& op, const NativeWay::Move& move) {
  const Blocks& blocks = own_blocks();
  int reported = MPI_SUCCESS;  // by the library, to its error handler
  const int result = held([&]() -> int {
    GhostTargets::Target& to = at(op.target);
    join_epoch(to);
    ghost::Origin& ghosts = ghost_client->origin;
    const Local local{static_cast<std::byte*>(move.origin), blocks.origin};
    const auto bytes = static_cast<std::uint64_t>(move.bytes);
    const auto redirect = [&] {
      return is_get(op) ? ghosts.get(to.peer, local, blocks.target)
                        : ghosts.put(to.peer, local, blocks.target);
    };
    if (to.peer.direct != nullptr || bytes == 0)
      return redirect() ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    if (NativeWay::takes(to)) {
      if (!ghosts.inside(to.peer, blocks.target)) return MPI_ERR_RMA_RANGE;
      reported = native_.issue(handle, to, is_get(op), move);
      return MPI_SUCCESS;
    }
    const std::uint64_t start = tick_nanoseconds();
    if (!redirect()) return MPI_ERR_RMA_RANGE;
    native_.by_ghost(handle, to, bytes, tick_nanoseconds() - start);
    return MPI_SUCCESS;
  });
  return reported != MPI_SUCCESS ? reported : result;
}

int GhostBackend::combine_at(const rma::Op& op) {
  const bool fetches = op.brings();
  const auto operation = operation_number(op.operation);
  if (HOB_UNLIKELY(!operation)) return fail(MPI_ERR_OP);
  const auto element = element_of(op.target_type);
  if (HOB_UNLIKELY(!element)) return fail(MPI_ERR_TYPE);
  if (HOB_UNLIKELY(!combines(*element, *operation))) return fail(MPI_ERR_OP);
  const bool reads = *operation != ghost::kOperationNoOp;
  if (HOB_UNLIKELY((reads && is_on_accelerator(op.origin)) ||
                   (fetches && is_on_accelerator(op.result))))
    return issue_staged(op);
  Blocks& blocks = own_blocks();
  blocks.origin.clear();
  blocks.result.clear();
  if (HOB_UNLIKELY(
          !element_blocks(op.target_type, op.target_count, *element, start_of(op), blocks.target) ||
          (reads && !element_blocks(op.origin.type, op.origin.count, *element, 0, blocks.origin)) ||
          (fetches &&
           !element_blocks(op.result.type, op.result.count, *element, 0, blocks.result)))) {
    return fail(MPI_ERR_TYPE);
  }
  const Local from{static_cast<std::byte*>(op.origin.address), blocks.origin};
  const Local into{static_cast<std::byte*>(op.result.address), blocks.result};
  return by_ghost(op, [&](Peer& peer, Completion* extra) {
    return fetches ? ghost_client->origin.get_accumulate(peer, from, into, blocks.target, *element,
                                                         *operation, extra)
                   : ghost_client->origin.accumulate(peer, from, blocks.target, *element,
                                                     *operation, extra);
  });
}

int GhostBackend::compare_and_swap(const rma::Op& op) {
  const auto element = element_of(op.target_type);
  if (HOB_UNLIKELY(!element)) return fail(MPI_ERR_TYPE);
  if (HOB_UNLIKELY(is_on_accelerator(op.origin) || is_on_accelerator(compared_by(op)) ||
                   is_on_accelerator(op.result)))
    return issue_staged(op);
  return by_ghost(op, [&](Peer& peer, Completion*) {
    return ghost_client->origin.compare_and_swap(peer, static_cast<const std::byte*>(op.compare),
                                                 static_cast<const std::byte*>(op.origin.address),
                                                 static_cast<std::byte*>(op.result.address),
                                                 start_of(op), element->bytes);
  });
}

bool GhostBackend::query(int rank, MPI_Aint* size, MPI_Aint* unit, void** base) const {
  const int target = rank == MPI_PROC_NULL ? 0 : rank;
  if (!targets_.exists(target)) return false;
  const GhostWorld& world = ghost_client->world;
  const auto node = world.ranks[static_cast<std::size_t>(targets_.rank(target))].node;
  auto* header = reinterpret_cast<ghost::Target*>(world.arena + targets_.header(target));
  std::byte* const mapped = node == world.own_node ? ghost::Memory(*header).mapped() : nullptr;
  *size = mapped != nullptr ? static_cast<MPI_Aint>(targets_.size(target)) : 0;
  *unit = mapped != nullptr ? static_cast<MPI_Aint>(targets_.unit(target)) : 1;
  *base = mapped;
  return true;
}

}  // namespace hob::mpi
