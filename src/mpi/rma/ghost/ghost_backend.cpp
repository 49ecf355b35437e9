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

}  // namespace

GhostBackend::GhostBackend(GhostTargets targets, ArenaMemory memory, int self)
    : targets_(std::move(targets)),
      memory_(std::move(memory)),
      self_(self),
      pscw_(targets_.window_number()) {
  may_hold_back_.set(true);
}

int GhostBackend::already_complete(MPI_Request* request, bool fetches) {
  if (request == nullptr) return MPI_SUCCESS;
  const GhostHold hold;
  *request = requests::add(ghost_client->begin_operation(fetches));
  return MPI_SUCCESS;
}

int GhostBackend::fail(int code) const {
  real::Win_call_errhandler(handle, code);
  return after_handler(handle, code);
}

int GhostBackend::check(const Place& place, MPI_Count count) const {
  if (HOB_UNLIKELY(!targets_.exists(place.target))) return MPI_ERR_RANK;
  if (HOB_UNLIKELY(count < 0 || place.count < 0)) return MPI_ERR_COUNT;
  return MPI_SUCCESS;
}

std::int64_t GhostBackend::start_of(const Place& place) const {
  return place.disp * targets_.unit(place.target);
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

// Before an operation. A ghost's failure to reach memory that is not in the arena has to be told to
// the origin: there, each operation is answered.
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

template <class Issue>
int GhostBackend::issue(int target, MPI_Request* request, bool fetches, Issue operation) {
  return held([&]() -> int {
    GhostTargets::Target& to = at(target);
    Peer& peer = to.peer;
    join_epoch(to);
    // What was issued before keeps its place.
    to.native.others = true;
    if (HOB_UNLIKELY(to.native.native != 0)) {
      if (const int wrong = native_.complete(handle, to)) return wrong;
    }
    if (request == nullptr) return operation(peer, nullptr) ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    GhostOperation& mine = ghost_client->begin_operation(fetches);
    mine.window = handle;
    const bool good = operation(peer, &mine.completion);
    ghost_client->origin.push(peer);
    *request = requests::add(mine);
    return good ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
  });
}

int GhostBackend::move(bool get, const TypedBuffer& origin, const Place& place,
                       MPI_Request* request) {
  if (place.target == MPI_PROC_NULL) return already_complete(request, false);
  if (const int wrong = check(place, origin.count)) return fail(wrong);
  if (HOB_UNLIKELY(is_on_accelerator(origin))) return move_staged(get, origin, place, request);
  Blocks& blocks = own_blocks();
  if (HOB_UNLIKELY(!data_blocks(origin.type, origin.count, 0, blocks.origin) ||
                   !data_blocks(place.type, place.count, start_of(place), blocks.target))) {
    return fail(MPI_ERR_TYPE);
  }
  if (request == nullptr && NativeWay::possible()) {
    if (const auto move = as_bytes(origin, place)) return move_either_way(get, place.target, *move);
  }
  const Local local{static_cast<std::byte*>(origin.address), blocks.origin};
  return issue(place.target, request, false, [&](Peer& peer, Completion* extra) {
    return get ? ghost_client->origin.get(peer, local, blocks.target, extra)
               : ghost_client->origin.put(peer, local, blocks.target, extra);
  });
}

// Libraries move other data by messages, which their target has to take. The window's units have to
// be able to say where the block is.
std::optional<NativeWay::Move> GhostBackend::as_bytes(const TypedBuffer& origin,
                                                      const Place& place) const {
  Blocks& blocks = own_blocks();
  if (blocks.origin.size() != 1 || blocks.target.size() != 1) return {};
  ghost::Block& here = blocks.origin.front();
  const ghost::Block& there = blocks.target.front();
  const MPI_Aint unit = targets_.unit(place.target);
  if (here.length != there.length || there.offset % unit != 0) return {};
  // From here on, offsets count from the move's address.
  std::byte* const address = static_cast<std::byte*>(origin.address) + here.offset;
  here.offset = 0;
  return NativeWay::Move{address, there.offset / unit, static_cast<MPI_Count>(here.length)};
}

// The blocks are those of this thread.
int GhostBackend::move_either_way(bool get, int target, const NativeWay::Move& move) {
  const Blocks& blocks = own_blocks();
  int told = MPI_SUCCESS;  // by the library, to its error handler
  const int result = held([&]() -> int {
    GhostTargets::Target& to = at(target);
    join_epoch(to);
    ghost::Origin& ghosts = ghost_client->origin;
    const Local local{static_cast<std::byte*>(move.origin), blocks.origin};
    const auto bytes = static_cast<std::uint64_t>(move.bytes);
    if (to.peer.direct != nullptr || bytes == 0) {
      const bool good = get ? ghosts.get(to.peer, local, blocks.target)
                            : ghosts.put(to.peer, local, blocks.target);
      return good ? MPI_SUCCESS : MPI_ERR_RMA_RANGE;
    }
    if (NativeWay::takes(to)) {
      if (!ghosts.inside(to.peer, blocks.target)) return MPI_ERR_RMA_RANGE;
      told = native_.issue(handle, to, get, move);
      return MPI_SUCCESS;
    }
    const std::uint64_t start = tick_nanoseconds();
    const bool good =
        get ? ghosts.get(to.peer, local, blocks.target) : ghosts.put(to.peer, local, blocks.target);
    if (!good) return MPI_ERR_RMA_RANGE;
    native_.by_ghost(handle, to, bytes, tick_nanoseconds() - start);
    return MPI_SUCCESS;
  });
  return told != MPI_SUCCESS ? told : result;
}

int GhostBackend::combine_at(const TypedBuffer& origin, const TypedBuffer* result,
                             const Place& place, MPI_Op op, MPI_Request* request) {
  if (place.target == MPI_PROC_NULL) return already_complete(request, false);
  if (const int wrong = check(place, origin.count)) return fail(wrong);
  const auto operation = operation_number(op);
  if (HOB_UNLIKELY(!operation)) return fail(MPI_ERR_OP);
  const auto element = element_of(place.type);
  if (HOB_UNLIKELY(!element)) return fail(MPI_ERR_TYPE);
  if (HOB_UNLIKELY(!combines(*element, *operation))) return fail(MPI_ERR_OP);
  if (HOB_UNLIKELY(is_on_accelerator(origin) || (result != nullptr && is_on_accelerator(*result))))
    return combine_staged(origin, result, place, op, request);
  const bool reads = *operation != ghost::kOperationNoOp;
  Blocks& blocks = own_blocks();
  blocks.origin.clear();
  blocks.result.clear();
  if (HOB_UNLIKELY(
          !element_blocks(place.type, place.count, *element, start_of(place), blocks.target) ||
          (reads && !element_blocks(origin.type, origin.count, *element, 0, blocks.origin)) ||
          (result != nullptr &&
           !element_blocks(result->type, result->count, *element, 0, blocks.result)))) {
    return fail(MPI_ERR_TYPE);
  }
  const Local from{static_cast<std::byte*>(origin.address), blocks.origin};
  const Local into{result == nullptr ? nullptr : static_cast<std::byte*>(result->address),
                   blocks.result};
  return issue(place.target, request, result != nullptr, [&](Peer& peer, Completion* extra) {
    return result == nullptr ? ghost_client->origin.accumulate(peer, from, blocks.target, *element,
                                                               *operation, extra)
                             : ghost_client->origin.get_accumulate(peer, from, into, blocks.target,
                                                                   *element, *operation, extra);
  });
}

int GhostBackend::get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                      MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) {
  return move(true, {origin, count, type}, {target, disp, target_count, target_type}, request);
}

int GhostBackend::put(const void* origin, MPI_Count count, MPI_Datatype type, int target,
                      MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                      MPI_Request* request) {
  return move(false, {const_cast<void*>(origin), count, type},
              {target, disp, target_count, target_type}, request);
}

int GhostBackend::accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target,
                             MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                             MPI_Op op, MPI_Request* request) {
  return combine_at({const_cast<void*>(origin), count, type}, nullptr,
                    {target, disp, target_count, target_type}, op, request);
}

int GhostBackend::get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type,
                                 void* result, MPI_Count result_count, MPI_Datatype result_type,
                                 int target, MPI_Aint disp, MPI_Count target_count,
                                 MPI_Datatype target_type, MPI_Op op, MPI_Request* request) {
  const TypedBuffer into{result, result_count, result_type};
  return combine_at({const_cast<void*>(origin), count, type}, &into,
                    {target, disp, target_count, target_type}, op, request);
}

int GhostBackend::fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                               MPI_Aint disp, MPI_Op op) {
  const TypedBuffer into{result, 1, type};
  return combine_at({const_cast<void*>(origin), 1, type}, &into, {target, disp, 1, type}, op,
                    nullptr);
}

int GhostBackend::compare_and_swap(const void* origin, const void* compare, void* result,
                                   MPI_Datatype type, int target, MPI_Aint disp) {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  const Place place{target, disp, 1, type};
  if (const int wrong = check(place, 1)) return fail(wrong);
  const auto element = element_of(type);
  if (HOB_UNLIKELY(!element)) return fail(MPI_ERR_TYPE);
  const TypedBuffer from{const_cast<void*>(origin), 1, type}, into{result, 1, type};
  const TypedBuffer expected{const_cast<void*>(compare), 1, type};
  if (HOB_UNLIKELY(is_on_accelerator(from) || is_on_accelerator(expected) ||
                   is_on_accelerator(into))) {
    return swap_staged(from, expected, into, place);
  }
  return issue(target, nullptr, false, [&](Peer& peer, Completion*) {
    return ghost_client->origin.compare_and_swap(
        peer, static_cast<const std::byte*>(compare), static_cast<const std::byte*>(origin),
        static_cast<std::byte*>(result), start_of(place), element->bytes);
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
