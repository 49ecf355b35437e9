#include "mpi/rma/cache/node_log.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "mpi/core/shared_memory.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi {
namespace {

/// A file without a name, of which only what is touched takes memory. -1: there is none.
int file_of(std::uint64_t bytes) {
  const int fd = ::memfd_create("hob-share", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(bytes)) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

NodeLog::NodeLog(std::byte* memory, std::uint64_t bytes, std::uint32_t rank, std::vector<int> near)
    : log(memory, bytes, static_cast<std::uint32_t>(near.size()), rank),
      memory_(memory),
      bytes_(bytes),
      near_(std::move(near)) {}

NodeLog::~NodeLog() { ::munmap(memory_, bytes_); }

std::unique_ptr<NodeLog> NodeLog::open(MPI_Comm comm, std::uint64_t bytes, std::string& why_not) {
  MPI_Comm node = MPI_COMM_NULL;
  if (real::Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node) != MPI_SUCCESS)
    return nullptr;
  int all = 0, own = 0, size = 0, rank = 0;
  real::Comm_size(comm, &all);
  real::Comm_rank(comm, &own);
  real::Comm_size(node, &size);
  real::Comm_rank(node, &rank);
  std::unique_ptr<NodeLog> result;
  if (size > 1 && size < all) {
    std::vector<int> near(static_cast<std::size_t>(size));
    real::Allgather(&own, 1, MPI_INT, near.data(), 1, MPI_INT, node);
    const auto writers = static_cast<std::uint32_t>(size);
    int fd = -1;
    if (rank == 0 && cache::SharedLog::fits(bytes, writers)) fd = file_of(bytes);
    if (std::byte* memory = map_together(node, fd, bytes)) {
      if (rank == 0) cache::SharedLog::format(memory, bytes, writers);
      real::Barrier(node);
      std::sort(near.begin(), near.end());
      result.reset(new NodeLog(memory, bytes, static_cast<std::uint32_t>(rank), std::move(near)));
    } else {
      why_not =
          "the ranks of a node cannot share memory (memfd_create), or cache_share_size is too "
          "small";
    }
  }
  real::Comm_free(&node);
  return result;
}

}  // namespace hob::mpi
