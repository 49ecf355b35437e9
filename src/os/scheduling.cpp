#include "os/scheduling.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

namespace hob::os {

std::uint64_t turns_lost() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_nivcsw);
}

int thread_number() { return static_cast<int>(::syscall(SYS_gettid)); }

std::uint64_t waited_for_core(int thread) {
  std::array<char, 64> path{}, text{};
  fmt::format_to_n(path.data(), path.size() - 1, "/proc/self/task/{}/schedstat", thread);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  // Processor time, time of waiting for it, number of turns.
  const char* const second = got > 0 ? std::strchr(text.data(), ' ') : nullptr;
  return second ? std::strtoull(second, nullptr, 10) : 0;
}

}  // namespace hob::os
