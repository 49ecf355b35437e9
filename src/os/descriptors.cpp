#include "os/descriptors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <string>

namespace hob::os {
namespace {

FileIdentity from(const struct stat& about) {
  return {about.st_dev, about.st_ino, static_cast<std::uint64_t>(about.st_size)};
}

}  // namespace

FileIdentity identity_of(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 ? from(about) : FileIdentity{};
}

bool is_file(int fd, const FileIdentity& meant) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && about.st_dev == meant.device && about.st_ino == meant.inode;
}

bool each_descriptor(const std::function<bool(int fd)>& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(::opendir("/proc/self/fd"), ::closedir);
  if (!all) return false;
  while (const dirent* entry = ::readdir(all.get())) {
    int fd = -1;
    const char* const end = entry->d_name + std::strlen(entry->d_name);
    if (std::from_chars(entry->d_name, end, fd).ptr == end && !visit(fd)) break;
  }
  return true;
}

int open_descriptor(pid_t pid, int fd, const FileIdentity& meant, Unopened& why_not) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  why_not = Unopened::unreachable;
  struct stat about {};  // looked at before it is opened: opening a device may do something
  if (::stat(path.c_str(), &about) != 0) return -1;
  why_not = Unopened::other_file;
  if (from(about) != meant) return -1;
  const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (opened < 0) {
    why_not = Unopened::unreachable;
    return -1;
  }
  if (identity_of(opened) != meant) {  // closed meanwhile, and the number was used again
    ::close(opened);
    return -1;
  }
  why_not = Unopened::no;
  return opened;
}

}  // namespace hob::os
