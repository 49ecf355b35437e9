#include "mpi/core/shared_memory.hpp"

#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "mpi/core/broadcast.hpp"
#include "mpi/pmpi/real.hpp"
#include "os/descriptors.hpp"
#include "os/memory.hpp"
#include "os/passing.hpp"

namespace hob::mpi {
namespace {

/// How long a process waits for another one that is about to give it a file: it has connected.
constexpr int kPatienceMs = 10'000;

/// Where rank 0 has the memory from. Sent as bytes.
struct Source {
  std::uint64_t bytes = 0;  ///< 0: there is none
  std::int32_t pid = 0;
  std::int32_t fd = -1;       ///< in that process; -1: a segment
  std::int32_t segment = -1;  ///< System V's number
  os::FileIdentity file;
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
      source = {bytes, ::getpid(), fd, -1, os::identity_of(fd)};
      return address;
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
  if (address != nullptr) source = {bytes, ::getpid(), -1, segment, {}};
  return address;
}

/// Whatever limit there is on addresses, so much is tried: ghosts cannot do with less.
constexpr std::uint64_t kAlwaysTried = std::uint64_t{16} << 20;

/// Of the process of the node that may take the fewest: each of them maps all of it. Collective.
std::uint64_t addresses_to_spare(const Node& node) {
  std::uint64_t bytes = os::addresses_to_spare(0);
  real::Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_UINT64_T, MPI_MIN, node.comm());
  return bytes;
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

/// Why a process does not share: the largest of all processes' counts.
enum : int { shared, not_made, not_mapped, not_reached, other_file };

/// Another process of the node has the file, and this one did not find it by its number.
bool is_unfound(int why_not) { return why_not == not_reached || why_not == other_file; }

/// Collective.
int largest(const Node& node, int why_not) {
  real::Allreduce(MPI_IN_PLACE, &why_not, 1, MPI_INT, MPI_MAX, node.comm());
  return why_not;
}

const char* reason(int why_not) {
  switch (why_not) {
    case not_made:
      return "the system gives none (memfd_create, shmget; a limit on addresses, ulimit -v)";
    case not_mapped:
      return "it cannot be mapped";
    case not_reached:
      return "a process cannot open what another one has made (/proc/PID/fd)";
    default:
      return "the containers of this node number their processes and have networks of their own: "
             "give them one view of either (--pid=host, --network=host)";
  }
}

void* find(const Source& source, int& why_not) {
  why_not = not_mapped;
  if (source.fd < 0) return map_segment(source.segment);
  os::Unopened unopened{};
  const int fd = os::open_descriptor(source.pid, source.fd, source.file, unopened);
  if (fd < 0) {
    why_not = unopened == os::Unopened::other_file ? other_file : not_reached;
    return nullptr;
  }
  void* address = map_file(fd, source.bytes);
  ::close(fd);
  return address;
}

/// Where the number of a descriptor does not lead to the file in some processes, they are given it.
/// Collective; `wanted`: this is one of them. The file, or -1; rank 0 and others have none from it.
int pass_file(const Node& node, int file, bool wanted) {
  std::optional<os::DescriptorGiver> giver;
  os::PassingAddress address;
  if (node.rank() == 0) address = giver.emplace().address();
  broadcast(&address, sizeof address, node.comm());
  std::optional<os::DescriptorTaker> taker;
  if (wanted) taker.emplace(address);
  int takers = taker && taker->connected() ? 1 : 0;
  real::Allreduce(MPI_IN_PLACE, &takers, 1, MPI_INT, MPI_SUM, node.comm());
  if (giver) giver->give(file, takers, kPatienceMs);
  return taker ? taker->take(kPatienceMs) : -1;
}

/// As find(), of a file that was given. Closes it.
void* map_passed(const Source& source, int fd, int& why_not) {
  if (fd < 0) return nullptr;
  why_not = not_mapped;
  void* address = os::identity_of(fd) == source.file ? map_file(fd, source.bytes) : nullptr;
  ::close(fd);
  if (address != nullptr) why_not = shared;
  return address;
}

}  // namespace

std::byte* share_memory(const Node& node, std::uint64_t& bytes, std::uint64_t least,
                        std::string& why_not) {
  Source source;
  const std::uint64_t most = std::max(addresses_to_spare(node), kAlwaysTried);
  while (bytes > most && bytes >= least) bytes /= 2;
  void* address = node.rank() == 0 ? make(bytes, least, source) : nullptr;
  const int own_file = source.fd;  // in rank 0
  broadcast(&source, sizeof source, node.comm());
  int failed = not_made;
  if (node.rank() != 0 && source.bytes != 0) address = find(source, failed);
  if (address != nullptr) failed = shared;
  int worst = largest(node, failed);
  if (is_unfound(worst)) {
    const bool unfound = is_unfound(failed);
    const int fd = pass_file(node, own_file, unfound);
    if (unfound) address = map_passed(source, fd, failed);
    worst = largest(node, failed);
  }
  bytes = source.bytes;
  if (own_file >= 0) ::close(own_file);
  if (worst == shared) return static_cast<std::byte*>(address);
  why_not = reason(worst);
  if (address != nullptr) ::munmap(address, bytes);
  return nullptr;
}

}  // namespace hob::mpi
