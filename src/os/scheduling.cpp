#include "os/scheduling.hpp"

#include <sys/resource.h>

namespace hob::os {

std::uint64_t turns_lost() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

}  // namespace hob::os
