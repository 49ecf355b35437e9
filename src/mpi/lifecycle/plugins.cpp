// A shared library that is opened with RTLD_DEEPBIND looks for functions in the libraries that it
// is linked with before it looks at those that were loaded first. Its MPI calls would pass Hob by,
// which then knows nothing of what it learns of other processes, and with ghosts it would see their
// world. One that calls MPI is opened without that flag; all others as the program asks.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <string>

#include "base/log.hpp"
#include "base/programs.hpp"
#include "os/elf.hpp"

namespace hob::mpi {
namespace {

/// Whether a shared library is linked with an MPI library.
bool calls_mpi(const char* path) {
  const auto file = os::read_elf(path);
  return file && std::any_of(file->needed.begin(), file->needed.end(),
                             [](const std::string& name) { return !mpi_family(name).empty(); });
}

/// The flags with which a file is opened. A name without a slash is found by the linker alone.
[[gnu::noinline]] int flags_for(const char* file, int flags) noexcept try {
  if (!file || !std::strchr(file, '/') || !calls_mpi(file)) return flags;
  log::line(log::Level::info, "{} calls MPI, and is opened without RTLD_DEEPBIND", file);
  return flags & ~RTLD_DEEPBIND;
} catch (const std::exception&) {  // no memory is left
  return flags;
}

using Open = void*(const char*, int) noexcept;  // else the call could not be a jump

}  // namespace
}  // namespace hob::mpi

// Also in builds that are not optimised, or look for races. clang-tidy knows neither.
#ifdef __clang__
#define HOB_ENDS_IN_A_JUMP
#else
#define HOB_ENDS_IN_A_JUMP [[gnu::optimize("O2"), gnu::no_sanitize("thread")]]
#endif

/// The library's own finds out by its return address who calls, and searches that object's
/// directories: so this must end in a jump, which the compiler makes of a call in the last place
/// (tests/mpi/startup/plugin.c).
extern "C" [[gnu::visibility("default")]] HOB_ENDS_IN_A_JUMP void* dlopen(const char* file,
                                                                          int flags) noexcept {
  static hob::mpi::Open* next = nullptr;
  hob::mpi::Open* open = __atomic_load_n(&next, __ATOMIC_RELAXED);
  if (!open) {
    open = reinterpret_cast<hob::mpi::Open*>(::dlsym(RTLD_NEXT, "dlopen"));
    __atomic_store_n(&next, open, __ATOMIC_RELAXED);
  }
  if ((flags & RTLD_DEEPBIND) != 0) flags = hob::mpi::flags_for(file, flags);
  return open(file, flags);
}
