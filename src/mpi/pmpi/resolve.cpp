#include "mpi/pmpi/resolve.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hob::mpi::real {
namespace {

struct Search {
  const char* name;
  void* found;
};

int look_into(dl_phdr_info* info, size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (!info->dlpi_name || !std::strstr(info->dlpi_name, "libmpi")) return 0;
  void* library = dlopen(info->dlpi_name, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return 0;
  search->found = dlsym(library, search->name);
  dlclose(library);
  return search->found != nullptr;
}

}  // namespace

void* find(const char* name) noexcept {
  if (void* next = dlsym(RTLD_NEXT, name)) return next;
  Search search{name, nullptr};
  dl_iterate_phdr(look_into, &search);
  return search.found;
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
