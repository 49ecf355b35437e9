/* What the library finds wrong with an argument, it finds where the bytes are in a cache, too. */
#include "rma_check.h"

static int error_class(int error) {
  int result = 0;
  MPI_Error_class(error, &result);
  return result;
}

int main(int argc, char** argv) {
  int* memory;
  MPI_Win win;
  begin(&argc, &argv);
  MPI_Win_allocate(64 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < 64; i++) memory[i] = 100 * my_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    int got = -1, again = -1;
    MPI_Datatype type;
    MPI_Win_lock_all(0, win);
    MPI_Get(&got, 1, MPI_INT, 1, 3, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
    MPI_Type_contiguous(1, MPI_INT, &type);
    const int uncommitted =
        error_class(MPI_Get(&again, 1, type, 1, 3, 1, type, win)) == MPI_ERR_TYPE;
    printf("uncommitted: %s\n", uncommitted ? "an error of the type" : "no error of the type");
    MPI_Type_commit(&type);
    for (int i = 0; i < 3; i++) {
      again = -1;
      expect(MPI_Get(&again, 1, type, 1, 3, 1, type, win) == MPI_SUCCESS, "committed");
      MPI_Win_flush(1, win);
      expect(again == 103, "committed: %d", again);
    }
    MPI_Type_free(&type);
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
