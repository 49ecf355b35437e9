#include "mpi/rma/ghost/ghost_route.hpp"

#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "ghost/origin.hpp"
#include "mpi/core/context.hpp"
#include "mpi/ghost/transport.hpp"
#include "mpi/ghost/world.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/report.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/ghost/tokens.hpp"
#include "mpi/rma/ghost/types.hpp"

namespace hob::mpi {
namespace {

using ghost::Completion;
using ghost::Local;
using ghost::LockMode;
using ghost::Peer;

/// An operation with a request. Holding the engine covers its members.
class Requested final : public Operation {
 public:
  Completion completion;

  bool ready() override;
  int result(MPI_Status* status) override {
    if (status != MPI_STATUS_IGNORE) requests::copy_status(requests::empty_status(), status);
    return MPI_SUCCESS;
  }
  void retire() override;
  void abandon() override;
  /// The program has freed the request: goes as soon as it is done.
  bool abandoned = false;
};

/// One of a process: its side of all ghost windows.
struct Engine {
  Engine(GhostWorld& its_world, bool threads)
      : world(its_world),
        many_threads(threads),
        transport(world, threads ? &lock : nullptr),
        tokens(world.wire, world.rank),
        origin({&combine,
                *ghost::binding_from(context().settings.ghost_binding),
                1 << 20,
                {static_cast<std::uint32_t>(world.ranks.size())}},
               transport) {
    for (const auto& ghosts : world.ghosts) {
      nodes.push_back({ghosts, ghost::Load(static_cast<unsigned>(ghosts.size()))});
    }
  }
  GhostWorld& world;
  bool many_threads;
  std::mutex lock;
  GhostTransport transport;
  Tokens tokens;
  ghost::Origin origin;
  std::vector<ghost::GhostNode> nodes;
  std::vector<Requested*> requested;   ///< under way, or not yet collected by the program
  std::atomic<std::uint32_t> made{0};  ///< windows of which this process is the first member
  std::atomic<std::uint64_t> windows{0};
  std::atomic<std::uint64_t> windows_declined{0};
  struct {
    std::uint64_t calls = 0;
    std::uint64_t completions = 0;       // that completed this process's operations
    std::uint64_t synchronisations = 0;  // that waited for the other processes
  } fences;
};

Engine* engine = nullptr;

/// This thread is at work in the engine, perhaps waiting. The MPI library may call back into Hob
/// from there.
thread_local bool inside_engine = false;

/// Holds the engine where the program has several threads. A wait gives it away: what was known
/// before may not be true after it.
class Hold {
 public:
  Hold() {
    if (engine->many_threads) engine->lock.lock();
    inside_engine = true;
  }
  ~Hold() {
    inside_engine = false;
    if (engine->many_threads) engine->lock.unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
};

// The engine is held. Forgets an operation that has ended.
void forget(Requested* operation) {
  std::erase(engine->requested, operation);
  if (engine->requested.empty()) none_under_way();
  delete operation;
}

bool Requested::ready() {
  const Hold hold;
  return completion.pending == 0;
}

void Requested::retire() {
  const Hold hold;
  forget(this);
}

void Requested::abandon() {
  const Hold hold;
  if (completion.pending == 0) {
    forget(this);
  } else {
    abandoned = true;
  }
}

// The engine is held: operations that nobody will ask for any more go when they are done.
void sweep_abandoned() {
  for (std::size_t i = 0; i < engine->requested.size();) {
    Requested* each = engine->requested[i];
    if (each->abandoned && each->completion.pending == 0) {
      forget(each);
    } else {
      ++i;
    }
  }
}

/// Called while the program waits or tests; from within MPI, too, and then not by a thread that is
/// at work here itself.
void advance_ghosts() {
  if (inside_engine) return;
  if (engine->many_threads && !engine->lock.try_lock()) return;
  inside_engine = true;
  engine->origin.progress();
  sweep_abandoned();
  inside_engine = false;
  if (engine->many_threads) engine->lock.unlock();
}

/// What the processes of a window tell each other about their memory.
struct Entry {
  std::uint64_t target;  // offset of the header in the node's arena; none: not to be had
  std::uint64_t size;
  std::int32_t unit;
  std::int32_t flag;
  std::uint64_t serial;  // of the first member: with its rank, the window's number
};
constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();

thread_local std::vector<ghost::Block> mine_scratch;
thread_local std::vector<ghost::Block> result_scratch;
thread_local std::vector<ghost::Block> there_scratch;

class GhostRoute final : public Backend {
 public:
  struct Allocation {
    std::uint64_t offset = none;
    std::uint64_t bytes = 0;
  };

  GhostRoute(std::vector<Entry> entries, std::vector<int> wire_ranks, Allocation allocation,
             int self)
      : entries_(std::move(entries)),
        wire_ranks_(std::move(wire_ranks)),
        allocation_(allocation),
        self_(self),
        number_(static_cast<std::uint64_t>(wire_ranks_[0]) << 32 | entries_[0].serial),
        peers_(entries_.size()) {}
  ~GhostRoute() override;

  MPI_Win handle{};

  int get(void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override {
    return move(true, origin, count, type, target, disp, target_count, target_type, request);
  }
  int put(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
          MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request) override {
    return move(false, const_cast<void*>(origin), count, type, target, disp, target_count,
                target_type, request);
  }
  int accumulate(const void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
                 MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                 MPI_Request* request) override {
    return combine_at(origin, count, type, nullptr, 0, type, false, target, disp, target_count,
                      target_type, op, request);
  }
  int get_accumulate(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                     MPI_Count result_count, MPI_Datatype result_type, int target, MPI_Aint disp,
                     MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                     MPI_Request* request) override {
    return combine_at(origin, count, type, result, result_count, result_type, true, target, disp,
                      target_count, target_type, op, request);
  }
  int fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint disp,
                   MPI_Op op) override {
    return combine_at(origin, 1, type, result, 1, type, true, target, disp, 1, type, op, nullptr);
  }
  int compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                       int target, MPI_Aint disp) override;

  int fence(int assertion) override;
  int start(MPI_Group group, int assertion) override;
  int complete() override;
  int post(MPI_Group group, int assertion) override;
  int wait() override;
  int test(int* flag) override;
  int lock(int type, int target, int assertion) override;
  int unlock(int target) override;
  int lock_all(int assertion) override;
  int unlock_all() override;
  int flush(int target) override;
  int flush_all() override;
  int flush_local(int target) override;
  int flush_local_all() override;
  int sync() override;
  void closing() override;

  bool query(int rank, MPI_Aint* size, MPI_Aint* unit, void** base) const;

 private:
  struct At {
    Peer peer;
    bool locked = false;
  };

  int fail(int code) const {
    real::Win_call_errhandler(handle, code);
    return code;
  }
  bool bad_target(int target) const {
    return target < 0 || target >= static_cast<int>(entries_.size());
  }
  At& at(int target);
  /// All peers that exist. `act` may wait: another thread may add some meanwhile.
  template <class Act>
  void each_peer(Act act) {
    for (std::size_t i = 0; i < used_.size(); ++i) act(at(used_[i]).peer);
  }
  void complete_all();
  /// One process that this one lets in, or that lets this one in.
  struct Party {
    int wire;
    bool told;  // its token has come, or none is needed
  };
  struct Epoch {
    bool open = false;
    bool silent = false;  // MPI_MODE_NOCHECK: no tokens
    std::vector<Party> parties;
  };
  void begin(Epoch& epoch, MPI_Group group, int assertion);
  bool told(Party& party, Tokens::Kind kind);
  bool have(Epoch& epoch, Tokens::Kind kind);
  template <class Done>
  void await(Done done);
  void let_in(int target);
  ghost::Segments& segments(int node);
  int move(bool get, void* origin, MPI_Count count, MPI_Datatype type, int target, MPI_Aint disp,
           MPI_Count target_count, MPI_Datatype target_type, MPI_Request* request);
  int combine_at(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                 MPI_Count result_count, MPI_Datatype result_type, bool fetch, int target,
                 MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type, MPI_Op op,
                 MPI_Request* request);
  template <class Issue>
  int issue(At& to, MPI_Request* request, Issue operation);

  std::vector<Entry> entries_;
  std::vector<int> wire_ranks_;
  Allocation allocation_;
  int self_;
  std::uint64_t number_;  // the same in all members, and only here
  Epoch access_;
  Epoch exposure_;
  std::vector<std::unique_ptr<At>> peers_;  // made when first used
  std::vector<int> used_;                   // those that exist
  std::vector<std::pair<int, std::unique_ptr<ghost::Segments>>> segments_;
  std::vector<std::size_t> place_on_node_;  // segment binding: number of each target on its node
  LockMode all_ = LockMode::none;
  bool locked_all_ = false;
  std::uint32_t fences_ = 0;     // entered so far; the same in all members where all have come
  bool unsynchronised_ = false;  // the last one did not wait for the others
};

GhostRoute::~GhostRoute() {
  if (allocation_.offset == none) return;
  const Hold hold;
  // Whole pages go back to the system: memory of a freed window must not stay taken.
  constexpr std::uint64_t page = 4096;
  const std::uint64_t begin = (allocation_.offset + page - 1) & ~(page - 1);
  const std::uint64_t end = (allocation_.offset + allocation_.bytes) & ~(page - 1);
  constexpr std::uint64_t worth_it = 1 << 20;
  if (end > begin && end - begin >= worth_it) {
    ::madvise(engine->world.arena + begin, end - begin, MADV_REMOVE);
  }
  engine->world.slices->free(allocation_.offset, allocation_.bytes);
}

ghost::Segments& GhostRoute::segments(int node) {
  for (auto& [known, cut] : segments_) {
    if (known == node) return *cut;
  }
  if (place_on_node_.empty()) {
    std::vector<std::size_t> next(engine->nodes.size(), 0);
    for (const int rank : wire_ranks_) {
      const auto where =
          static_cast<std::size_t>(engine->world.ranks[static_cast<std::size_t>(rank)].node);
      place_on_node_.push_back(next[where]++);
    }
  }
  std::vector<std::uint64_t> sizes;
  for (std::size_t t = 0; t < entries_.size(); ++t) {
    if (engine->world.ranks[static_cast<std::size_t>(wire_ranks_[t])].node == node)
      sizes.push_back(entries_[t].size);
  }
  const auto ghosts =
      static_cast<unsigned>(engine->nodes[static_cast<std::size_t>(node)].ghosts.size());
  segments_.emplace_back(node, std::make_unique<ghost::Segments>(sizes, ghosts));
  return *segments_.back().second;
}

GhostRoute::At& GhostRoute::at(int target) {
  auto& slot = peers_[static_cast<std::size_t>(target)];
  if (HOB_LIKELY(slot != nullptr)) return *slot;
  slot = std::make_unique<At>();
  used_.push_back(target);
  const Entry& entry = entries_[static_cast<std::size_t>(target)];
  const WireRank& who =
      engine->world.ranks[static_cast<std::size_t>(wire_ranks_[static_cast<std::size_t>(target)])];
  Peer& peer = slot->peer;
  peer.size = entry.size;
  peer.target = entry.target;
  if (who.node == engine->world.own_node) {
    peer.direct = reinterpret_cast<ghost::Target*>(engine->world.arena + entry.target);
  } else {
    peer.node = &engine->nodes[static_cast<std::size_t>(who.node)];
    peer.home = static_cast<unsigned>(who.home);
    if (context().settings.ghost_binding == "segment") {
      const auto& cut = segments(who.node);
      peer.pieces = &cut.pieces(place_on_node_[static_cast<std::size_t>(target)]);
    }
  }
  if (locked_all_) {
    engine->origin.lock(peer, all_, true);
  } else if (unsynchronised_) {
    engine->origin.enter(peer, fences_);
  }
  return *slot;
}

// The request of an operation on MPI_PROC_NULL.
void nothing_to_do(MPI_Request* request) {
  auto* done = new Requested;
  if (engine->requested.empty()) under_way();
  engine->requested.push_back(done);
  *request = requests::add(*done);
}

template <class Issue>
int GhostRoute::issue(At& to, MPI_Request* request, Issue operation) {
  if (request == nullptr) {
    if (HOB_UNLIKELY(!operation(to.peer, nullptr))) return fail(MPI_ERR_RMA_RANGE);
    return MPI_SUCCESS;
  }
  auto* mine = new Requested;
  if (engine->requested.empty()) under_way();
  engine->requested.push_back(mine);
  const bool good = operation(to.peer, &mine->completion);
  engine->origin.push(to.peer);
  *request = requests::add(*mine);
  return good ? MPI_SUCCESS : fail(MPI_ERR_RMA_RANGE);
}

int GhostRoute::move(bool get, void* origin, MPI_Count count, MPI_Datatype type, int target,
                     MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                     MPI_Request* request) {
  const Hold hold;
  if (target == MPI_PROC_NULL) {
    if (request != nullptr) nothing_to_do(request);
    return MPI_SUCCESS;
  }
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  if (HOB_UNLIKELY(count < 0 || target_count < 0)) return fail(MPI_ERR_COUNT);
  const std::int64_t start = disp * entries_[static_cast<std::size_t>(target)].unit;
  if (!data_blocks(type, count, 0, mine_scratch) ||
      !data_blocks(target_type, target_count, start, there_scratch)) {
    return fail(MPI_ERR_TYPE);
  }
  let_in(target);
  const Local local{static_cast<std::byte*>(origin), mine_scratch};
  return issue(at(target), request, [&](Peer& peer, Completion* extra) {
    return get ? engine->origin.get(peer, local, there_scratch, extra)
               : engine->origin.put(peer, local, there_scratch, extra);
  });
}

int GhostRoute::combine_at(const void* origin, MPI_Count count, MPI_Datatype type, void* result,
                           MPI_Count result_count, MPI_Datatype result_type, bool fetch, int target,
                           MPI_Aint disp, MPI_Count target_count, MPI_Datatype target_type,
                           MPI_Op op, MPI_Request* request) {
  const Hold hold;
  if (target == MPI_PROC_NULL) {
    if (request != nullptr) nothing_to_do(request);
    return MPI_SUCCESS;
  }
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  if (HOB_UNLIKELY(count < 0 || target_count < 0)) return fail(MPI_ERR_COUNT);
  const auto operation = operation_number(op);
  if (HOB_UNLIKELY(!operation)) return fail(MPI_ERR_OP);
  const auto element = element_of(target_type);
  if (HOB_UNLIKELY(!element)) return fail(MPI_ERR_TYPE);
  if (HOB_UNLIKELY(!combines(*element, *operation))) return fail(MPI_ERR_OP);
  const std::int64_t start = disp * entries_[static_cast<std::size_t>(target)].unit;
  const bool reads = *operation != ghost::operation_no_op;
  if (!element_blocks(target_type, target_count, *element, start, there_scratch) ||
      (reads && !element_blocks(type, count, *element, 0, mine_scratch)) ||
      (fetch && !element_blocks(result_type, result_count, *element, 0, result_scratch))) {
    return fail(MPI_ERR_TYPE);
  }
  if (!reads) mine_scratch.clear();
  let_in(target);
  const Local from{static_cast<std::byte*>(const_cast<void*>(origin)), mine_scratch};
  const Local into{static_cast<std::byte*>(result), result_scratch};
  return issue(at(target), request, [&](Peer& peer, Completion* extra) {
    return fetch
               ? engine->origin.get_accumulate(peer, from, into, there_scratch, *element,
                                               *operation, extra)
               : engine->origin.accumulate(peer, from, there_scratch, *element, *operation, extra);
  });
}

int GhostRoute::compare_and_swap(const void* origin, const void* compare, void* result,
                                 MPI_Datatype type, int target, MPI_Aint disp) {
  const Hold hold;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  const auto element = element_of(type);
  if (!element) return fail(MPI_ERR_TYPE);
  const std::int64_t offset = disp * entries_[static_cast<std::size_t>(target)].unit;
  let_in(target);
  const bool good =
      engine->origin.compare_and_swap(at(target).peer, static_cast<const std::byte*>(compare),
                                      static_cast<const std::byte*>(origin),
                                      static_cast<std::byte*>(result), offset, element->bytes);
  return good ? MPI_SUCCESS : fail(MPI_ERR_RMA_RANGE);
}

void GhostRoute::complete_all() {
  if (engine->origin.active()) {
    each_peer([](Peer& peer) { engine->origin.push(peer); });
    each_peer([](Peer& peer) { engine->origin.flush(peer); });
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

// A fence that ends an epoch completes this process's operations and lets the MPI library's own
// fence, which has no operations to complete, synchronise the processes. One that ends nothing
// waits for nobody: its number, in shared memory, tells ghosts and neighbours that this process has
// come so far, and they let no operation of the new epoch pass before.
int GhostRoute::fence(int assertion) {
  const bool ends = (assertion & MPI_MODE_NOPRECEDE) == 0;
  {
    const Hold hold;
    ++engine->fences.calls;
    if (ends) {
      ++engine->fences.completions;
      complete_all();
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    ++fences_;
    at(self_).peer.direct->fences.store(fences_, std::memory_order_release);
    unsynchronised_ = !ends;
    each_peer([&](Peer& peer) {
      if (ends) {
        engine->origin.leave(peer);
      } else {
        engine->origin.enter(peer, fences_);
      }
    });
    if (!ends) return MPI_SUCCESS;
    ++engine->fences.synchronisations;
  }
  const int result = real::Win_fence(0, handle);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return result;
}

void GhostRoute::begin(Epoch& epoch, MPI_Group group, int assertion) {
  int members = 0;
  real::Group_size(group, &members);
  std::vector<int> ranks(static_cast<std::size_t>(members));
  std::vector<int> wire(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
  real::Group_translate_ranks(group, members, ranks.data(), engine->world.wire_group, wire.data());
  epoch.open = true;
  epoch.silent = (assertion & MPI_MODE_NOCHECK) != 0;
  epoch.parties.clear();
  for (const int rank : wire) epoch.parties.push_back({rank, epoch.silent});
}

// Whether the process's token has come. It is taken once, by whichever thread asks first.
bool GhostRoute::told(Party& party, Tokens::Kind kind) {
  if (!party.told) party.told = engine->tokens.take(number_, kind, party.wire);
  return party.told;
}

// Whether all tokens of this kind have come.
bool GhostRoute::have(Epoch& epoch, Tokens::Kind kind) {
  bool all = true;
  for (Party& each : epoch.parties) {
    all = told(each, kind) && all;
  }
  return all;
}

// The engine is held.
template <class Done>
void GhostRoute::await(Done done) {
  if (done()) return;
  engine->transport.waits(true);
  for (unsigned turn = 0;; ++turn) {
    engine->tokens.receive();
    if (done()) break;
    engine->origin.progress();
    engine->transport.relax(turn, false);
  }
  engine->transport.waits(false);
}

// A target that has not posted yet is not touched.
void GhostRoute::let_in(int target) {
  if (HOB_LIKELY(!access_.open)) return;
  for (Party& each : access_.parties) {
    if (each.wire != wire_ranks_[static_cast<std::size_t>(target)] || each.told) continue;
    await([&] { return told(each, Tokens::Kind::post); });
  }
}

int GhostRoute::start(MPI_Group group, int assertion) {
  const Hold hold;
  if (HOB_UNLIKELY(access_.open)) return fail(MPI_ERR_RMA_SYNC);
  begin(access_, group, assertion);
  return MPI_SUCCESS;
}

int GhostRoute::complete() {
  const Hold hold;
  if (HOB_UNLIKELY(!access_.open)) return fail(MPI_ERR_RMA_SYNC);
  complete_all();
  // A target learns only of epochs that it has opened.
  await([&] { return have(access_, Tokens::Kind::post); });
  for (const Party& each : access_.parties)
    engine->tokens.send(number_, Tokens::Kind::complete, each.wire);
  access_.open = false;
  return MPI_SUCCESS;
}

int GhostRoute::post(MPI_Group group, int assertion) {
  const Hold hold;
  if (HOB_UNLIKELY(exposure_.open)) return fail(MPI_ERR_RMA_SYNC);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  begin(exposure_, group, assertion);
  for (Party& each : exposure_.parties) {
    each.told = false;  // completes are always told
    if (!exposure_.silent) engine->tokens.send(number_, Tokens::Kind::post, each.wire);
  }
  return MPI_SUCCESS;
}

int GhostRoute::wait() {
  const Hold hold;
  if (HOB_UNLIKELY(!exposure_.open)) return fail(MPI_ERR_RMA_SYNC);
  await([&] { return have(exposure_, Tokens::Kind::complete); });
  exposure_.open = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

int GhostRoute::test(int* flag) {
  const Hold hold;
  if (HOB_UNLIKELY(!exposure_.open)) return fail(MPI_ERR_RMA_SYNC);
  engine->tokens.receive();
  engine->origin.progress();
  *flag = have(exposure_, Tokens::Kind::complete);
  if (*flag) exposure_.open = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

int GhostRoute::lock(int type, int target, int assertion) {
  const Hold hold;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  if (HOB_UNLIKELY(type != MPI_LOCK_EXCLUSIVE && type != MPI_LOCK_SHARED))
    return fail(MPI_ERR_LOCKTYPE);
  At& to = at(target);
  if (HOB_UNLIKELY(to.locked || locked_all_)) return fail(MPI_ERR_RMA_SYNC);
  LockMode mode = type == MPI_LOCK_EXCLUSIVE ? LockMode::exclusive : LockMode::shared;
  if ((assertion & MPI_MODE_NOCHECK) != 0) mode = LockMode::none;
  engine->origin.lock(to.peer, mode, false);
  to.locked = true;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

int GhostRoute::unlock(int target) {
  const Hold hold;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  At& to = at(target);
  if (HOB_UNLIKELY(!to.locked)) return fail(MPI_ERR_RMA_SYNC);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  engine->origin.unlock(to.peer);
  to.locked = false;
  return MPI_SUCCESS;
}

int GhostRoute::lock_all(int assertion) {
  const Hold hold;
  if (HOB_UNLIKELY(locked_all_)) return fail(MPI_ERR_RMA_SYNC);
  all_ = (assertion & MPI_MODE_NOCHECK) != 0 ? LockMode::none : LockMode::shared;
  each_peer([&](Peer& peer) { engine->origin.lock(peer, all_, true); });
  locked_all_ = true;
  // This process may load and store its own memory from here on.
  engine->origin.lock(at(self_).peer, all_, false);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

int GhostRoute::unlock_all() {
  const Hold hold;
  if (HOB_UNLIKELY(!locked_all_)) return fail(MPI_ERR_RMA_SYNC);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  each_peer([](Peer& peer) { engine->origin.push(peer); });
  each_peer([](Peer& peer) { engine->origin.unlock(peer); });
  locked_all_ = false;
  return MPI_SUCCESS;
}

int GhostRoute::flush(int target) {
  const Hold hold;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  engine->origin.flush(at(target).peer);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

int GhostRoute::flush_all() {
  const Hold hold;
  complete_all();
  return MPI_SUCCESS;
}

int GhostRoute::flush_local(int target) {
  const Hold hold;
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  if (HOB_UNLIKELY(bad_target(target))) return fail(MPI_ERR_RANK);
  engine->origin.flush_local(at(target).peer);
  return MPI_SUCCESS;
}

int GhostRoute::flush_local_all() {
  const Hold hold;
  each_peer([](Peer& peer) { engine->origin.push(peer); });
  each_peer([](Peer& peer) { engine->origin.flush_local(peer); });
  return MPI_SUCCESS;
}

int GhostRoute::sync() {
  const Hold hold;
  engine->origin.progress();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return MPI_SUCCESS;
}

// Releases of locks travel without an answer: before the memory may be used for something else, all
// have been seen to arrive.
void GhostRoute::closing() {
  const Hold hold;
  complete_all();
  each_peer([](Peer& peer) { engine->origin.settle(peer); });
}

bool GhostRoute::query(int rank, MPI_Aint* size, MPI_Aint* unit, void** base) const {
  std::size_t target = 0;
  if (rank != MPI_PROC_NULL) {
    if (bad_target(rank)) return false;
    target = static_cast<std::size_t>(rank);
  }
  const WireRank& who = engine->world.ranks[static_cast<std::size_t>(wire_ranks_[target])];
  const auto* header =
      reinterpret_cast<const ghost::Target*>(engine->world.arena + entries_[target].target);
  if (who.node != engine->world.own_node || header->pid != 0) {
    *size = 0;
    *base = nullptr;
    *unit = 1;
    return true;
  }
  *size = static_cast<MPI_Aint>(entries_[target].size);
  *unit = static_cast<MPI_Aint>(entries_[target].unit);
  *base = const_cast<ghost::Target*>(header) + 1;
  return true;
}

// This rank's side; the node's first user tells of its ghosts, too.
std::string ghost_json() {
  const Hold hold;
  const ghost::Origin::Stats s = engine->origin.stats();
  const GhostWorld& world = engine->world;
  std::string text = fmt::format(
      R"({{"node":{},"binding":"{}","windows":{},"windows_declined":{},"direct":{},"direct_bytes":{},)"
      R"("redirected":{},"redirected_bytes":{},"messages":{},"split":{},"dynamic":{},"lock_waits":{},)"
      R"("wait_ms":{:.3f},"outside_window":{},"fences":{},"fence_completions":{},)"
      R"("fence_synchronisations":{},"tokens":{})",
      world.own_node, context().settings.ghost_binding, engine->windows.load(),
      engine->windows_declined.load(), s.direct, s.direct_bytes, s.redirected, s.redirected_bytes,
      s.messages, s.split, s.dynamic, s.lock_waits, static_cast<double>(s.wait_ns) / 1e6, s.errors,
      engine->fences.calls, engine->fences.completions, engine->fences.synchronisations,
      engine->tokens.sent());
  const WireRank& own = world.ranks[static_cast<std::size_t>(world.rank)];
  const bool speaks =
      std::find_if(world.ranks.begin(), world.ranks.end(), [&](const WireRank& each) {
        return each.node == own.node && each.ghost < 0;
      })->user == own.user;
  if (!speaks) return text + "}";
  text += ",\"ghosts\":[";
  for (std::size_t g = 0; g < world.boards.size(); ++g) {
    const GhostBoard& board = *world.boards[g];
    const auto ms = [](std::uint64_t ns) { return static_cast<double>(ns) / 1e6; };
    text += fmt::format(
        R"({}{{"ghost":{},"domain":{},"users":{},"messages":{},"operations":{},"bytes":{},"lock_waits":{},)"
        R"("deferred":{},"transfers":{},"sleeps":{},"lived_ms":{:.3f},"busy_ms":{:.3f},"cpu_ms":{:.3f},)"
        R"("timeline":{{"bucket_us":{},"busy_us":[)",
        g == 0 ? "" : ",", g, board.domain, board.users, board.stats.messages,
        board.stats.operations, board.stats.bytes, board.stats.lock_waits, board.stats.deferred,
        board.stats.transfers, board.sleeps, ms(board.ended_ns - board.started_ns),
        ms(board.busy_ns), ms(board.cpu_ns), board.timeline.bucket_ns / 1000);
    const std::uint64_t used =
        std::min<std::uint64_t>((board.ended_ns - board.started_ns) / board.timeline.bucket_ns + 1,
                                ghost::Timeline::buckets);
    for (std::uint64_t b = 0; b < used; ++b) {
      text += fmt::format("{}{}", b == 0 ? "" : ",", board.timeline.busy_ns[b] / 1000);
    }
    text += "]}}";
  }
  return text + "]}";
}

void ghost_count(report::Counters& counters) {
  const Hold hold;
  const ghost::Origin::Stats s = engine->origin.stats();
  counters[report::Counter::ghost_redirected] += s.redirected;
  counters[report::Counter::ghost_direct] += s.direct;
}

}  // namespace

void start_ghost_origin(bool threads) {
  engine = new Engine(*ghost_world(), threads);
  add_poller({&advance_ghosts, nullptr});
  add_report_part({"ghost", &ghost_json, &ghost_count});
}

bool is_ghost_route(const Backend* route) {
  return dynamic_cast<const GhostRoute*>(route) != nullptr;
}

bool ghost_shared_query(const Backend* route, int rank, MPI_Aint* size, MPI_Aint* unit, void** base) {
  return dynamic_cast<const GhostRoute*>(route)->query(rank, size, unit, base);
}

bool ghost_window(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, bool& flag, GhostWindow& window, int& result) {
  GhostWorld& world = engine->world;
  // Every process finds out by itself, with the same answer, whether all are of this world.
  MPI_Group group = MPI_GROUP_NULL;
  int members = 0;
  int self = 0;
  real::Comm_group(comm, &group);
  real::Group_size(group, &members);
  real::Group_rank(group, &self);
  std::vector<int> ranks(static_cast<std::size_t>(members));
  std::vector<int> wire(static_cast<std::size_t>(members));
  for (int r = 0; r < members; ++r) ranks[static_cast<std::size_t>(r)] = r;
  real::Group_translate_ranks(group, members, ranks.data(), world.wire_group, wire.data());
  real::Group_free(&group);
  for (const int rank : wire) {
    if (rank == MPI_UNDEFINED) {
      ++engine->windows_declined;
      note("A window over processes of another job runs without ghosts.");
      return false;
    }
  }

  GhostRoute::Allocation allocation;
  constexpr std::uint64_t line = 64;
  constexpr std::uint64_t page = 4096;
  const std::uint64_t bytes =
      (sizeof(ghost::Target) + (allocate ? static_cast<std::uint64_t>(size) : 0) + line - 1) &
      ~(line - 1);
  {
    const Hold hold;
    // Large memory starts on a page, so that it can go back to the system whole.
    const auto offset =
        size < 0 ? std::nullopt : world.slices->allocate(bytes, bytes >= 4 * page ? page : line);
    if (offset) allocation = {*offset, bytes};
  }
  Entry own{allocation.offset, static_cast<std::uint64_t>(size), static_cast<std::int32_t>(unit),
            flag, self == 0 ? engine->made++ : 0};
  if (!allocate && !world.kernel_moves) own.target = none;
  std::vector<Entry> entries(static_cast<std::size_t>(members));
  if (allocation.offset != none) {
    auto* header = new (world.arena + allocation.offset) ghost::Target{};
    header->size = static_cast<std::uint64_t>(size);
    if (!allocate) {
      header->pid = ::getpid();
      header->address = reinterpret_cast<std::uint64_t>(base);
    }
    if (allocate) base = header + 1;
  }
  real::Allgather(&own, sizeof own, MPI_BYTE, entries.data(), sizeof own, MPI_BYTE, comm);
  bool flagged = false;
  window.units.clear();
  for (const Entry& entry : entries) {
    flagged = flagged || entry.flag != 0;
    window.units.push_back(entry.unit);
  }
  const bool all =
      std::none_of(entries.begin(), entries.end(), [](const Entry& e) { return e.target == none; });
  auto route = std::make_unique<GhostRoute>(std::move(entries), std::move(wire), allocation, self);
  if (!all) {
    ++engine->windows_declined;
    note(allocate
             ? "A window whose memory the node's shared memory could not hold runs without ghosts."
             : "MPI_Win_create windows run without ghosts: this system does not let processes read "
               "each "
               "other's memory.");
    return false;
  }
  // A native window over the same memory: attributes, group, name, info, error handler, and the
  // synchronisation of processes by fences and post-start-complete-wait are the library's own.
  result = call::Win_create(base, size, unit, info, comm, &window.handle);
  if (result != MPI_SUCCESS) return true;
  ++engine->windows;
  flag = flagged;
  route->handle = window.handle;
  window.base = base;
  window.route = std::move(route);
  return true;
}

}  // namespace hob::mpi
