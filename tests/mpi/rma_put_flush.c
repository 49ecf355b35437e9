/* A put that was flushed is at its target: another process, told by a message, gets what was put.
 * Over libfabric's tcp MPICH itself does not see to it (setting complete_puts). 3 ranks. Said at
 * the end: whether Hob changed what the provider does. */
#include "rma_check.h"

enum { ROUNDS = 400, PLACES = 16 };

static void complete(MPI_Win win, int with_lock) {
  if (with_lock)
    MPI_Win_unlock(1, win);
  else
    MPI_Win_flush(1, win);
}

static long old_values(int with_lock) {
  long *memory, old = 0, token = 0;
  MPI_Win win;
  MPI_Win_allocate(PLACES * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  memset(memory, 0, PLACES * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  if (!with_lock) MPI_Win_lock_all(0, win);
  for (long round = 1; round <= ROUNDS; round++) {
    const int place = (int)(round % PLACES);
    if (my_rank == 0) {
      if (with_lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      MPI_Put(&round, 1, MPI_LONG, 1, place, 1, MPI_LONG, win);
      complete(win, with_lock);
      MPI_Send(&round, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (my_rank == 2) {
      long value = -1;
      MPI_Recv(&token, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (with_lock) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      MPI_Get(&value, 1, MPI_LONG, 1, place, 1, MPI_LONG, win);
      complete(win, with_lock);
      old += value != round;
      MPI_Send(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (!with_lock) MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  return old;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int with_lock = 0; with_lock < 2; with_lock++) {
    const long old = old_values(with_lock);
    expect(old == 0, "%ld of %d gets behind a put and %s are old", old, ROUNDS,
           with_lock ? "an unlock" : "a flush");
  }
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) puts(all ? "FAIL" : "PASS");
  MPI_Finalize();
  return all != 0;
}
