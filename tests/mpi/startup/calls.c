/* How many calls in which all processes wait for all Hob makes of its own when MPI starts, and when
 * it ends: a library between Hob and MPI counts them (LIBRARY), and a program that does nothing
 * else has them printed. Arguments: the most that there may be. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int calls_so_far(void);

#ifdef LIBRARY
static int calls = 0;
int calls_so_far(void) { return calls; }

#define COUNTED(name, parameters, arguments)                            \
  int name parameters {                                                 \
    int(*next) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
    ++calls;                                                            \
    return next arguments;                                              \
  }

COUNTED(PMPI_Allgather,
        (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, MPI_Comm g),
        (a, b, c, d, e, f, g))
COUNTED(PMPI_Allgatherv,
        (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f, MPI_Datatype g,
         MPI_Comm h),
        (a, b, c, d, e, f, g, h))
COUNTED(PMPI_Allreduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, MPI_Comm f),
        (a, b, c, d, e, f))
COUNTED(PMPI_Barrier, (MPI_Comm a), (a))
COUNTED(PMPI_Bcast, (void* a, int b, MPI_Datatype c, int d, MPI_Comm e), (a, b, c, d, e))
COUNTED(PMPI_Gather,
        (const void* a, int b, MPI_Datatype c, void* d, int e, MPI_Datatype f, int g, MPI_Comm h),
        (a, b, c, d, e, f, g, h))
COUNTED(PMPI_Gatherv,
        (const void* a, int b, MPI_Datatype c, void* d, const int* e, const int* f, MPI_Datatype g,
         int h, MPI_Comm i),
        (a, b, c, d, e, f, g, h, i))
COUNTED(PMPI_Reduce, (const void* a, void* b, int c, MPI_Datatype d, MPI_Op e, int f, MPI_Comm g),
        (a, b, c, d, e, f, g))
COUNTED(PMPI_Comm_dup, (MPI_Comm a, MPI_Comm* b), (a, b))
COUNTED(PMPI_Comm_split, (MPI_Comm a, int b, int c, MPI_Comm* d), (a, b, c, d))
COUNTED(PMPI_Comm_split_type, (MPI_Comm a, int b, int c, MPI_Info d, MPI_Comm* e), (a, b, c, d, e))
COUNTED(PMPI_Win_create, (void* a, MPI_Aint b, int c, MPI_Info d, MPI_Comm e, MPI_Win* f),
        (a, b, c, d, e, f))
#else
int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  const int start = calls_so_far();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Finalize();
  const int end = calls_so_far() - start;
  const int good = argc == 3 && start <= atoi(argv[1]) && end <= atoi(argv[2]);
  if (rank == 0)
    printf("%s: %d calls at the start, %d at the end\n", good ? "PASS" : "FAIL", start, end);
  return 0;
}
#endif
