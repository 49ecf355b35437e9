#include "mpi/rma/ghost/ghost_window.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "mpi/core/accelerator.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/arena_memory.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"
#include "mpi/rma/ghost/members.hpp"

namespace hob::mpi {
namespace {

// The members of a communicator as ranks of the internal one, and this process among them.
struct Members {
  explicit Members(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    real::Comm_group(comm, &group);
    real::Group_rank(group, &self);
    ranks = internal_ranks(group);
    real::Group_free(&group);
  }
  bool all_of_this_job() const {
    return std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end();
  }
  int self = 0;
  std::vector<int> ranks;
};

// All processes of the node have this memory mapped: what MPI_Alloc_mem gave, or another window's.
bool in_arena(const void* base, MPI_Aint size) {
  const GhostWorld& world = ghost_client->world;
  const auto offset =
      reinterpret_cast<std::uint64_t>(base) - reinterpret_cast<std::uint64_t>(world.arena);
  return offset < world.arena_bytes &&
         static_cast<std::uint64_t>(size) <= world.arena_bytes - offset;
}

// The header of this process's memory, at the start of its part of the arena; where the window
// allocates, the memory follows it. Returns the memory.
void* describe_memory(const ArenaMemory& part, bool allocate, void* base, MPI_Aint size) {
  auto* header = new (part.address()) ghost::Target{};
  header->size = static_cast<std::uint64_t>(size);
  if (allocate) base = header + 1;
  header->address = reinterpret_cast<std::uint64_t>(base);
  if (allocate || in_arena(base, size)) {
    header->address -= reinterpret_cast<std::uint64_t>(header);
  } else {
    header->pid = ::getpid();
  }
  return base;
}

bool declined(const char* why) {
  {
    const GhostHold hold;
    ++ghost_client->windows_declined;
  }
  note(why);
  return false;
}

}  // namespace

bool ghost_window(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, bool& flag, GhostWindow& window, int& result) {
  look_for_accelerators();
  // Every process finds out by itself, with the same answer, whether all are of this world.
  Members members(comm);
  if (!members.all_of_this_job())
    return declined("A window over processes of another job runs without ghosts.");

  ArenaMemory part;
  if (size >= 0) {
    part = ArenaMemory(sizeof(ghost::Target) + (allocate ? static_cast<std::uint64_t>(size) : 0));
    if (!part.empty()) base = describe_memory(part, allocate, base, size);
  }
  ExposedMemory own{ExposedMemory::kNowhere, static_cast<std::uint64_t>(size),
                    static_cast<std::int64_t>(unit), flag, 0};
  if (!allocate && size > 0 && on_accelerator(base)) {
    own.header = ExposedMemory::kOnAccelerator;
  } else if (!part.empty() &&
             (allocate || in_arena(base, size) || ghost_client->world.kernel_moves)) {
    own.header = part.offset();
  }
  if (members.self == 0) {
    const GhostHold hold;
    own.serial = ghost_client->windows_led++;
  }
  std::vector<ExposedMemory> exposed(members.ranks.size());
  real::Allgather(&own, sizeof own, MPI_BYTE, exposed.data(), sizeof own, MPI_BYTE, comm);
  window.units.clear();
  window.sizes.clear();
  for (const ExposedMemory& each : exposed) {
    window.units.push_back(each.unit);
    window.sizes.push_back(each.size);
  }
  const auto any = [&](auto&& is) { return std::any_of(exposed.begin(), exposed.end(), is); };
  if (any([](const ExposedMemory& e) { return e.header == ExposedMemory::kOnAccelerator; }))
    return declined("A window over an accelerator's memory runs without ghosts.");
  if (any([](const ExposedMemory& each) { return each.header == ExposedMemory::kNowhere; })) {
    return declined(allocate ? "A window whose memory the node's shared memory could not hold runs "
                               "without ghosts."
                             : "MPI_Win_create windows run without ghosts: this system does not "
                               "let processes read each other's memory.");
  }
  const bool flagged = any([](const ExposedMemory& each) { return each.flag != 0; });
  auto backend = std::make_unique<GhostBackend>(
      GhostTargets(std::move(exposed), std::move(members.ranks)), std::move(part), members.self);
  // A native window over the same memory: attributes, group, name, info, error handler, and the
  // synchronisation of processes by fences are the library's own.
  result = call::Win_create(base, size, unit, info, comm, &window.handle);
  if (result != MPI_SUCCESS) return true;
  {
    const GhostHold hold;
    ++ghost_client->windows;
    ghost_client->open_windows.push_back(window.handle);
  }
  flag = flagged;
  backend->handle = window.handle;
  window.base = base;
  window.backend = std::move(backend);
  return true;
}

bool is_ghost_backend(const Backend* backend) {
  return dynamic_cast<const GhostBackend*>(backend) != nullptr;
}

bool ghost_shared_query(const Backend* backend, int rank, MPI_Aint* size, MPI_Aint* unit,
                        void** base) {
  return dynamic_cast<const GhostBackend*>(backend)->query(rank, size, unit, base);
}

}  // namespace hob::mpi
