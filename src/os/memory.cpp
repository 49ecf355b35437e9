#include "os/memory.hpp"

#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

namespace hob::os {
namespace {

/// `call` is process_vm_readv or process_vm_writev.
template <class Call>
bool move(Call call, pid_t pid, std::uint64_t address, std::byte* local, std::size_t bytes) {
  while (bytes > 0) {
    iovec here{local, bytes};
    iovec there{reinterpret_cast<void*>(address), bytes};
    const ssize_t moved = call(pid, &here, 1, &there, 1, 0);
    if (moved <= 0) return false;
    local += moved;
    address += static_cast<std::uint64_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

std::uint64_t addresses_to_spare(std::uint64_t taken) {
  constexpr std::uint64_t kPart = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return ~std::uint64_t{0};
  std::uint64_t pages = 0;
  std::FILE* const sizes = std::fopen("/proc/self/statm", "re");
  const bool known = sizes != nullptr && std::fscanf(sizes, "%" SCNu64, &pages) == 1;
  if (sizes != nullptr) std::fclose(sizes);
  const std::uint64_t used = pages * page_bytes();
  if (!known || used >= limit.rlim_cur) return 0;
  return (limit.rlim_cur - used + taken) / kPart;
}

bool read_from(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  return move(::process_vm_readv, pid, address, static_cast<std::byte*>(to), bytes);
}

bool write_to(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  return move(::process_vm_writev, pid, address, static_cast<std::byte*>(const_cast<void*>(from)),
              bytes);
}

}  // namespace hob::os
