#include "validation/unseen_stores.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "os/descriptors.hpp"
#include "validation/watched_pages.hpp"

namespace hob::validation {
namespace {

constexpr std::string_view kHarmlessDevices[] = {"/dev/cpu_dma_latency", "/dev/fuse", "/dev/kvm",
                                                 "/dev/net/tun", "/dev/userfaultfd"};
constexpr std::string_view kAdapters[] = {"/dev/infiniband/", "/dev/hfi1",  "/dev/cxi",
                                          "/dev/kgni",        "/dev/xpmem", "/dev/knem",
                                          "/dev/gdrdrv"};
constexpr std::string_view kHarmless[] = {
    "[eventfd]",  "[eventpoll]", "[timerfd]",         "[signalfd]", "inotify",
    "[fanotify]", "[pidfd]",     "[perf_event]",      "bpf-map",    "bpf-prog",
    "bpf_link",   "[fscontext]", "[landlock-ruleset]"};
constexpr std::string_view kAnonymous = "anon_inode:";

template <std::size_t N>
bool begins_with_one_of(const std::string_view (&names)[N], std::string_view name) {
  return std::any_of(std::begin(names), std::end(names),
                     [&](std::string_view each) { return name.starts_with(each); });
}

std::string name_of(int fd) {
  std::array<char, 512> name;
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), name.data(), name.size());
  return length > 0 ? std::string(name.data(), static_cast<std::size_t>(length)) : std::string();
}

/// Memory, terminals and their like, by the numbers that Linux has given them for good.
bool is_harmless(dev_t device) {
  const unsigned kind = major(device), number = minor(device);
  if (kind == 1) return number != 1 && number != 2 && number != 4;  // physical memory, ports
  return kind == 4 || kind == 5 || (kind >= 136 && kind <= 143);
}

bool is_harmless_socket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return false;
  return domain == AF_UNIX || domain == AF_INET || domain == AF_INET6 || domain == AF_NETLINK;
}

/// What the descriptor is, if a device or process may store unseen through it.
std::string danger_of(int fd, bool adapter) {
  struct stat about {};
  if (::fstat(fd, &about) != 0) return "";  // closed meanwhile
  switch (about.st_mode & S_IFMT) {
    case S_IFREG:
      return (::fcntl(fd, F_GETFL) & O_DIRECT) != 0 ? "a file opened with O_DIRECT" : "";
    case S_IFDIR:
    case S_IFIFO:
    case S_IFLNK:
      return "";
    case S_IFSOCK:
      return is_harmless_socket(fd) ? "" : "a socket of an unknown kind";
    case S_IFCHR:
      if (is_harmless(about.st_rdev)) return "";
      break;
    default:
      break;
  }
  if (WatchedPages::is_own(fd)) return "";
  std::string name = name_of(fd);
  if (name.empty()) return "";
  if (name.starts_with(kAnonymous)) {
    const std::string_view kind = std::string_view(name).substr(kAnonymous.size());
    const bool verbs = kind.starts_with("[infinibandevent]") || kind.starts_with("[mlx5");
    return begins_with_one_of(kHarmless, kind) || (verbs && adapter) ? "" : name;
  }
  if (begins_with_one_of(kHarmlessDevices, name)) return "";
  return adapter && begins_with_one_of(kAdapters, name) ? "" : name;
}

std::string dangerous_descriptor(bool adapter) {
  std::string danger;
  const bool listed = os::each_descriptor([&](int fd) {
    danger = danger_of(fd, adapter);
    return danger.empty();
  });
  return listed ? danger : "unknown descriptors";
}

bool any_page_is_pinned() {
  const int status = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (status < 0) return true;
  std::array<char, 4096> text;
  const ssize_t length = ::read(status, text.data(), text.size() - 1);
  ::close(status);
  if (length <= 0) return true;
  text[static_cast<std::size_t>(length)] = 0;
  const char* const line = std::strstr(text.data(), "VmPin:");
  return line == nullptr || std::strtoul(line + std::strlen("VmPin:"), nullptr, 10) != 0;
}

}  // namespace

std::string who_stores_unseen(bool adapter) {
  if (!adapter && any_page_is_pinned()) return "pinned pages";
  return dangerous_descriptor(adapter);
}

}  // namespace hob::validation
