#include "mpi/rma/ghost/ghost_window.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

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

// What a process tells the others of its memory.
struct OwnMemory {
  std::uint64_t header = 0;  // from the start of its slice of the arena
  std::uint64_t size = 0;
  std::uint64_t unit = 1;
};

// What all tell, where it is not the same. Collective.
void gather(const OwnMemory& own, std::size_t members, MPI_Comm comm, ExposedMemory& exposed) {
  std::vector<OwnMemory> told(members);
  real::Allgather(&own, sizeof own, MPI_BYTE, told.data(), sizeof own, MPI_BYTE, comm);
  std::vector<std::uint64_t> each(members);
  const auto numbers = [&](std::uint64_t OwnMemory::*member) {
    std::transform(told.begin(), told.end(), each.begin(),
                   [&](const OwnMemory& memory) { return memory.*member; });
    return PerRank(each);
  };
  exposed.headers = numbers(&OwnMemory::header);
  exposed.sizes = numbers(&OwnMemory::size);
  exposed.units = numbers(&OwnMemory::unit);
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
  OwnMemory own{.size = static_cast<std::uint64_t>(size), .unit = static_cast<std::uint64_t>(unit)};
  bool on_device = false, reachable = false;
  if (!allocate && size > 0 && on_accelerator(base)) {
    on_device = true;
  } else if (!part.empty() &&
             (allocate || in_arena(base, size) || ghost_client->world.kernel_moves)) {
    reachable = true;
    own.header = part.offset() - ghost_client->world.slice_begins[static_cast<std::size_t>(
                                     members.ranks[static_cast<std::size_t>(members.self)])];
  }
  enum { most, least = most + 3, device = least + 3, unreachable, flagged, serial, answers };
  std::array<std::int64_t, answers> all{};
  const std::array<std::uint64_t, 3> words{own.header, own.size, own.unit};
  for (std::size_t i = 0; i < words.size(); ++i) {
    all[most + i] = static_cast<std::int64_t>(words[i]);
    all[least + i] = -all[most + i];
  }
  all[device] = on_device;
  all[unreachable] = !reachable && !on_device;
  all[flagged] = flag;
  if (members.self == 0) {
    const GhostHold hold;
    all[serial] = static_cast<std::int64_t>(ghost_client->windows_led++);
  }
  real::Allreduce(MPI_IN_PLACE, all.data(), answers, MPI_INT64_T, MPI_MAX, comm);
  if (all[device] != 0)
    return declined("A window over an accelerator's memory runs without ghosts.");
  if (all[unreachable] != 0) {
    return declined(allocate ? "A window whose memory the node's shared memory could not hold runs "
                               "without ghosts."
                             : "MPI_Win_create windows run without ghosts: this system does not "
                               "let processes read each other's memory.");
  }
  ExposedMemory exposed{PerRank(own.header), PerRank(own.size), PerRank(own.unit),
                        static_cast<std::uint64_t>(all[serial])};
  const bool equal = all[most] == -all[least] && all[most + 1] == -all[least + 1] &&
                     all[most + 2] == -all[least + 2];
  if (!equal) gather(own, members.ranks.size(), comm, exposed);
  window.units = exposed.units;
  window.sizes = exposed.sizes;
  std::unique_ptr<GhostBackend> backend;
  {
    const GhostHold hold;
    backend = std::make_unique<GhostBackend>(
        GhostTargets(std::move(exposed), ghost_client->groups.share(std::move(members.ranks))),
        std::move(part), members.self);
  }
  // A native window over the same memory: attributes, group, name, info, error handler, and the
  // synchronisation of processes by fences are the library's own.
  result = call::Win_create(base, size, unit, info, comm, &window.handle);
  if (result != MPI_SUCCESS) return true;
  {
    const GhostHold hold;
    ++ghost_client->windows;
    ghost_client->open_windows.push_back(window.handle);
  }
  flag = all[flagged] != 0;
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
