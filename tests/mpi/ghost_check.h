// Small things that the tests of ghosts share. They are plain MPI programs that know nothing of
// Hob.
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures = 0;

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      int check_rank = -1;                                                                   \
      MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);                                            \
      if (check_failures++ < 10)                                                             \
        fprintf(stderr, "rank %d: %s:%d: %s\n", check_rank, __FILE__, __LINE__, #condition); \
    }                                                                                        \
  } while (0)

// Every rank's failures decide about every rank's exit status.
static inline int check_finish(void) {
  int all = 0, rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0 && all == 0) printf("No Errors\n");
  return all == 0 ? 0 : 1;
}
