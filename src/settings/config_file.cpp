#include "settings/config_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

namespace hob::settings {
namespace {

constexpr off_t kLargest = 1 << 20;
constexpr int kForReading = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

ConfigFile refuse(const std::string& path, std::string_view why) {
  return {"", fmt::format("cannot read the configuration file '{}': {}", path, why)};
}

/// Why the owner of what is open makes a file that was found one that is not used; "" if not. What
/// is looked at is what was opened: the name may mean another file by now.
std::string mistrust(int file, std::string_view what, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::strerror(errno);
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return {};
  return fmt::format(
      "{} belongs to the user with the number {}; if it may be trusted, say HOB_CONFIG={}", what,
      status.st_uid, path);
}

/// The file that the link leads to, where its owner may be trusted; else -1, and why not.
int open_behind_link(const std::string& path, std::string& why_not) {
  const int link = ::open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (link < 0) {
    why_not = std::strerror(errno);
    return -1;
  }
  why_not = mistrust(link, "the link", path);
  std::array<char, PATH_MAX> target{};
  const auto length = ::readlinkat(link, "", target.data(), target.size() - 1);
  ::close(link);
  if (!why_not.empty()) return -1;
  const int file = length < 0 ? -1 : ::open(target.data(), kForReading);
  if (file < 0) why_not = std::strerror(errno);
  return file;
}

/// A file of the working directory, which may have come with it.
int open_found(const std::string& path, std::string& why_not) {
  const int directory = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  why_not = directory < 0 ? std::strerror(errno) : mistrust(directory, "its directory", path);
  if (directory >= 0) ::close(directory);
  if (!why_not.empty()) return -1;
  const int file = ::open(path.c_str(), kForReading | O_NOFOLLOW);
  if (file >= 0) return file;
  if (errno == ELOOP) return open_behind_link(path, why_not);
  why_not = std::strerror(errno);
  return -1;
}

ConfigFile read_open(int file, const std::string& path, Trust trust) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return refuse(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path, "it is no regular file");
  if (trust == Trust::found)
    if (const std::string why = mistrust(file, "it", path); !why.empty()) return refuse(path, why);
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
  std::string why_not;
  const int file =
      trust == Trust::found ? open_found(path, why_not) : ::open(path.c_str(), kForReading);
  if (file < 0) return refuse(path, why_not.empty() ? std::strerror(errno) : why_not);
  ConfigFile result = read_open(file, path, trust);
  ::close(file);
  return result;
}

}  // namespace hob::settings
