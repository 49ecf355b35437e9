#include "mpi/pmpi/resolve.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hob::mpi::real {
namespace {

/// The path of the loaded library that is next in turn and may be MPI's.
struct Search {
  int left;  ///< libraries to pass over
  char path[4096];
};

/// Only copies: dlopen takes a lock before the one that is held here, so another thread that loads
/// a library would wait for ever, and so would this one.
int copy_path(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "libmpi")) return 0;
  if (std::strlen(info->dlpi_name) >= sizeof search->path || search->left-- != 0) return 0;
  std::strcpy(search->path, info->dlpi_name);
  return 1;
}

void* look_into(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return nullptr;
  void* found = dlsym(library, name);
  dlclose(library);
  return found;
}

}  // namespace

void* find(const char* name) noexcept {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  Search search{};
  for (int passed = 0;; ++passed) {
    search.left = passed;
    if (dl_iterate_phdr(copy_path, &search) == 0) return nullptr;
    if (void* found = look_into(search.path, name)) return found;
  }
}

void* find_or_abort(const char* name) noexcept {
  if (void* function = find(name)) return function;
  std::fprintf(
      stderr,
      "hob: the MPI library of this program has no %s. Either no MPI library is loaded, or it is "
      "older than the program.\n",
      name);
  std::abort();
}

}  // namespace hob::mpi::real
