/* Preloaded behind Hob, it counts probes. The test's program makes none, so all are Hob's. */
#include <dlfcn.h>
#include <mpi.h>

static long probes;

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  static int (*next)(int, int, MPI_Comm, int*, MPI_Status*);
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "PMPI_Iprobe");
  probes++;
  return next(source, tag, comm, flag, status);
}

long counted_probes(void) { return probes; }
