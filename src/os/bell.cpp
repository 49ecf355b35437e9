#include "os/bell.hpp"

#include <unistd.h>

#include <array>

namespace hob::os {

int Bell::listen() {
  const std::lock_guard guard(lock_);
  if (!pipe_.whole()) pipe_ = OwnPipe::make();
  return pipe_.from.get();
}

void Bell::ring() {
  const std::lock_guard guard(lock_);
  const char ring = 1;
  // One that is full has been rung.
  if (const int fd = pipe_.to.get(); fd >= 0) static_cast<void>(!::write(fd, &ring, sizeof ring));
}

void Bell::silence() {
  const std::lock_guard guard(lock_);
  std::array<char, 64> rings;
  if (const int fd = pipe_.from.get(); fd >= 0)
    while (::read(fd, rings.data(), rings.size()) > 0) continue;
}

}  // namespace hob::os
