#include "mpi/rma/cache/node_log.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "mpi/core/shared_memory.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

NodeLog::NodeLog(std::byte* memory, std::uint64_t bytes, std::uint32_t rank, std::vector<int> near)
    : log(memory, bytes, static_cast<std::uint32_t>(near.size()), rank),
      memory_(memory),
      bytes_(bytes),
      near_(std::move(near)) {}

NodeLog::~NodeLog() { ::munmap(memory_, bytes_); }

std::unique_ptr<NodeLog> NodeLog::open(MPI_Comm comm, std::uint64_t bytes, std::string& why_not) {
  const Node node(comm);
  if (!node.known()) return nullptr;
  int all = 0, own = 0;
  real::Comm_size(comm, &all);
  real::Comm_rank(comm, &own);
  std::unique_ptr<NodeLog> result;
  if (node.size() > 1 && node.size() < all) {
    std::vector<int> near(static_cast<std::size_t>(node.size()));
    real::Allgather(&own, 1, MPI_INT, near.data(), 1, MPI_INT, node.comm());
    const auto writers = static_cast<std::uint32_t>(node.size());
    const bool fits = cache::SharedLog::fits(bytes, writers);
    if (!fits) bytes = 0;
    std::string unshared;
    if (std::byte* memory = share_memory(node, bytes, bytes, unshared)) {
      if (node.rank() == 0) cache::SharedLog::format(memory, bytes, writers);
      real::Barrier(node.comm());
      result.reset(
          new NodeLog(memory, bytes, static_cast<std::uint32_t>(node.rank()), std::move(near)));
    } else {
      why_not = fits ? "the ranks of a node cannot share memory: " + unshared
                     : "cache_share_size is too small for the ranks of a node";
    }
  }
  return result;
}

}  // namespace hob::mpi
