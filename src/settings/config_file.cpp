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
/// is checked is the file that is open: the name may mean another one by now.
std::string mistrust(int file, std::string_view what, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::strerror(errno);
  if (status.st_uid == ::geteuid() || status.st_uid == 0) return {};
  return fmt::format(
      "{} belongs to the user with the number {}; if it may be trusted, say HOB_CONFIG={}", what,
      status.st_uid, path);
}

/// The same of what binds all users of a site.
std::string mistrust_of_site(const struct stat& status, std::string_view what, unsigned owner) {
  if (status.st_uid != 0 && status.st_uid != owner)
    return fmt::format("{} belongs to the user with the number {}", what, status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fmt::format("others than its owner may write to {}", what);
  return {};
}

/// A file of the site.
int open_site(const std::string& path, unsigned owner, std::string& why_not) {
  const auto slash = path.rfind('/');
  struct stat status {};
  if (::stat(slash == 0 ? "/" : path.substr(0, slash).c_str(), &status) != 0)
    why_not = std::strerror(errno);
  else
    why_not = mistrust_of_site(status, "its directory", owner);
  if (!why_not.empty()) return -1;
  const int file = ::open(path.c_str(), kForReading);
  if (file < 0) why_not = std::strerror(errno);
  return file;
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

ConfigFile read_open(int file, const std::string& path, Trust trust, unsigned owner) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return refuse(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) return refuse(path, "it is no regular file");
  if (trust == Trust::found)
    if (const std::string why = mistrust(file, "it", path); !why.empty()) return refuse(path, why);
  if (trust == Trust::site)
    if (const std::string why = mistrust_of_site(status, "it", owner); !why.empty())
      return refuse(path, why);
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

ConfigFile read_config_file(const std::string& path, Trust trust, unsigned owner) {
  std::string why_not;
  const int file = trust == Trust::found  ? open_found(path, why_not)
                   : trust == Trust::site ? open_site(path, owner, why_not)
                                          : ::open(path.c_str(), kForReading);
  if (file < 0) return refuse(path, why_not.empty() ? std::strerror(errno) : why_not);
  ConfigFile result = read_open(file, path, trust, owner);
  ::close(file);
  return result;
}

}  // namespace hob::settings
