#include "mpi/rma/ghost/fork_copies.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "base/lasting.hpp"
#include "os/memory.hpp"

namespace hob::mpi {
namespace {

struct Range {
  std::byte* begin;
  std::size_t bytes;
};

struct State {
  EachPart parts;
  std::vector<Range> pages;  ///< of the fork under way; whole pages
  int copied[2] = {-1, -1};  ///< a pipe: closed by the child when it has its copies
};

State& state() { return lasting<State>(); }

void prepare() {
  State& now = state();
  const std::uintptr_t page = os::page_bytes();
  now.pages.clear();
  now.parts([&](std::byte* address, std::size_t bytes) {
    const auto begin = reinterpret_cast<std::uintptr_t>(address) & ~(page - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(address) + bytes + page - 1) & ~(page - 1);
    now.pages.push_back({reinterpret_cast<std::byte*>(begin), end - begin});
  });
  if (now.pages.empty() || ::pipe2(now.copied, O_CLOEXEC) != 0) now.copied[0] = now.copied[1] = -1;
}

/// Until the child has its copies, or is no more.
void in_parent() {
  State& now = state();
  if (now.copied[0] < 0) return;
  const int error = errno;
  ::close(now.copied[1]);
  char byte = 0;
  while (::read(now.copied[0], &byte, 1) < 0 && errno == EINTR) continue;
  ::close(now.copied[0]);
  errno = error;
}

/// Memory of its own takes the place of what is shared. Only system calls, and no allocation.
void in_child() {
  State& now = state();
  if (now.copied[0] < 0) return;
  for (const Range& each : now.pages) {
    void* copy = ::mmap(nullptr, each.bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) continue;
    std::memcpy(copy, each.begin, each.bytes);
    // Not mremap(): the one that UCX 1.13 puts in its place does not pass on the new address.
    ::syscall(SYS_mremap, copy, each.bytes, each.bytes, MREMAP_MAYMOVE | MREMAP_FIXED, each.begin);
  }
  ::close(now.copied[0]);
  ::close(now.copied[1]);
}

}  // namespace

void copy_at_fork(EachPart parts) {
  state().parts = std::move(parts);
  ::pthread_atfork(prepare, in_parent, in_child);
}

}  // namespace hob::mpi
