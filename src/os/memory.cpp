#include "os/memory.hpp"

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

std::uint64_t resident_bytes() {
  std::uint64_t all = 0, resident = UINT64_MAX / page_bytes();
  if (std::FILE* const file = std::fopen("/proc/self/statm", "re")) {
    std::uint64_t read = 0;
    if (std::fscanf(file, "%" SCNu64 " %" SCNu64, &all, &read) == 2) resident = read;
    std::fclose(file);
  }
  return resident * page_bytes();
}

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool read_from(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  return move(::process_vm_readv, pid, address, static_cast<std::byte*>(to), bytes);
}

bool write_to(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  return move(::process_vm_writev, pid, address, static_cast<std::byte*>(const_cast<void*>(from)),
              bytes);
}

}  // namespace hob::os
