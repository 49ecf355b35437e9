#include "settings/site_file.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>

namespace hob::settings {
namespace {

constexpr const char* kEverybodys = "/etc/hob.conf";

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

/// The file that this code was loaded from, be it a library or the program itself.
std::string own_object() {
  Dl_info where{};
  link_map* map = nullptr;
  const bool known = ::dladdr1(reinterpret_cast<const void*>(&site_file), &where,
                               reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  std::array<char, PATH_MAX> path{};
  // The program itself has no name there.
  if (known && map != nullptr && map->l_name != nullptr && map->l_name[0] != '\0')
    return ::realpath(map->l_name, path.data()) != nullptr ? path.data() : "";
  const auto length = ::readlink("/proc/self/exe", path.data(), path.size() - 1);
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

}  // namespace

std::string prefix_of(const std::string& object) {
  std::string directory = directory_of(object);
  if (directory.ends_with("/hob")) directory = directory_of(directory);
  return directory_of(directory);
}

SiteFile site_file() {
  if (::access(kEverybodys, F_OK) == 0) return {kEverybodys, 0};
  const std::string prefix = prefix_of(own_object());
  struct stat status {};
  if (prefix.empty() || ::stat(prefix.c_str(), &status) != 0) return {};
  const std::string path = prefix + "/etc/hob.conf";
  if (::access(path.c_str(), F_OK) != 0) return {};
  return {path, status.st_uid};
}

}  // namespace hob::settings
