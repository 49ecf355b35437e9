#include "settings/config_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hob::settings {
namespace {

constexpr off_t kLargest = 1 << 20;

ConfigFile refuse(const std::string& path, std::string_view why) {
  return {"", fmt::format("cannot read the configuration file '{}': {}", path, why)};
}

ConfigFile read_open(int file, const std::string& path, Trust trust) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return refuse(path, std::strerror(errno));
  // What is looked at is what was opened: the name may mean another file by now.
  if (!S_ISREG(status.st_mode)) return refuse(path, "it is no regular file");
  if (trust == Trust::found && status.st_uid != ::geteuid() && status.st_uid != 0)
    return refuse(
        path, fmt::format("it belongs to the user with the number {}; if it may be trusted, say "
                          "HOB_CONFIG={}",
                          status.st_uid, path));
  if (status.st_size > kLargest) return refuse(path, "it has more than 1 MiB");
  ConfigFile result;
  result.text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t have = 0;
  while (have < result.text.size()) {
    const auto more = ::read(file, result.text.data() + have, result.text.size() - have);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return refuse(path, std::strerror(errno));
    if (more == 0) break;
    have += static_cast<std::size_t>(more);
  }
  result.text.resize(have);
  return result;
}

}  // namespace

ConfigFile read_config_file(const std::string& path, Trust trust) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return refuse(path, std::strerror(errno));
  ConfigFile result = read_open(file, path, trust);
  ::close(file);
  return result;
}

}  // namespace hob::settings
