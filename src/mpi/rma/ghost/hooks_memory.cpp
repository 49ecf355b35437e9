// MPI_Alloc_mem with ghosts: memory that the processes of the node have mapped, so that windows
// created over it (MPI_Win_create) are reached without the kernel.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "mpi/pmpi/hooks.hpp"
#include "mpi/pmpi/real.hpp"
#include "mpi/rma/ghost/arena_memory.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/rma/ghost/fork_copies.hpp"

namespace hob::mpi {
namespace {

struct Allocations {
  std::mutex lock;
  std::unordered_map<void*, ArenaMemory> parts;  // by address
};

/// Two parts may share a page, and be copied twice: the second copy is of the first.
void each_part(const std::function<void(std::byte*, std::size_t)>& act);

Allocations& allocations() {
  // Never destroyed: programs may end in their own destructors.
  static auto* all = (copy_at_fork(each_part), new Allocations);
  return *all;
}

void each_part(const std::function<void(std::byte*, std::size_t)>& act) {
  Allocations& all = allocations();
  const std::lock_guard guard(all.lock);
  for (const auto& [address, part] : all.parts) act(static_cast<std::byte*>(address), part.bytes());
}

// The arena's alignment is a cache line's; who asks for more is served by the library.
bool asks_for_alignment(MPI_Info info) {
  if (info == MPI_INFO_NULL) return false;
  int length = 0;
  int found = 0;
  real::Info_get_valuelen(info, "mpi_minimum_memory_alignment", &length, &found);
  return found != 0;
}

}  // namespace

int on_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr) {
  if (ghost_client == nullptr || size <= 0 || asks_for_alignment(info))
    return real::Alloc_mem(size, info, baseptr);
  ArenaMemory part(static_cast<std::uint64_t>(size));
  if (part.empty()) return real::Alloc_mem(size, info, baseptr);
  void* const address = part.address();
  {
    Allocations& all = allocations();
    const std::lock_guard guard(all.lock);
    all.parts.emplace(address, std::move(part));
  }
  *static_cast<void**>(baseptr) = address;
  return MPI_SUCCESS;
}

int on_Free_mem(void* base) {
  if (ghost_client == nullptr) return real::Free_mem(base);
  Allocations& all = allocations();
  ArenaMemory part;  // goes when the lock is gone
  {
    const std::lock_guard guard(all.lock);
    const auto found = all.parts.find(base);
    if (found == all.parts.end()) return real::Free_mem(base);
    part = std::move(found->second);
    all.parts.erase(found);
  }
  return MPI_SUCCESS;
}

}  // namespace hob::mpi
