/* A program that may not reach MPI_Finalize: it gets, or accumulates, until the file of its report
 * is there, and then ends as its argument says: kill, exit, abort, finish. Or it does nothing but
 * barriers, sums or exchanges until then (barrier, allreduce, sendrecv). A third argument: so many
 * rounds at most, where no such file is written before MPI_Finalize. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 512 };

/* Nothing but one kind of call, until the file is there: then rank 0 is killed. */
static void repeat(const char* call, const char* file) {
  int rank, ranks, one = 1, other;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < 100000; ++round) {
    if (strcmp(call, "barrier") == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(call, "allreduce") == 0)
      MPI_Allreduce(&one, &other, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(call, "sendrecv") == 0)
      MPI_Sendrecv(&one, 1, MPI_INT, (rank + 1) % ranks, 0, &other, 1, MPI_INT,
                   (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0 && access(file, R_OK) == 0) raise(SIGKILL);
    usleep(200);
  }
}

int main(int argc, char** argv) {
  const char* end = argc > 2 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(end, "barrier") == 0 || strcmp(end, "allreduce") == 0 || strcmp(end, "sendrecv") == 0)
    repeat(end, argv[2]);
  double* memory;
  MPI_Win window;
  MPI_Win_allocate(WORDS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &window);
  memset(memory, 0, WORDS * sizeof *memory);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  const int rounds = argc > 3 ? atoi(argv[3]) : 100000;
  int written = strcmp(end, "kill") != 0 && strcmp(end, "finish") != 0;
  for (int round = 0; round < rounds; ++round) {
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
  if (rank != 0 && strcmp(end, "finish") != 0) {
    alarm(60);
    for (;;) pause(); /* until the launcher ends it because of rank 0 */
  }
  if (strcmp(end, "exit") == 0) exit(3);
  if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 4);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
