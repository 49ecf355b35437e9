/* Programs that do not end in MPI_Finalize: none may hang.
 *   rma_end abort   rank 1 calls MPI_Abort with gets pending
 *   rma_end exit    every rank leaves without MPI_Finalize (the launcher says so)
 *   rma_end error   an erroneous call under MPI_ERRORS_ARE_FATAL
 *
 * The launcher ends the other ranks. MPICH 5's does not in one of some 40 runs, without Hob too:
 * they then end themselves, with the same status. The rank that ended the program must not need
 * this.
 */
#include <signal.h>

#include "rma_check.h"

static int status;

static void leave(int signal_number) {
  (void)signal_number;
  _exit(status);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  int values[16];
  for (int i = 0; i < 16; ++i) MPI_Get(&values[i], 1, MPI_INT, ranks - 1, i, 1, MPI_INT, win);
  MPI_Win_flush_all(win);
  MPI_Get(&values[0], 1, MPI_INT, ranks - 1, 3, 1, MPI_INT, win);
  MPI_Barrier(MPI_COMM_WORLD);
  const char* how = argc > 1 ? argv[1] : "abort";
  status = strcmp(how, "abort") == 0 ? 5 : MPI_ERR_RANK;
  if (my_rank != 1) {
    signal(SIGALRM, leave);
    alarm(10);
  }
  if (strcmp(how, "abort") == 0 && my_rank == 1) MPI_Abort(MPI_COMM_WORLD, status);
  if (strcmp(how, "error") == 0 && my_rank == 1)
    MPI_Get(&values[0], 1, MPI_INT, ranks + 7, 0, 1, MPI_INT, win);
  if (strcmp(how, "exit") == 0) exit(4);
  MPI_Barrier(MPI_COMM_WORLD);
  sleep(60);
  return 0;
}
