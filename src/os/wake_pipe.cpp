#include "os/wake_pipe.hpp"

#include <unistd.h>

#include <array>

namespace hob::os {

int WakePipe::descriptor() {
  const std::lock_guard guard(lock_);
  if (!pipe_.whole()) pipe_ = OwnPipe::make();
  return pipe_.from.get();
}

void WakePipe::wake() {
  const std::lock_guard guard(lock_);
  const char byte = 1;
  // A pipe that is full is readable.
  if (const int fd = pipe_.to.get(); fd >= 0) static_cast<void>(!::write(fd, &byte, sizeof byte));
}

void WakePipe::drain() {
  const std::lock_guard guard(lock_);
  std::array<char, 64> bytes;
  if (const int fd = pipe_.from.get(); fd >= 0)
    while (::read(fd, bytes.data(), bytes.size()) > 0) continue;
}

}  // namespace hob::os
