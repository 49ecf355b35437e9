#include "mpi/core/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/pmpi/real.hpp"

namespace hob::mpi {

std::byte* map_together(MPI_Comm node, int fd, std::uint64_t& bytes) {
  int rank = 0;
  real::Comm_rank(node, &rank);
  struct {
    std::uint64_t bytes;
    std::int32_t pid;
    std::int32_t fd;
  } source{bytes, ::getpid(), fd};
  real::Bcast(&source, sizeof source, MPI_BYTE, 0, node);
  bytes = source.bytes;
  if (rank != 0) {
    const std::string path = fmt::format("/proc/{}/fd/{}", source.pid, source.fd);
    fd = source.fd < 0 ? -1 : ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  void* address = MAP_FAILED;
  if (fd >= 0 && bytes != 0)
    address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  int good = address != MAP_FAILED ? 1 : 0;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node);
  if (fd >= 0) ::close(fd);
  if (good != 0) return static_cast<std::byte*>(address);
  if (address != MAP_FAILED) ::munmap(address, bytes);
  return nullptr;
}

}  // namespace hob::mpi
