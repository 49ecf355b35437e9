/* Programs that do not end in MPI_Finalize: none may hang.
 *   rma_end abort   rank 1 calls MPI_Abort with gets pending
 *   rma_end exit    every rank leaves without MPI_Finalize (the launcher says so)
 *   rma_end error   an erroneous call under MPI_ERRORS_ARE_FATAL
 */
#include "rma_check.h"

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
  if (strcmp(how, "abort") == 0 && my_rank == 1) MPI_Abort(MPI_COMM_WORLD, 5);
  if (strcmp(how, "error") == 0 && my_rank == 1)
    MPI_Get(&values[0], 1, MPI_INT, ranks + 7, 0, 1, MPI_INT, win);
  if (strcmp(how, "exit") == 0) exit(4);
  MPI_Barrier(MPI_COMM_WORLD);
  sleep(60);
  return 0;
}
