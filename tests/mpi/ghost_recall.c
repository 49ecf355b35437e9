// Places that rank 0 reads in each iteration, by requests, through the ghost of rank 1, whose bytes
// rank 1 writes anew before each. The report tells how many operations the ghost was given
// (--counts of ghost_run.py): those that are read again come with one get.
#include "ghost_check.h"

enum { places = 200, iterations = 20, words = 1 << 16 };

int main(int argc, char** argv) {
  int rank;
  long* memory;
  MPI_Win win;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(words * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  for (long i = 1; i <= iterations; ++i) {
    if (rank == 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      for (int word = 0; word < words; ++word) memory[word] = i * words + word;
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      for (int k = 0; k < places; ++k) {
        const int word = k * 7919 % words;
        long got = -1;
        MPI_Request request;
        MPI_Rget(&got, 1, MPI_LONG, 1, word, 1, MPI_LONG, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(got == i * words + word);
      }
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
  return check_finish();
}
