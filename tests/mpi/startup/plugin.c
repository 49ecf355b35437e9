/* A shared library that calls MPI itself, opened in every way: it sees the world of the program.
 * Built with -DLIBRARY -shared -fPIC into a directory that the program's RUNPATH names. */
#define _GNU_SOURCE
#include <dlfcn.h>

#ifdef LIBRARY
#include <mpi.h>
int size_of_world(void);
int size_of_world(void) {
  int all = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  return all;
}
#else
#include "check.h"

static void open_with(const char* path, int flags) {
  void* plugin = dlopen(path, flags);
  CHECK(plugin != NULL, "%s", dlerror());
  if (!plugin) return;
  int (*its_size)(void) = (int (*)(void))dlsym(plugin, "size_of_world");
  CHECK(its_size && its_size() == size, "flags %x", flags);
  dlclose(plugin);
}

int main(int argc, char** argv) {
  watch(30);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Found by the RUNPATH of this program: whoever stands between must not be taken for the caller.
   */
  open_with("libplugin.so", RTLD_NOW | RTLD_LOCAL);
  open_with(argv[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  open_with(argv[1], RTLD_LAZY | RTLD_GLOBAL | RTLD_DEEPBIND);
  const int result = verdict();
  MPI_Finalize();
  return result;
}
#endif
