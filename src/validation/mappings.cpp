#include "validation/mappings.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <string_view>

namespace hob::validation {
namespace {

/// Device memory may change by itself. These directories hold files in memory, and the device is
/// the name of anonymous memory.
bool is_device(std::string_view path) {
  return path.starts_with("/dev/") && !path.starts_with("/dev/shm/") &&
         !path.starts_with("/dev/hugepages") && !path.starts_with("/dev/zero");
}

}  // namespace

Mappings mappings_of(std::uintptr_t begin, std::uintptr_t end) {
  Mappings result;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return result;
  std::uintptr_t covered = begin;
  bool devices = false;
  std::array<char, 4200> line;
  while (covered < end && std::fgets(line.data(), static_cast<int>(line.size()), maps)) {
    std::uintptr_t first = 0, last = 0;
    std::uint64_t inode = 0;
    char flags[5] = {};
    int name = 0;
    if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %" SCNu64 " %n", &first,
                    &last, flags, &inode, &name) != 4)
      continue;
    if (last <= covered) continue;
    if (first > covered) break;
    if (flags[3] != 'p')
      result.shared = true;
    else if (inode != 0)
      result.files = true;
    devices = devices || is_device(line.data() + name);
    covered = last;
  }
  std::fclose(maps);
  result.known = covered >= end && !devices;
  return result;
}

}  // namespace hob::validation
