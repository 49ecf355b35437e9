#include "validation/mappings.hpp"

#include <string_view>

#include "os/mapped.hpp"

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
  result.known = os::each_mapping(begin, end, [&](const os::Mapping& mapping) {
    if (mapping.shared)
      result.shared = true;
    else if (mapping.file != 0)
      result.files = true;
    return !is_device(mapping.name);
  });
  return result;
}

}  // namespace hob::validation
