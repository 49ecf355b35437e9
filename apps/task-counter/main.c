/* Tasks handed out by a counter in the memory of rank 0, as load balancers of one-sided codes do
   it. Rank 0 computes as well: who takes a task waits until rank 0 comes to MPI again, unless
   somebody does the work for it. A task is a loop that looks at the clock. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end) continue;
}

/* Takes tasks until there are none; returns how many it was. */
static long work(MPI_Win win, long tasks, double each) {
  const long one = 1;
  long done = 0, next = 0;
  for (;;) {
    MPI_Fetch_and_op(&one, &next, MPI_LONG, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    if (next >= tasks) return done;
    compute(each);
    ++done;
  }
}

int main(int argc, char** argv) {
  if (argc != 3 && !(argc == 4 && strcmp(argv[3], "attentive") == 0)) {
    fputs(
        "usage: task-counter TASKS MICROSECONDS [attentive]\n"
        "  TASKS         in all\n"
        "  MICROSECONDS  of a task\n"
        "  attentive     rank 0 takes none, and waits inside MPI\n",
        stderr);
    return 2;
  }
  const long tasks = atol(argv[1]);
  const double each = 1e-6 * atof(argv[2]);
  const int attentive = argc == 4;
  int rank = 0, size = 0;
  long *counter = NULL, done = 0, all = 0;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &win);
  MPI_Win_lock_all(0, win);
  *counter = 0;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank != 0 || !attentive) done = work(win, tasks, each);
  MPI_Barrier(MPI_COMM_WORLD);
  const double took = MPI_Wtime() - start;
  MPI_Win_unlock_all(win);
  MPI_Allreduce(&done, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("{\"tasks\": %ld, \"seconds\": %.6f, \"ideal_seconds\": %.6f}\n", all, took,
           (double)tasks * each / (attentive ? size - 1 : size));
  MPI_Win_free(&win);
  MPI_Finalize();
  return all == tasks ? 0 : 1;
}
