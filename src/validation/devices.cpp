#include "validation/devices.hpp"

#include <filesystem>
#include <system_error>

namespace hob::validation {
namespace {

/// Directories with one entry for each device, and device files.
constexpr const char* kDirectories[] = {"/sys/class/infiniband", "/sys/class/cxi"};
constexpr const char* kFiles[] = {"/dev/hfi1_0", "/dev/cxi0", "/dev/kgni0",
                                  "/dev/xpmem",  "/dev/knem", "/dev/gdrdrv"};

}  // namespace

std::string device_that_writes(const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  for (const char* directory : kDirectories) {
    const fs::directory_iterator entries(root + directory, error);
    if (!error && entries != fs::directory_iterator()) return directory;
  }
  for (const char* file : kFiles)
    if (fs::exists(root + file, error)) return file;
  return "";
}

bool has_device_that_writes() {
  static const bool found = !device_that_writes().empty();
  return found;
}

}  // namespace hob::validation
