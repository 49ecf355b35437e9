/* What caches of remote gets have got wrong: one function for each. Every value is determined by
 * MPI. */
#include <stdint.h>

#include "rma_check.h"

static int last; /* the rank whose memory is read */

static MPI_Win make(size_t bytes, int unit, void* base, MPI_Info info) {
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)bytes, unit, info, MPI_COMM_WORLD, base, &win);
  memset(*(void**)base, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  return win;
}

static int get_int(MPI_Win win, int rank, int at) {
  int value = -1;
  MPI_Get(&value, 1, MPI_INT, rank, at, 1, MPI_INT, win);
  MPI_Win_flush(rank, win);
  return value;
}

/* The owner stores with a lock of its own memory; others know after the barrier. */
static void owner_stores(MPI_Win win, int* memory, int at, int value) {
  if (my_rank == last) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    memory[at] = value;
    MPI_Win_unlock(last, win);
  }
}

/* An info value is a string, wherever it is stored. */
static void info_values(void) {
  int* memory;
  MPI_Info info;
  char key[] = "hob_cache";
  char value[] = "strict";
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  memset(value, 'x', sizeof value - 1);
  MPI_Win win = make(64, 4, &memory, info);
  MPI_Info_free(&info);
  for (int round = 1; round < 4; ++round) {
    owner_stores(win, memory, 0, round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
      const int got = get_int(win, last, 0);
      expect(got == round, "info: got %d, not %d", got, round);
      MPI_Win_unlock(last, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
}

/* Fence, unlock and flush_all end what a copy is good for, when somebody has written in between. */
static void fence_and_unlock(void) {
  int* memory;
  MPI_Win win = make(64, 4, &memory, MPI_INFO_NULL);
  int got = -1;
  for (int round = 1; round < 5; ++round) {
    MPI_Win_fence(0, win);
    if (my_rank == last) memory[1] = round;
    MPI_Win_fence(0, win);
    if (my_rank == 0) MPI_Get(&got, 1, MPI_INT, last, 1, 1, MPI_INT, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    if (my_rank == 0) expect(got == round, "fence: got %d, not %d", got, round);
  }
  for (int round = 1; round < 5; ++round) {
    owner_stores(win, memory, 2, round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
      MPI_Get(&got, 1, MPI_INT, last, 2, 1, MPI_INT, win);
      MPI_Win_unlock(last, win);
      expect(got == round, "unlock: got %d, not %d", got, round);
      MPI_Win_lock_all(0, win);
      MPI_Get(&got, 1, MPI_INT, last, 2, 1, MPI_INT, win);
      MPI_Win_flush_all(win);
      expect(got == round, "flush_all: got %d, not %d", got, round);
      MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
}

/* 1,024 cells that say whose they are and which: rank * 10000 + cell. */
static MPI_Win make_numbered(void) {
  int* memory;
  MPI_Win win = make(4096, 4, &memory, MPI_INFO_NULL);
  for (int i = 0; i < 1024; ++i) memory[i] = my_rank * 10000 + i;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  return win;
}

/* flush(r) completes only what goes to r: a get of another rank is still under way, and its buffer
 * must hold the value after its own flush, and a copy must not be made from it before. */
static void flush_of_one_target(void) {
  MPI_Win win = make_numbered();
  if (my_rank == 0) {
    int here[1024];
    int there[1024];
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 20; ++round) {
      memset(there, 0xff, sizeof there);
      MPI_Get(there, 1024, MPI_INT, last, 0, 1024, MPI_INT, win);
      MPI_Get(here, 16, MPI_INT, 0, round, 16, MPI_INT, win);
      MPI_Win_flush(0, win);
      expect(here[3] == round + 3, "flush(0): got %d, not %d", here[3], round + 3);
      MPI_Win_flush(last, win);
      for (int i = 0; i < 1024; ++i)
        expect(there[i] == last * 10000 + i, "flush(%d): cell %d is %d", last, i, there[i]);
    }
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* Two datatypes of one extent and one size that name different bytes; and a handle used again. */
static void datatypes_of_one_extent(void) {
  MPI_Win win = make_numbered();
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 30; ++round) {
      /* 3 elements out of 7, the first and the last always among them. */
      const int middle = 1 + round % 5;
      const int lengths[3] = {1, 1, 1};
      const int places[3] = {0, middle, 6};
      int got[3] = {-1, -1, -1};
      MPI_Datatype type;
      MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
      MPI_Type_commit(&type);
      MPI_Get(got, 3, MPI_INT, last, 8, 1, type, win);
      MPI_Type_free(&type);
      MPI_Win_flush(last, win);
      expect(got[1] == last * 10000 + 8 + middle && got[2] == last * 10000 + 14,
             "datatypes: got %d and %d with the middle at %d", got[1], got[2], middle);
      /* As the user's side: the gaps stay what they were. */
      int spread[8];
      memset(spread, 0x5a, sizeof spread);
      MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
      MPI_Type_commit(&type);
      MPI_Get(spread, 1, type, last, 30, 3, MPI_INT, win);
      MPI_Type_free(&type);
      MPI_Win_flush(last, win);
      for (int i = 0; i < 8; ++i) {
        const int from = i == 0 ? 30 : i == middle ? 31 : i == 6 ? 32 : -1;
        expect(from < 0 ? spread[i] == 0x5a5a5a5a : spread[i] == last * 10000 + from,
               "datatypes: element %d of the user's buffer is %d", i, spread[i]);
      }
    }
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* Displacements whose low 32 bits are the same. */
static void beyond_4_gib(void) {
  const size_t bytes = (size_t)9 << 30;
  char* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  int have = memory != MAP_FAILED;
  MPI_Allreduce(MPI_IN_PLACE, &have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!have) return;
  for (int i = 0; i < 3; ++i) memory[((size_t)i << 32) + 64] = (char)(my_rank * 16 + i + 1);
  for (int unit = 1; unit <= 8; unit *= 8) {
    MPI_Win win;
    MPI_Win_create(memory, (MPI_Aint)bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 3 && my_rank == 0; ++round) {
      for (int i = 0; i < 3; ++i) {
        char got = 0;
        MPI_Get(&got, 1, MPI_CHAR, last, (MPI_Aint)((((size_t)i << 32) + 64) / (size_t)unit), 1,
                MPI_CHAR, win);
        MPI_Win_flush(last, win);
        expect(got == last * 16 + i + 1, "displacement %d x 4 GiB: got %d", i, got);
      }
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  munmap(memory, bytes);
}

/* The user's buffer is the user's again once the get is complete. */
static void reused_buffer(void) {
  MPI_Win win = make_numbered();
  if (my_rank == 0) {
    for (int kind = 0; kind < 5; ++kind) {
      for (int round = 0; round < 4; ++round) {
        int buffer[8];
        MPI_Request request = MPI_REQUEST_NULL;
        if (kind != 4)
          MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
        else
          MPI_Win_lock_all(0, win);
        if (kind == 2 || kind == 3)
          MPI_Rget(buffer, 8, MPI_INT, last, 40, 8, MPI_INT, win, &request);
        else
          MPI_Get(buffer, 8, MPI_INT, last, 40, 8, MPI_INT, win);
        if (kind == 1) MPI_Win_flush_local(last, win);
        if (kind == 2) MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (kind == 0) {
          MPI_Win_unlock(last, win);
          MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
        }
        if (kind == 3) {
          MPI_Win_flush(last, win);
        }
        if (kind == 4) MPI_Win_flush_all(win);
        expect(buffer[2] == last * 10000 + 42, "buffer, kind %d: got %d", kind, buffer[2]);
        memset(buffer, 0x77, sizeof buffer);
        if (kind == 3) MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect(buffer[2] == 0x77777777, "buffer, kind %d: written again after completion", kind);
        int again[8] = {0};
        MPI_Get(again, 8, MPI_INT, last, 40, 8, MPI_INT, win);
        MPI_Win_flush(last, win);
        expect(again[2] == last * 10000 + 42,
               "buffer, kind %d: what the user wrote came back as data: %d", kind, again[2]);
        if (kind != 4)
          MPI_Win_unlock(last, win);
        else
          MPI_Win_unlock_all(win);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* Many pending gets, at a regular stride, more than once. */
static void many_at_a_stride(void) {
  enum { KEYS = 1000, STRIDE = 16 };
  int* memory;
  int* got = malloc(KEYS * sizeof(int));
  MPI_Win win = make(KEYS * STRIDE * sizeof(int), 4, &memory, MPI_INFO_NULL);
  for (int i = 0; i < KEYS * STRIDE; ++i) memory[i] = my_rank + 3 * i;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 5; ++round) {
      memset(got, 0xff, KEYS * sizeof(int));
      for (int i = 0; i < KEYS; ++i)
        MPI_Get(&got[i], 1, MPI_INT, last, i * STRIDE, 1, MPI_INT, win);
      MPI_Win_flush(last, win);
      for (int i = 0; i < KEYS; ++i)
        expect(got[i] == last + 3 * i * STRIDE, "stride: key %d is %d", i, got[i]);
    }
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  free(got);
}

/* Displacement units that differ from rank to rank. */
static void units_that_differ(void) {
  int memory[64];
  MPI_Win win;
  for (int i = 0; i < 64; ++i) memory[i] = my_rank * 1000 + i;
  MPI_Win_create(memory, sizeof memory, my_rank == last ? 8 : 4, MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < 4 && my_rank == 0; ++round) {
    for (int r = 0; r < ranks; ++r) {
      const int got = get_int(win, r, 5);
      const int place = r == last ? 10 : 5;
      expect(got == r * 1000 + place, "units: rank %d displacement 5 is %d", r, got);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* A get that is under way across an acquire read at an unknown moment: it must not serve later
 * ones. */
static void pending_across_an_acquire(void) {
  int* memory;
  MPI_Win win = make(64, 4, &memory, MPI_INFO_NULL);
  MPI_Win_lock_all(0, win);
  for (int round = 1; round < 20; ++round) {
    if (my_rank == 0) {
      int early = -1;
      int value = -1;
      MPI_Get(&early, 1, MPI_INT, last, 7, 1, MPI_INT, win);
      MPI_Send(NULL, 0, MPI_INT, last, 9, MPI_COMM_WORLD);
      MPI_Recv(NULL, 0, MPI_INT, last, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Get(&value, 1, MPI_INT, last, 7, 1, MPI_INT, win);
      MPI_Win_flush(last, win);
      expect(value == round, "pending: %d after learning of %d", value, round);
      value = get_int(win, last, 7);
      expect(value == round, "pending, again: %d after learning of %d", value, round);
    } else if (my_rank == last) {
      MPI_Recv(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Win_sync(win);
      *(volatile int*)&memory[7] = round;
      MPI_Win_sync(win);
      MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* Own writes are read back. */
static void own_writes(void) {
  int* memory;
  MPI_Win win = make(256, 4, &memory, MPI_INFO_NULL);
  MPI_Win_lock_all(0, win);
  for (int round = 1; round < 10 && my_rank == 0; ++round) {
    int old = -1;
    const int one = 1;
    int value = round * 100;
    (void)get_int(win, last, 3);
    MPI_Put(&value, 1, MPI_INT, last, 3, 1, MPI_INT, win);
    MPI_Win_flush(last, win);
    int got = get_int(win, last, 3);
    expect(got == value, "put: got %d, not %d", got, value);
    MPI_Accumulate(&one, 1, MPI_INT, last, 3, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(last, win);
    got = get_int(win, last, 3);
    expect(got == value + 1, "accumulate: got %d, not %d", got, value + 1);
    MPI_Fetch_and_op(&one, &old, MPI_INT, last, 3, MPI_SUM, win);
    MPI_Win_flush(last, win);
    got = get_int(win, last, 3);
    expect(old == value + 1 && got == value + 2, "fetch_and_op: %d and %d, not %d", old, got,
           value + 2);
    int compare = value + 2;
    value = -round;
    MPI_Compare_and_swap(&value, &compare, &old, MPI_INT, last, 3, win);
    MPI_Win_flush(last, win);
    got = get_int(win, last, 3);
    expect(got == value, "compare_and_swap: got %d, not %d", got, value);
    value = round * 7;
    MPI_Get_accumulate(&value, 1, MPI_INT, &old, 1, MPI_INT, last, 3, 1, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush(last, win);
    got = get_int(win, last, 3);
    expect(got == value, "get_accumulate: got %d, not %d", got, value);
    MPI_Request request;
    value = round * 9;
    MPI_Rput(&value, 1, MPI_INT, last, 3, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_flush(last, win);
    got = get_int(win, last, 3);
    expect(got == value, "rput: got %d, not %d", got, value);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* A get in an exclusive lock is the start of a read-modify-write. */
static void counter_under_locks(void) {
  enum { TIMES = 30 };
  int* memory;
  MPI_Win win = make(64, 4, &memory, MPI_INFO_NULL);
  for (int i = 0; i < TIMES; ++i) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, win);
    int value = get_int(win, last, 1);
    ++value;
    MPI_Put(&value, 1, MPI_INT, last, 1, 1, MPI_INT, win);
    MPI_Win_unlock(last, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
  const int got = get_int(win, last, 1);
  expect(got == TIMES * ranks, "counter: %d, not %d", got, TIMES * ranks);
  MPI_Win_unlock(last, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* A window made where another was freed, with the same handle and memory. */
static void window_after_window(void) {
  for (int round = 0; round < 20; ++round) {
    int* memory;
    MPI_Win win = make(256, 4, &memory, MPI_INFO_NULL);
    memory[9] = round * 100 + my_rank;
    MPI_Win_fence(0, win);
    int got[2] = {-1, -1};
    if (my_rank == 0) MPI_Get(&got[0], 1, MPI_INT, last, 9, 1, MPI_INT, win);
    if (my_rank == 0) MPI_Get(&got[1], 1, MPI_INT, last, 9, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (my_rank == 0)
      expect(got[0] == round * 100 + last && got[1] == got[0], "window %d: got %d and %d", round,
             got[0], got[1]);
    MPI_Win_free(&win);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  last = ranks - 1;
  info_values();
  fence_and_unlock();
  flush_of_one_target();
  datatypes_of_one_extent();
  if (argc < 2 || strcmp(argv[1], "--small") != 0) beyond_4_gib();
  reused_buffer();
  many_at_a_stride();
  units_that_differ();
  pending_across_an_acquire();
  own_writes();
  counter_under_locks();
  window_after_window();
  return finish();
}
