// Memory that a program handles page faults of itself (userfaultfd) has one handler at a time: what
// Hob watches of it is given back first.
#include <dlfcn.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>

#include "mpi/pmpi/mpi.hpp"
#include "validation/watched_pages.hpp"

namespace hob::mpi {
namespace {

using Ioctl = int (*)(int, unsigned long, ...);
int find_ioctl(int file, unsigned long request, ...);
/// The ioctl() behind this one; at first what finds it. Global, since the program calls ioctl().
std::atomic<Ioctl> next_ioctl{find_ioctl};

int by_system_call(int file, unsigned long request, ...) {
  std::va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  return static_cast<int>(::syscall(SYS_ioctl, file, request, argument));
}

int find_ioctl(int file, unsigned long request, ...) {
  std::va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  const auto found = reinterpret_cast<Ioctl>(::dlsym(RTLD_NEXT, "ioctl"));
  next_ioctl.store(found ? found : by_system_call, std::memory_order_relaxed);
  return next_ioctl.load(std::memory_order_relaxed)(file, request, argument);
}

}  // namespace
}  // namespace hob::mpi

extern "C" HOB_EXPORT int ioctl(int file, unsigned long request, ...) noexcept {
  std::va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  const auto next = hob::mpi::next_ioctl.load(std::memory_order_relaxed);
  if (HOB_LIKELY(request != UFFDIO_REGISTER) || argument == nullptr)
    return next(file, request, argument);
  struct Call {
    decltype(next) function;
    int file;
    void* argument;
  } call{next, file, argument};
  const uffdio_range range = static_cast<const uffdio_register*>(argument)->range;
  return hob::validation::WatchedPages::give_back(
      range.start, range.start + range.len,
      [](void* data) {
        const auto& c = *static_cast<Call*>(data);
        return c.function(c.file, UFFDIO_REGISTER, c.argument);
      },
      &call);
}
