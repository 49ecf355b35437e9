/* Batches that wait while their program computes go out all the same. Two ranks, between which
 * there is a network. Rank 0 issues operations, and computes until rank 1 has seen their effect: it
 * says so by writing into rank 0's memory. Without help the batch would wait for rank 0's next
 * call, and both would compute until the deadline. Arguments: put, accumulate, mixed, unlock,
 * local. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "overlap_check.h"

enum { PLACES = 60, SIGN = PLACES, WORDS = PLACES + 4 };
static double* memory;
static double from[WORDS], got[WORDS];
static MPI_Win win;

static double value(int round, int i) { return 1000 * round + i; }

/* Every second place, so that they are no block. */
static void issue(const char* what, int round) {
  const int adds = strcmp(what, "accumulate") == 0;
  for (int i = 0; i < PLACES; i += 2) {
    from[i] = value(round, i);
    if (adds)
      MPI_Accumulate(&from[i], 1, MPI_DOUBLE, 1, i, 1, MPI_DOUBLE, MPI_SUM, win);
    else
      MPI_Put(&from[i], 1, MPI_DOUBLE, 1, i, 1, MPI_DOUBLE, win);
    if (strcmp(what, "mixed") == 0) MPI_Get(&got[i], 1, MPI_DOUBLE, 1, i + 1, 1, MPI_DOUBLE, win);
  }
  if (strcmp(what, "local") == 0) {
    MPI_Win_flush_local(1, win);
    memset(from, 0, sizeof from); /* it is the program's again */
  }
}

static void write_and_compute(const char* what, int round) {
  memset(got, -1, sizeof got);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  issue(what, round);
  compute_until(&memory[SIGN], round);
  /* More of them after those that went out beside the program. */
  from[1] = value(round, 1);
  MPI_Put(&from[1], 1, MPI_DOUBLE, 1, SIGN + 1, 1, MPI_DOUBLE, win);
  if (strcmp(what, "unlock") != 0) MPI_Win_flush(1, win);
  MPI_Win_unlock(1, win);
  if (strcmp(what, "mixed") == 0)
    for (int i = 0; i < PLACES; i += 2)
      if (got[i] != -i) fail("a get brought something else");
}

static void compute_and_look(int round) {
  const double one = round;
  for (int i = 0; i < PLACES; i += 2) compute_until(&memory[i], value(round, i));
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Put(&one, 1, MPI_DOUBLE, 0, SIGN, 1, MPI_DOUBLE, win);
  MPI_Win_unlock(0, win);
}

static void reset(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < PLACES; i++) memory[i] = i % 2 ? -(i - 1) : 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "put";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  memset(memory, 0, WORDS * sizeof *memory);
  for (int round = 1; round <= 8; round++) {
    reset();
    if (rank == 0)
      write_and_compute(what, round);
    else
      compute_and_look(round);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    if (rank == 1 && memory[SIGN + 1] != value(round, 1)) fail("the last one is missing");
    MPI_Win_unlock(rank, win);
  }
  MPI_Win_free(&win);
  if (rank == 0) printf("%s: right\n", what);
  MPI_Finalize();
  return 0;
}
