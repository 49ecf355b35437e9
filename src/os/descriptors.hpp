// Files of other processes of the same user and machine, by the number of a descriptor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>

namespace hob::os {

/// Identifies a file among all of the machine. Plain bytes: processes send it to each other.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;  ///< its size

  bool operator==(const FileIdentity&) const = default;
};

/// Of an open file; all zero if there is none.
FileIdentity identity_of(int fd);

/// Whether this number is an open file, and that one, whatever its size is by now.
bool is_file(int fd, const FileIdentity& meant);

/// Calls visit() with each descriptor that this process has open, until it says false. False if
/// they cannot be listed. Other threads may close them, and open others, at any time.
bool each_descriptor(const std::function<bool(int fd)>& visit);

/// Why a descriptor of another process was not opened.
enum class Unopened : int {
  no,           ///< it was
  unreachable,  ///< no process of this number, no such descriptor, or the system forbids it
  other_file,   ///< the number means another file here: processes are numbered anew in containers
};

/// Opens descriptor number `fd` of process `pid` for reading and writing, if it is the file that is
/// meant. Returns -1 and why not otherwise; to be closed. Thread safe.
int open_descriptor(pid_t pid, int fd, const FileIdentity& meant, Unopened& why_not);

}  // namespace hob::os
