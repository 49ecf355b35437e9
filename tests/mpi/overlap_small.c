/* With overlap=auto: small collective operations are not looked after, whatever else their
 * arguments say; large ones are; arguments that are not significant are not read. Two ranks on one
 * node, which compute between each start and its wait. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "overlap_check.h"

enum { SMALL = 16, LARGE = 1 << 16 };
/* No datatype of this value exists; nobody may ask the library about it. */
#define NO_DATATYPE MPI_DATATYPE_NULL

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

/* Phases that left time to compute, with help and without; 0 without Hob. */
static unsigned long long phases(void) {
  unsigned long long helped = 0, alone = 0;
  if (HOB_Counter) {
    HOB_Counter("overlap_helped", &helped);
    HOB_Counter("overlap_alone", &alone);
  }
  return helped + alone;
}

static void complete(MPI_Request* request) {
  const struct timespec time = {0, 300000};
  nanosleep(&time, NULL);
  MPI_Wait(request, MPI_STATUS_IGNORE);
}

static int is_root(void) { return rank == 0; }

/* Each kind once with `n` doubles from each rank to each; what is wrong. */
static int all_kinds(int n) {
  double* a = malloc(2 * n * sizeof *a);
  double* b = malloc(2 * n * sizeof *b);
  int wrong = 0;
  MPI_Request request;
  for (int i = 0; i < 2 * n; i++) a[i] = rank + 1;
  MPI_Iallreduce(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += b[n - 1] != 3;
  MPI_Ireduce_scatter_block(a, b, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += b[n - 1] != 3;
  MPI_Ibcast(a, n, MPI_DOUBLE, 1, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += a[n - 1] != 2;
  for (int i = 0; i < 2 * n; i++) b[i] = rank + 1;
  MPI_Ialltoall(MPI_IN_PLACE, -7, NO_DATATYPE, b, n, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += b[0] != 1 || b[2 * n - 1] != 2;
  for (int i = 0; i < 2 * n; i++) b[i] = rank + 1;
  MPI_Iallgather(MPI_IN_PLACE, -7, NO_DATATYPE, b, n, MPI_DOUBLE, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += b[0] != 1 || b[2 * n - 1] != 2;
  if (is_root())
    MPI_Igather(MPI_IN_PLACE, -7, NO_DATATYPE, b, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Igather(b, n, MPI_DOUBLE, NULL, -7, NO_DATATYPE, 0, MPI_COMM_WORLD, &request);
  complete(&request);
  wrong += b[0] != 1;
  if (is_root())
    MPI_Iscatter(b, n, MPI_DOUBLE, MPI_IN_PLACE, -7, NO_DATATYPE, 0, MPI_COMM_WORLD, &request);
  else
    MPI_Iscatter(NULL, -7, NO_DATATYPE, b, n, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
  complete(&request);
  free(a);
  free(b);
  return wrong;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int wrong = 0;
  for (int i = 0; i < 5; i++) wrong += all_kinds(SMALL);
  const unsigned long long of_small = phases();
  wrong += all_kinds(LARGE);
  const unsigned long long of_large = phases() - of_small;
  if (wrong) fail("wrong results");
  if (of_small != 0) fail("small operations were looked after");
  if (HOB_Counter && of_large != 7) fail("not all large ones were looked after");
  MPI_Finalize();
  if (rank == 0) puts("passed");
  return 0;
}
