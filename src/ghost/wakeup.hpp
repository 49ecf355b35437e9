// A ghost that sleeps listens to a pipe; whoever sends it something writes a byte to it.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace hob::ghost {

/// The inode of a pipe, which no other pipe of the machine has; 0 if it has none.
inline std::uint64_t pipe_inode(int fd) {
  struct stat about {};
  return ::fstat(fd, &about) == 0 && S_ISFIFO(about.st_mode) ? about.st_ino : 0;
}

/// Opens the writing end, number `fd`, of the pipe `inode` of process `pid` of the same user and
/// node. Returns a descriptor to be closed, or -1 if it is gone, or if the number means another
/// file here: processes may be numbered anew in a container. Writing to it never blocks, and never
/// raises SIGPIPE: it is open for reading as well, so a ghost that closes its own end meanwhile
/// does not leave a pipe without a reader. Thread safe.
inline int open_wakeup(int pid, int fd, std::uint64_t inode) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  struct stat about {};  // looked at before it is opened: opening a device may do something
  if (::stat(path.c_str(), &about) != 0 || !S_ISFIFO(about.st_mode) || about.st_ino != inode)
    return -1;
  const int pipe = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (pipe < 0 || pipe_inode(pipe) == inode) return pipe;
  ::close(pipe);
  return -1;
}

}  // namespace hob::ghost
