/* Receives in Hob's queues and gets through its cache while a heater touches the memory of both:
 * every message and every byte must be right. One phase after the other, with pauses of computing
 * in between, and with heating paused by call in one of them. */
#define HOB_WEAK
#include <hob/hob.h>
#include <mpi.h>
#include <stdio.h>

enum { receives = 3000, phases = 6, words = 4096 };

static void compute(double seconds) {
  double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) {
  }
}

static void fail(const char* what, int phase, int at) {
  fprintf(stderr, "phase %d, %s %d is wrong\n", phase, what, at);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size;
  int before = (rank + size - 1) % size;

  int* memory;
  MPI_Win win;
  MPI_Win_allocate(words * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);

  static int in[receives], out[receives];
  static MPI_Request requests[receives], sends[receives];
  for (int phase = 0; phase < phases; ++phase) {
    if (phase == 3 && HOB_Heat_pause) HOB_Heat_pause();
    if (phase == 4 && HOB_Heat_resume) HOB_Heat_resume();
    for (int i = 0; i < receives; ++i) {
      in[i] = -1;
      MPI_Irecv(&in[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = receives - 1; i >= 0; --i) {
      out[i] = phase * receives + i;
      MPI_Isend(&out[i], 1, MPI_INT, next, i, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Waitall(receives, requests, MPI_STATUSES_IGNORE);
    MPI_Waitall(receives, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < receives; ++i)
      if (in[i] != phase * receives + i) fail("message", phase, i);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    for (int i = 0; i < words; ++i) memory[i] = rank * 1000 + phase + i;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    for (int round = 0; round < 2; ++round)
      for (int i = 0; i < words; i += 7) {
        int got = -1;
        MPI_Get(&got, 1, MPI_INT, next, i, 1, MPI_INT, win);
        MPI_Win_flush(next, win);
        if (got != next * 1000 + phase + i) fail("word", phase, i);
      }
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    compute(0.05);
  }
  MPI_Win_free(&win);
  if (rank == 0) printf("%d phases of %d messages: right\n", phases, receives);
  MPI_Finalize();
  return 0;
}
