/* A program that was compiled with gcc -fsanitize=address: its runtime wants to be loaded first. 2
 * ranks. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(60);
  int* mine = calloc(100, sizeof(int));
  for (int i = 0; i < 100; ++i) mine[i] = 100 * rank + i;
  MPI_Win win;
  MPI_Win_create(mine, 100 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 100; ++i) {
    int* one = malloc(sizeof(int));
    MPI_Get(one, 1, MPI_INT, (rank + 1) % size, i % 10, 1, MPI_INT, win);
    MPI_Win_flush_all(win);
    CHECK(*one == 100 * ((rank + 1) % size) + i % 10, "%d", *one);
    free(one);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(mine);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
