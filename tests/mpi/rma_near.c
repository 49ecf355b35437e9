/* Bytes that are read once, from a rank whose memory is as near as one's own: no blocks are
 * fetched around them, neither before nor after they are timed. */
#include "rma_check.h"

enum { PIECE = 4096, PIECES = 500, ROUNDS = 40 };

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

static unsigned long long counter(const char* name) {
  unsigned long long value = 0;
  if (HOB_Counter) HOB_Counter(name, &value);
  return value;
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  char* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)PIECE * PIECES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < PIECES; i++) memset(memory + (size_t)i * PIECE, i % 100, PIECE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (my_rank == 0) {
    static char bytes[PIECE];
    for (int round = 0; round < ROUNDS; round++) {
      MPI_Win_sync(win);
      for (int i = 0; i < PIECES; i++) {
        MPI_Get(bytes, PIECE, MPI_BYTE, 1, (MPI_Aint)i * PIECE, PIECE, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        expect(bytes[0] == i % 100 && bytes[PIECE - 1] == i % 100, "piece %d: %d, %d", i, bytes[0],
               bytes[PIECE - 1]);
      }
    }
    expect(counter("ahead_gets") <= 1, "%llu gets of blocks", counter("ahead_gets"));
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
