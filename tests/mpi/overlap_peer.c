/* Only the peer gains: rank 0 sends a large message, computes, and then waits for that and for a
 * small answer, which comes late and at a time that has nothing to do with the message; rank 1 has
 * little to compute and waits for the large one, which moves early only if rank 0 is helped, too.
 *
 * Two ranks. With overlap=auto most phases of both are helped in the end. Argument: how many. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "overlap_check.h"

enum { COUNT = 1 << 19, TRIAL = 60 };

static void sleep_until(double end) {
  const double left = end - now();
  if (left <= 0) return;
  const struct timespec time = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
  nanosleep(&time, NULL);
}

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

/* Phases of this process that were helped; 0 without Hob. */
static unsigned long long phases_helped(void) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter("overlap_helped", &count);
  return count;
}

int main(int argc, char** argv) {
  const int phases = argc > 1 ? atoi(argv[1]) : 300;
  int wrong = 0;
  unsigned long long helped = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double* data = malloc(COUNT * sizeof *data);
  srand(7);
  for (int phase = 0; phase < phases; phase++) {
    const double late = 1e-3 * (6 + rand() % 8);
    double answer = phase;
    MPI_Request requests[2];
    if (phase == TRIAL) helped = phases_helped();
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    if (rank == 0) {
      for (int i = 0; i < COUNT; i++) data[i] = phase + i;
      MPI_Irecv(&answer, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, &requests[0]);
      MPI_Isend(data, COUNT, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &requests[1]);
      sleep_until(start + 4e-3);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      wrong += answer != phase;
    } else {
      MPI_Irecv(data, COUNT, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[0]);
      sleep_until(start + 1e-3);
      MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
      for (int i = 0; i < COUNT; i++) wrong += data[i] != phase + i;
      sleep_until(start + late);
      MPI_Send(&answer, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
  }
  helped = phases_helped() - helped;
  printf("rank %d: %llu phases helped of the last %d, %d wrong\n", rank, helped, phases - TRIAL,
         wrong);
  if (wrong || (phases_helped() != 0 && 2 * helped < (unsigned long long)(phases - TRIAL)))
    MPI_Abort(MPI_COMM_WORLD, 1);
  free(data);
  MPI_Finalize();
  return 0;
}
