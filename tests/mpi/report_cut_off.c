/* A program that may not reach MPI_Finalize: it gets, or accumulates, until the file of its report
 * is there, and then ends as its argument says: kill, exit, abort, finish. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 512 };

int main(int argc, char** argv) {
  const char* end = argc > 2 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  double* memory;
  MPI_Win window;
  MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  memset(memory, 0, WORDS * sizeof *memory);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  int written = strcmp(end, "kill") != 0 && strcmp(end, "finish") != 0;
  for (int round = 0; round < 100000; ++round) {
    double word[4];
    if (strcmp(end, "finish") == 0)
      MPI_Accumulate(&(double){1}, 1, MPI_DOUBLE, (rank + 1) % ranks, 0, 1, MPI_DOUBLE, MPI_SUM,
                     window);
    for (int i = 0; i < 4; ++i)
      MPI_Get(&word[i], 1, MPI_DOUBLE, (rank + 1) % ranks, (17 * round + i) % WORDS, 1, MPI_DOUBLE,
              window);
    MPI_Win_flush_all(window);
    if (!written && access(argv[2], R_OK) == 0) written = 1;
    /* Rank 0 is the one that writes; the others must not be gone before. */
    int all = written && round >= 100;
    MPI_Bcast(&all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (all) break;
    usleep(200);
  }
  if (strcmp(end, "kill") == 0) raise(SIGKILL);
  /* Another one's end would be rank 0's, before it has written. */
  if (rank != 0 && strcmp(end, "finish") != 0) sleep(3);
  if (strcmp(end, "exit") == 0) exit(3);
  if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 4);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
