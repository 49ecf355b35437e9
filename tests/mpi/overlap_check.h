/* What the tests of overlap share. */
#ifndef HOB_TESTS_MPI_OVERLAP_CHECK_H
#define HOB_TESTS_MPI_OVERLAP_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <time.h>

static int rank;

static inline double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void fail(const char* what) {
  fprintf(stderr, "%d: %s\n", rank, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void compute(double seconds) {
  for (const double end = now() + seconds; now() < end;) continue;
}

/* Computes until the last element has this value. */
static inline void compute_until(const volatile double* last, double value) {
  const double deadline = now() + 60;
  while (*last != value)
    if (now() > deadline) fail("no progress was made while the program was outside MPI");
}

#endif
