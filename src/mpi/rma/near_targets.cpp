#include "mpi/rma/near_targets.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

#include "mpi/core/context.hpp"
#include "mpi/core/members.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "os/mapped.hpp"

namespace hob::mpi {
namespace {

/// Whether the library gave the window memory that the processes of a node share. It does so, or
/// does not, for all windows that are made alike: the kernel is asked for the first one.
bool in_shared_memory(const Window& window, MPI_Info info) {
  if (window.kind == WindowKind::shared) return true;
  if (window.kind != WindowKind::allocate) return false;
  enum : std::uint8_t { unknown, apart, shared };
  static std::atomic<std::uint8_t> as_before{unknown};
  const bool alike = info == MPI_INFO_NULL;
  if (const std::uint8_t known = as_before.load(std::memory_order_relaxed);
      alike && known != unknown)
    return known == shared;
  if (window.bytes == 0) return false;
  const bool is = os::is_shared(window.base);
  if (alike) as_before.store(is ? shared : apart, std::memory_order_relaxed);
  return is;
}

/// Ranks of the communicator that are on this node.
std::vector<int> ranks_on_node(MPI_Comm comm) {
  std::vector<int> ranks = translated(context().comm, context().node_ranks, comm);
  std::erase(ranks, MPI_UNDEFINED);
  return ranks;
}

}  // namespace

NearTargets near_targets_of(const Window& window, MPI_Info info, MPI_Comm comm) {
  if (!context().settings.cache_bypass || tracing || context().alone_on_node ||
      !in_shared_memory(window, info))
    return {};
  if (context().one_node || window.kind == WindowKind::shared) return NearTargets::every();
  return NearTargets(ranks_on_node(comm));
}

}  // namespace hob::mpi
