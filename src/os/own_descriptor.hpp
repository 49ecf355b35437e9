// Descriptors that Hob keeps.
#pragma once

#include <utility>

#include "os/descriptors.hpp"

namespace hob::os {

/// A program may close descriptors that it does not know, as daemons do, and be given their numbers
/// for files of its own: every use of one that is kept asks first whether it still is the same
/// file. Files differ by their inodes, which eventfds, sets of epoll and, before
/// Linux 6.9, process descriptors have in common: a WakePipe is a pipe, and what keeps one of the
/// others looks closer.
class OwnDescriptor {
 public:
  OwnDescriptor() = default;
  /// Takes it; -1: none.
  explicit OwnDescriptor(int fd) : fd_(fd), file_(fd >= 0 ? identity_of(fd) : FileIdentity{}) {}
  OwnDescriptor(OwnDescriptor&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), file_(other.file_) {}
  OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
    if (this == &other) return *this;
    close();
    fd_ = std::exchange(other.fd_, -1);
    file_ = other.file_;
    return *this;
  }
  ~OwnDescriptor() { close(); }

  /// Its number; -1 if there is none, or if the number means another file by now. A system call of
  /// 0.2 us.
  int get() const { return fd_ >= 0 && is_file(fd_, file_) ? fd_ : -1; }

  /// Closes it, if it still is that file.
  void close();

 private:
  int fd_ = -1;
  FileIdentity file_;
};

/// Both ends of a pipe; none of them where the system has none.
struct OwnPipe {
  OwnDescriptor from, to;

  /// Not blocking, and not for programs that this one begins.
  static OwnPipe make();
  /// Both ends are still there.
  bool whole() const { return from.get() >= 0 && to.get() >= 0; }
};

}  // namespace hob::os
