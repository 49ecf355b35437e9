#include "os/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>

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

/// Bytes of this process.
struct Used {
  std::uint64_t addresses = 0, resident = 0;
};

std::optional<Used> used_memory() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (!file) return std::nullopt;
  Used pages;
  const bool read =
      std::fscanf(file, "%" SCNu64 " %" SCNu64, &pages.addresses, &pages.resident) == 2;
  std::fclose(file);
  if (!read) return std::nullopt;
  return Used{pages.addresses * page_bytes(), pages.resident * page_bytes()};
}

}  // namespace

std::uint64_t page_bytes() {
  static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool gives_huge_pages() {
  static const bool given = [] {
    if (page_bytes() != 4096) return false;  // then they are larger
    std::FILE* const file = std::fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
    if (!file) return false;
    char modes[64] = {};  // the present one in brackets
    const bool read = std::fgets(modes, sizeof modes, file) != nullptr;
    std::fclose(file);
    return read && std::strstr(modes, "[never]") == nullptr;
  }();
  return given;
}

void provide(void* begin, std::size_t bytes) {
#ifdef MADV_POPULATE_WRITE
  // A page that is not whole in this memory is touched with what else lies there.
  const std::uint64_t page = page_bytes();
  const auto address = reinterpret_cast<std::uint64_t>(begin);
  const std::uint64_t first = (address + page - 1) / page * page;
  const std::uint64_t end = (address + bytes) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_POPULATE_WRITE);
#else
  static_cast<void>(begin);
  static_cast<void>(bytes);
#endif
}

std::uint64_t resident_bytes() {
  const std::optional<Used> used = used_memory();
  return used ? used->resident : UINT64_MAX;
}

std::uint64_t addresses_to_spare(std::uint64_t taken) {
  constexpr std::uint64_t kPart = 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return ~std::uint64_t{0};
  const std::optional<Used> used = used_memory();
  if (!used || used->addresses >= limit.rlim_cur) return 0;
  return (limit.rlim_cur - used->addresses + taken) / kPart;
}

bool read_from(pid_t pid, std::uint64_t address, void* to, std::size_t bytes) {
  return move(::process_vm_readv, pid, address, static_cast<std::byte*>(to), bytes);
}

bool write_to(pid_t pid, std::uint64_t address, const void* from, std::size_t bytes) {
  return move(::process_vm_writev, pid, address, static_cast<std::byte*>(const_cast<void*>(from)),
              bytes);
}

}  // namespace hob::os
