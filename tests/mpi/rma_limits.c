/* Sizes and numbers beyond what a cache can hold: a plain get must come of it, never a wrong byte.
 */
#include "rma_check.h"

static unsigned char pattern(int rank, size_t i) {
  return (unsigned char)(rank * 31 + i * 7 + (i >> 8) * 13);
}

static int same(const unsigned char* bytes, int rank, size_t from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != pattern(rank, from + i)) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  enum { BYTES = 4 << 20, PENDING = 100000 };
  begin(&argc, &argv);
  const int last = ranks - 1;
  unsigned char* memory;
  MPI_Win win;
  MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (size_t i = 0; i < BYTES; ++i) memory[i] = pattern(my_rank, i);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (my_rank == 0) {
    unsigned char* buffer = malloc(BYTES);
    /* Larger than the cache, whole and in part, twice. */
    for (int round = 0; round < 2; ++round) {
      memset(buffer, 0xee, BYTES);
      MPI_Get(buffer, BYTES, MPI_BYTE, last, 0, BYTES, MPI_BYTE, win);
      MPI_Win_flush(last, win);
      expect(same(buffer, last, 0, BYTES), "the whole window, round %d", round);
      MPI_Get(buffer, BYTES - 12345, MPI_BYTE, last, 12345, BYTES - 12345, MPI_BYTE, win);
      MPI_Win_flush(last, win);
      expect(same(buffer, last, 12345, BYTES - 12345), "most of the window, round %d", round);
    }
    /* As many pending in one epoch as somebody might think of. */
    for (int round = 0; round < 2; ++round) {
      memset(buffer, 0xee, BYTES);
      for (size_t i = 0; i < PENDING; ++i)
        MPI_Get(buffer + i * 16, 16, MPI_BYTE, last, (MPI_Aint)(i * 24 % (BYTES - 16)), 16,
                MPI_BYTE, win);
      MPI_Win_flush_all(win);
      for (size_t i = 0; i < PENDING; ++i)
        expect(same(buffer + i * 16, last, i * 24 % (BYTES - 16), 16),
               "pending get %zu of round %d", i, round);
    }
    /* Growing pieces of one place: extended again and again. */
    for (int size = 1; size < 70000; size = size * 3 / 2 + 1) {
      memset(buffer, 0xee, (size_t)size + 1);
      MPI_Get(buffer, size, MPI_BYTE, last, 777, size, MPI_BYTE, win);
      MPI_Win_flush(last, win);
      expect(same(buffer, last, 777, (size_t)size) && buffer[size] == 0xee, "%d bytes of one place",
             size);
    }
    /* Nothing at all. */
    buffer[0] = 0x11;
    MPI_Get(buffer, 0, MPI_BYTE, last, 0, 0, MPI_BYTE, win);
    MPI_Get(NULL, 0, MPI_BYTE, last, BYTES, 0, MPI_BYTE, win);
    MPI_Get(buffer, 10, MPI_BYTE, MPI_PROC_NULL, 0, 10, MPI_BYTE, win);
    MPI_Win_flush(last, win);
    expect(buffer[0] == 0x11, "an empty get wrote");
    /* Still under way at the end of the epoch, and never looked at. */
    for (int i = 0; i < 50; ++i) MPI_Get(buffer + i, 1, MPI_BYTE, last, i, 1, MPI_BYTE, win);
    MPI_Win_unlock_all(win);
    free(buffer);
  } else {
    MPI_Win_unlock_all(win);
  }
  MPI_Win_free(&win);

  /* More windows than fingers, all alive. */
  enum { WINDOWS = 40 };
  MPI_Win wins[WINDOWS];
  int* cells[WINDOWS];
  for (int w = 0; w < WINDOWS; ++w) {
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &cells[w], &wins[w]);
    cells[w][0] = w * 10 + my_rank;
  }
  for (int w = 0; w < WINDOWS; ++w) {
    int got = -1;
    MPI_Win_fence(0, wins[w]);
    MPI_Get(&got, 1, MPI_INT, last, 0, 1, MPI_INT, wins[w]);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[w]);
    expect(got == w * 10 + last, "window %d: %d", w, got);
  }
  for (int w = WINDOWS - 1; w >= 0; --w) MPI_Win_free(&wins[w]);
  return finish();
}
