// A ghost that sleeps listens to a pipe; whoever sends it something writes a byte to it.
#pragma once

#include <fcntl.h>

#include <string>

namespace hob::ghost {

/// Opens the writing end, number `fd`, of a pipe of process `pid` of the same user and node.
/// Returns a descriptor to be closed, or -1 if it is gone. Writing to it never blocks, and never
/// raises SIGPIPE: it is open for reading as well, so a ghost that closes its own end meanwhile
/// does not leave a pipe that nobody can read. Thread safe.
inline int open_wakeup(int pid, int fd) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd);
  return ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

}  // namespace hob::ghost
