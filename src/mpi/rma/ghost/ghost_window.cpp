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
#include "mpi/core/members.hpp"
#include "mpi/pmpi/call.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/backend/numbers_of_ranks.hpp"
#include "mpi/rma/ghost/arena_memory.hpp"
#include "mpi/rma/ghost/ghost_backend.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

// The members of a communicator as ranks of the internal one, and this process among them.
struct Members {
  explicit Members(MPI_Comm comm) {
    MPI_Group group = MPI_GROUP_NULL;
    real::Comm_group(comm, &group);
    real::Group_rank(group, &self);
    ranks = members_in(ghost_client->world.internal_group, group);
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

// Room for the header and, where the window allocates, for the memory: that has pages of its own,
// so that locks and fences, which the header counts, are no stores to it
// (validation/store_tracker.hpp).
ArenaMemory memory_for(bool allocate, MPI_Aint size) {
  if (!allocate || size == 0) return ArenaMemory(sizeof(ghost::Target));
  return ArenaMemory(os::page_bytes() + static_cast<std::uint64_t>(size), true);
}

// The header of this process's memory, at the start of its part of the arena; where the window
// allocates, the memory is behind it. Returns the memory.
void* describe_memory(const ArenaMemory& part, bool allocate, void* base, MPI_Aint size) {
  auto* header = new (part.address()) ghost::Target{};
  header->size = static_cast<std::uint64_t>(size);
  if (allocate) base = part.address() + (size == 0 ? sizeof *header : os::page_bytes());
  header->address = reinterpret_cast<std::uint64_t>(base);
  if (allocate || in_arena(base, size)) {
    header->address -= reinterpret_cast<std::uint64_t>(header);
  } else {
    header->pid = ::getpid();
  }
  return base;
}

// What a process reports to the others of its memory.
struct OwnMemory {
  std::uint64_t header = 0;  // from the start of its slice of the arena
  std::uint64_t size = 0;
  std::uint64_t unit = 1;
  Readable readable = 0;
  std::uint64_t serial = 0;  // of the window, as its first member counts them
};

// What all know after that.
struct Common {
  bool on_device = false;    // the memory of some member is an accelerator's
  bool unreachable = false;  // or out of the ghosts' reach
  bool in_arena = false;     // that of all members is
  bool equal = false;        // all report the same of their memory
  std::uint64_t serial = 0;
};

// Collective; `answers` as GhostWindow has them.
Common agree(const OwnMemory& own, bool on_device, bool reachable, bool inside_arena,
             WindowAnswers& answers, MPI_Comm comm) {
  enum {
    most,
    least = most + 4,
    device = least + 4,
    unreachable,
    outside,
    serial,
    aliased,
    unvalidated,
    sometimes,
    threads,
    number,
    numbers
  };
  std::array<std::int64_t, numbers> all{};
  const std::array<std::uint64_t, 4> words{own.header, own.size, own.unit, own.readable};
  for (std::size_t i = 0; i < words.size(); ++i) {
    all[most + i] = static_cast<std::int64_t>(words[i]);
    all[least + i] = -all[most + i];
  }
  all[device] = on_device;
  all[unreachable] = !reachable && !on_device;
  all[outside] = !inside_arena;
  all[serial] = static_cast<std::int64_t>(own.serial);
  all[aliased] = answers.aliased;
  all[unvalidated] = !answers.validate;
  all[sometimes] = !answers.validate_always;
  all[threads] = answers.threads;
  all[number] = static_cast<std::int64_t>(answers.number);
  real::Allreduce(MPI_IN_PLACE, all.data(), numbers, MPI_INT64_T, MPI_MAX, comm);
  answers.aliased = all[aliased] != 0;
  answers.validate = all[unvalidated] == 0;
  answers.validate_always = all[sometimes] == 0;
  answers.threads = all[threads] != 0;
  answers.number = static_cast<std::uint64_t>(all[number]);
  return {.on_device = all[device] != 0,
          .unreachable = all[unreachable] != 0,
          .in_arena = all[outside] == 0,
          .equal = all[most] == -all[least] && all[most + 1] == -all[least + 1] &&
                   all[most + 2] == -all[least + 2] && all[most + 3] == -all[least + 3],
          .serial = static_cast<std::uint64_t>(all[serial])};
}

// What all report, where it is not the same. Collective.
void gather(const OwnMemory& own, std::size_t members, MPI_Comm comm, ExposedMemory& exposed,
            PerRank& readable) {
  std::vector<OwnMemory> reports(members);
  real::Allgather(&own, sizeof own, MPI_BYTE, reports.data(), sizeof own, MPI_BYTE, comm);
  std::vector<std::uint64_t> each(members);
  const auto numbers = [&](std::uint64_t OwnMemory::*member) {
    std::transform(reports.begin(), reports.end(), each.begin(),
                   [&](const OwnMemory& memory) { return memory.*member; });
    return numbers_of_ranks(each, comm);
  };
  exposed.headers = numbers(&OwnMemory::header);
  exposed.sizes = numbers(&OwnMemory::size);
  exposed.units = numbers(&OwnMemory::unit);
  readable = numbers(&OwnMemory::readable);
}

bool declined(const char* why) {
  {
    const GhostHold hold;
    ++ghost_client->windows_declined;
  }
  note(why);
  return false;
}

/// The memory that this process shows, and whether ghosts can reach it.
struct Shown {
  void* base;
  ArenaMemory part;
  OwnMemory own;
  bool on_device = false, reachable = false, inside_arena;
};

Shown show(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, const Members& members) {
  Shown shown{
      .base = base,
      .part = {},
      .own = {.size = static_cast<std::uint64_t>(size), .unit = static_cast<std::uint64_t>(unit)},
      .inside_arena = true};
  if (size >= 0) {
    shown.part = memory_for(allocate, size);
    if (!shown.part.empty()) shown.base = describe_memory(shown.part, allocate, base, size);
  }
  shown.inside_arena = allocate || in_arena(shown.base, size);
  if (!allocate && size > 0 && on_accelerator(shown.base)) {
    shown.on_device = true;
  } else if (!shown.part.empty() && (shown.inside_arena || ghost_client->world.kernel_moves)) {
    shown.reachable = true;
    shown.own.header =
        shown.part.offset() - ghost_client->world.slice_begins[static_cast<std::size_t>(
                                  members.ranks[static_cast<std::size_t>(members.self)])];
  }
  // A ghost, too, reads what an origin asks for: the whole block.
  if (shown.reachable)
    shown.own.readable = readable_of(shown.base, shown.own.size,
                                     allocate || in_own_arena(shown.base, shown.own.size));
  if (members.self == 0) {
    const GhostHold hold;
    shown.own.serial = ghost_client->windows_led++;
  }
  return shown;
}

}  // namespace

bool ghost_window(bool allocate, void* base, MPI_Aint size, MPI_Aint unit, MPI_Info info,
                  MPI_Comm comm, GhostWindow& window, int& result) {
  look_for_accelerators();
  // Every process finds out by itself, with the same answer, whether all are of this world.
  Members members(comm);
  if (!members.all_of_this_job())
    return declined("A window over processes of another job runs without ghosts.");

  Shown shown = show(allocate, base, size, unit, members);
  const OwnMemory& own = shown.own;
  window.answers.readable = own.readable;
  const Common all =
      agree(own, shown.on_device, shown.reachable, shown.inside_arena, window.answers, comm);
  if (all.on_device) return declined("A window over an accelerator's memory runs without ghosts.");
  if (all.unreachable) {
    return declined(allocate ? "A window whose memory the node's shared memory could not hold runs "
                               "without ghosts."
                             : "MPI_Win_create windows run without ghosts: this system does not "
                               "let processes read each other's memory.");
  }
  ExposedMemory exposed{PerRank(own.header), PerRank(own.size), PerRank(own.unit), all.serial,
                        all.in_arena};
  window.readable = PerRank(own.readable);
  if (!all.equal) gather(own, members.ranks.size(), comm, exposed, window.readable);
  window.units = exposed.units;
  window.sizes = exposed.sizes;
  std::unique_ptr<GhostBackend> backend;
  {
    const GhostHold hold;
    backend = std::make_unique<GhostBackend>(
        GhostTargets(std::move(exposed), ghost_client->groups.share(std::move(members.ranks))),
        std::move(shown.part), members.self);
  }
  // A native window over the same memory: attributes, group, name, info, error handler, and the
  // synchronisation of processes by fences are the library's own.
  result = call::Win_create(shown.base, size, unit, info, comm, &window.handle);
  if (result != MPI_SUCCESS) return true;
  {
    const GhostHold hold;
    ++ghost_client->windows;
    ghost_client->open_windows.push_back(window.handle);
  }
  backend->handle = window.handle;
  window.base = shown.base;
  window.ghosts = backend.get();
  window.backend = std::move(backend);
  return true;
}

bool in_own_arena(const void* base, std::uint64_t bytes) {
  if (ghost_client == nullptr) return false;
  const GhostWorld& world = ghost_client->world;
  const std::uint64_t begin = world.slice_begins[static_cast<std::size_t>(world.rank)];
  const std::uint64_t offset =
      reinterpret_cast<std::uint64_t>(base) - reinterpret_cast<std::uint64_t>(world.arena);
  return offset >= begin && offset <= world.slice_end && bytes <= world.slice_end - offset;
}

bool ghost_shared_query(const GhostBackend& backend, int rank, MPI_Aint* size, MPI_Aint* unit,
                        void** base) {
  return backend.query(rank, size, unit, base);
}

}  // namespace hob::mpi
