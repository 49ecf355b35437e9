// A shared library that is opened with RTLD_DEEPBIND looks for functions in the libraries that it
// is linked with before it looks at those that were loaded first. Its MPI calls would pass Hob by,
// which then knows nothing of what it learns of other processes, and with ghosts it would see their
// world. One that calls MPI is opened without that flag; all others as the program asks.
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/log.hpp"
#include "base/programs.hpp"

namespace hob::mpi {
namespace {

/// A file as it lies there, read only.
class MappedFile {
 public:
  explicit MappedFile(const char* path) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about {};
    if (fd >= 0 && ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
      bytes_ = static_cast<std::size_t>(about.st_size);
      base_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0) ::close(fd);
  }
  ~MappedFile() {
    if (there()) ::munmap(base_, bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  bool there() const { return base_ != MAP_FAILED; }

  /// So many values at an offset that the file itself gives: null where they are not all inside.
  template <class T>
  const T* at(std::size_t offset, std::size_t count = 1) const {
    if (!there() || offset > bytes_ || (bytes_ - offset) / sizeof(T) < count) return nullptr;
    return reinterpret_cast<const T*>(static_cast<const char*>(base_) + offset);
  }
  /// "" where it does not end inside.
  std::string_view text(std::size_t offset) const {
    const char* from = at<char>(offset);
    const void* end = from ? std::memchr(from, 0, bytes_ - offset) : nullptr;
    return end ? std::string_view(from) : std::string_view();
  }

 private:
  void* base_ = MAP_FAILED;
  std::size_t bytes_ = 0;
};

/// Whether a shared library is linked with an MPI library.
bool calls_mpi(const char* path) {
  const MappedFile file(path);
  const auto* header = file.at<ElfW(Ehdr)>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return false;
  const auto* segments = file.at<ElfW(Phdr)>(header->e_phoff, header->e_phnum);
  const ElfW(Dyn)* entries = nullptr;
  std::size_t count = 0;
  for (int i = 0; segments && i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_DYNAMIC) {
      count = segments[i].p_filesz / sizeof *entries;
      entries = file.at<ElfW(Dyn)>(segments[i].p_offset, count);
    }
  if (!entries) return false;
  ElfW(Addr) names = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (entries[i].d_tag == DT_STRTAB) names = entries[i].d_un.d_ptr;
  // The table is named by its address; the segment says where that is in the file.
  std::size_t offset = 0;
  for (int i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD && names >= segments[i].p_vaddr &&
        names - segments[i].p_vaddr < segments[i].p_filesz)
      offset = names - segments[i].p_vaddr + segments[i].p_offset;
  for (std::size_t i = 0; offset != 0 && i < count; ++i)
    if (entries[i].d_tag == DT_NEEDED &&
        !mpi_family(file.text(offset + entries[i].d_un.d_val)).empty())
      return true;
  return false;
}

/// The flags with which a file is opened. A name without a slash is found by the linker alone.
[[gnu::noinline]] int flags_for(const char* file, int flags) noexcept {
  if (!file || !std::strchr(file, '/') || !calls_mpi(file)) return flags;
  log::line(log::Level::info, "{} calls MPI, and is opened without RTLD_DEEPBIND", file);
  return flags & ~RTLD_DEEPBIND;
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
