/* Sizes and numbers beyond what a cache can hold: a plain get must come of it, never a wrong byte.
 */
#include <sys/resource.h>

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

/* The last pages of the address space are taken while the program goes on. The MPI library works on
 * with what it has; a cache can get nothing more, or, `early`, nothing at all. */
static void without_memory(int early) {
  enum { BYTES = 1 << 20, GETS = 3000 };
  const int last = ranks - 1;
  unsigned char* memory;
  unsigned char* buffer = malloc(BYTES);
  MPI_Win win;
  MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (size_t i = 0; i < BYTES; ++i) memory[i] = pattern(my_rank, i);
  MPI_Datatype spread;
  MPI_Type_vector(50, 1, 3, MPI_BYTE, &spread);
  MPI_Type_commit(&spread);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  struct rlimit all;
  struct rlimit little;
  getrlimit(RLIMIT_AS, &all);
  if (my_rank == 0) {
    /* What the library needs for gets of this kind, it has afterwards. */
    MPI_Get(buffer, BYTES, MPI_BYTE, last, 0, BYTES, MPI_BYTE, win);
    unsigned char own[150];
    MPI_Get(own, 150, MPI_BYTE, 0, 0, 150, MPI_BYTE, win);
    MPI_Win_flush_all(win);
    for (int i = 0; i < 100 && !early; ++i) {
      MPI_Get(buffer, 50, MPI_BYTE, last, i * 200, 1, spread, win);
      MPI_Get(buffer + 50, 300, MPI_BYTE, last, i * 300, 300, MPI_BYTE, win);
      MPI_Win_flush(last, win);
    }
    little = all;
    little.rlim_cur = 4096;
    setrlimit(RLIMIT_AS, &little);
    void* rest = NULL; /* nor is any left that was freed before */
    for (size_t size = 1 << 20; size >= 64;) {
      void** piece = malloc(size);
      if (piece) {
        *piece = rest;
        rest = piece;
      } else {
        size /= 2;
      }
    }
    int good = 0;
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < GETS; ++i) {
        const size_t from = (size_t)i * 311 % (BYTES - 4096);
        const int size = 1 + i * 37 % 4096;
        memset(buffer, 0xee, (size_t)size);
        MPI_Get(buffer, size, MPI_BYTE, last, (MPI_Aint)from, size, MPI_BYTE, win);
        MPI_Get(buffer + 8192, size, MPI_BYTE, last, (MPI_Aint)from, size, MPI_BYTE, win);
        MPI_Win_flush(last, win);
        good +=
            same(buffer, last, from, (size_t)size) && same(buffer + 8192, last, from, (size_t)size);
      }
    }
    while (rest) {
      void* next = *(void**)rest;
      free(rest);
      rest = next;
    }
    setrlimit(RLIMIT_AS, &all);
    expect(good == 2 * GETS, "without memory: %d of %d gets are right", good, 2 * GETS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  MPI_Type_free(&spread);
  MPI_Win_free(&win);
  free(buffer);
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
    /* The same with requests, in the order of issue and in the other. */
    MPI_Request* requests = malloc(PENDING * sizeof *requests);
    for (int round = 0; round < 2; ++round) {
      memset(buffer, 0xee, BYTES);
      for (size_t i = 0; i < PENDING; ++i)
        MPI_Rget(buffer + i * 16, 16, MPI_BYTE, last, (MPI_Aint)(i * 40 % (BYTES - 16)), 16,
                 MPI_BYTE, win, &requests[round == 0 ? i : PENDING - 1 - i]);
      MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE);
      for (size_t i = 0; i < PENDING; ++i)
        expect(same(buffer + i * 16, last, i * 40 % (BYTES - 16), 16),
               "pending get with request %zu of round %d", i, round);
    }
    free(requests);
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

  without_memory(1);
  without_memory(0);
  return finish();
}
