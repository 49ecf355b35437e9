/* A rank that lives on hits still lets others' operations on its memory advance: rank 1 fetches
 * from rank 0, which does nothing but gets that are served from its cache until rank 1 has all. */
#include "rma_check.h"

enum { CELLS = 16, MOST = 1 << 20, ROUNDS = 8, DONE = 0, STARTED = 1 };
/* Far more hits than rank 1's gets take; without progress there is no number that is enough. */
enum { PATIENCE = 50 * 1000 * 1000 };

static char* memory;
static MPI_Win win;

static void live_on_hits(void) {
  long hits = 0;
  for (; outside[DONE] == 0 && hits < PATIENCE; hits++) {
    int value = -1;
    const int cell = (int)(hits % CELLS);
    MPI_Get(&value, 1, MPI_INT, 1, cell * (int)sizeof value, 1, MPI_INT, win);
    MPI_Win_flush(1, win);
    if (value != 1000 + cell) expect(0, "cell %d is %d", cell, value);
    if (hits == 10 * CELLS) reach(STARTED, 1);
  }
  expect(outside[DONE] != 0, "rank 1 did not get its bytes meanwhile");
}

static void fetch(void) {
  static char bytes[MOST];
  await_in_mpi(STARTED, 1);
  for (int size = 8; size <= MOST; size *= 8) {
    for (int round = 0; round < ROUNDS; round++) {
      memset(bytes, 0, (size_t)size);
      MPI_Get(bytes, size, MPI_BYTE, 0, 0, size, MPI_BYTE, win);
      MPI_Win_flush(0, win);
      expect(bytes[0] == 7 && bytes[size - 1] == 7, "%d bytes: %d, %d", size, bytes[0],
             bytes[size - 1]);
    }
  }
  reach(DONE, 1);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win_allocate(MOST, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 7, MOST);
  if (my_rank == 1)
    for (int i = 0; i < CELLS; i++) ((int*)(void*)memory)[i] = 1000 + i;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (my_rank == 0) live_on_hits();
  if (my_rank == 1) fetch();
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
