#include "os/own_descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace hob::os {

void OwnDescriptor::close() {
  if (const int fd = get(); fd >= 0) ::close(fd);
  fd_ = -1;
}

OwnPipe OwnPipe::make() {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
  return {OwnDescriptor(ends[0]), OwnDescriptor(ends[1])};
}

}  // namespace hob::os
