#include "mpi/core/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mpi/pmpi/real.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

/// Where rank 0 has the memory from. Sent as bytes.
struct Source {
  std::uint64_t bytes = 0;  ///< 0: there is none
  std::int32_t pid = 0;
  std::int32_t fd = -1;       ///< in that process; -1: a segment
  std::int32_t segment = -1;  ///< System V's number
  /// Which file that is: in another process namespace, the descriptor of this number may be any
  /// file of the user's.
  std::uint64_t device = 0, inode = 0;
};

bool files_may_have(std::uint64_t bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= bytes);
}

void* map_file(int fd, std::uint64_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void* map_segment(int segment) {
  void* address = ::shmat(segment, nullptr, 0);
  return address == reinterpret_cast<void*>(-1) ? nullptr : address;
}

void* make_file(std::uint64_t bytes, Source& source) {
  const int fd = ::memfd_create("hob", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0)
    if (void* address = map_file(fd, bytes)) {
      struct stat about {};
      if (::fstat(fd, &about) == 0) {
        source = {bytes, ::getpid(), fd, -1, about.st_dev, about.st_ino};
        return address;
      }
      ::munmap(address, bytes);
    }
  ::close(fd);
  return nullptr;
}

void* make_segment(std::uint64_t bytes, Source& source) {
  const int segment = ::shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600 | SHM_NORESERVE);
  if (segment < 0) return nullptr;
  void* address = map_segment(segment);
  // Goes when the last process that has it goes; until then, others still find it by its number.
  ::shmctl(segment, IPC_RMID, nullptr);
  if (address != nullptr) source = {bytes, ::getpid(), -1, segment, 0, 0};
  return address;
}

void* make(std::uint64_t bytes, std::uint64_t least, Source& source) {
  const std::uint64_t page = os::page_bytes();
  for (; bytes != 0 && bytes >= least; bytes /= 2) {
    const std::uint64_t whole = (bytes + page - 1) / page * page;
    void* address = files_may_have(whole) ? make_file(whole, source) : make_segment(whole, source);
    if (address != nullptr) return address;
  }
  return nullptr;
}

void* find(const Source& source) {
  if (source.bytes == 0) return nullptr;
  if (source.fd < 0) return map_segment(source.segment);
  const std::string path = fmt::format("/proc/{}/fd/{}", source.pid, source.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) return nullptr;
  struct stat about {};
  const bool same = ::fstat(fd, &about) == 0 && about.st_dev == source.device &&
                    about.st_ino == source.inode &&
                    static_cast<std::uint64_t>(about.st_size) == source.bytes;
  void* address = same ? map_file(fd, source.bytes) : nullptr;
  ::close(fd);
  return address;
}

}  // namespace

std::byte* share_memory(const Node& node, std::uint64_t& bytes, std::uint64_t least) {
  Source source;
  void* address = node.rank() == 0 ? make(bytes, least, source) : nullptr;
  const int own_file = source.fd;  // in rank 0
  real::Bcast(&source, sizeof source, MPI_BYTE, 0, node.comm());
  if (node.rank() != 0) address = find(source);
  bytes = source.bytes;
  int good = address != nullptr ? 1 : 0;
  real::Allreduce(MPI_IN_PLACE, &good, 1, MPI_INT, MPI_MIN, node.comm());
  if (own_file >= 0) ::close(own_file);
  if (good != 0) return static_cast<std::byte*>(address);
  if (address != nullptr) ::munmap(address, bytes);
  return nullptr;
}

}  // namespace hob::mpi
