/* Any job of which only some ranks may have Hob: window, messages, communicators. 2 ranks. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(60);
  int* memory;
  MPI_Win win;
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, other, &memory, &win);
  for (int i = 0; i < 100; ++i) memory[i] = 100 * rank + i;
  MPI_Barrier(other);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 100; ++i) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, i % 7, 1, MPI_INT, win);
    MPI_Win_flush_all(win);
    CHECK(got == 100 * ((rank + 1) % size) + i % 7, "%d", got);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&other);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
