/* A shared library whose constructor calls MPI_Init (and whose destructor calls MPI_Finalize).
 * Build the library with -DLIBRARY -shared -fPIC and link the program with it. 2 ranks. */
#include "check.h"

#ifdef LIBRARY
int library_is_there;
__attribute__((constructor)) static void begin(void) {
  MPI_Init(0, 0);
  library_is_there = 1;
}
__attribute__((destructor)) static void end(void) {
  int over = 0;
  MPI_Finalized(&over);
  if (!over) MPI_Finalize();
}
static int unused(void) {
  watch(0);
  CHECK(1, "%d", size);
  return verdict();
}
int library_name(void) { return library_is_there ? 1 : unused(); }
#else
int library_name(void);

int main(void) {
  watch(30);
  CHECK(library_name() == 1, "not loaded");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 100; ++i) memory[i] = 100 * rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 100; ++i) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, i % 7, 1, MPI_INT, win);
    MPI_Win_flush_all(win);
    CHECK(got == 100 * ((rank + 1) % size) + i % 7, "%d", got);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  return verdict();
}
#endif
