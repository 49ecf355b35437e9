/* Windows that share their first and last pages with other data, which change in every step: copies
 * of what nobody wrote outlive barriers there, too, those of the shared pages included, and none is
 * old: also where the same bytes are there in every barrier, and others were read in between. Where
 * counters are looked at (see rma_validate.c), what was kept is not fetched. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

static int counting;
static MPI_Win win;
static unsigned char* memory; /* of the window; other data before and behind it */
static int bytes;
static int other_data; /* whether there are some */
static unsigned char* expected;
static unsigned version;

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter(name, &count);
  return count;
}

/* Other data on the pages of the window. */
static void disturb(void) {
  version++;
  if (other_data && my_rank == 1) {
    memory[-1] = (unsigned char)version;
    memory[bytes] = (unsigned char)version;
  }
}

static void barrier(void) {
  disturb();
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Some bytes of rank 1; at most `most` gets are given to the library. */
static void read_all(const char* what, int most) {
  if (my_rank != 0) return;
  const unsigned long long before = counted("native_gets");
  const int step = bytes / 9 - 1;
  for (int at = 0; at < bytes; at += step) {
    unsigned char got = 0;
    if (at + step >= bytes) at = bytes - 1;
    MPI_Get(&got, 1, MPI_BYTE, 1, at, 1, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    expect(got == expected[at], "%s: byte %d of %d: %d, not %d", what, at, bytes, got,
           expected[at]);
  }
  const unsigned long long given = counted("native_gets") - before;
  expect(!counting || most < 0 || given <= (unsigned long long)most,
         "%s: %llu gets of a window of %d given to the library, at most %d", what, given, bytes,
         most);
}

static void nobody_writes(void) {
  for (int i = 0; i < 3; i++) {
    barrier();
    read_all("first", -1);
  }
  for (int i = 0; i < 5; i++) {
    barrier();
    read_all("nobody wrote", 0);
  }
}

/* Rank 1 stores to its first, its last, and another byte. */
static void stores(void) {
  for (int i = 0; i < 9; i++) {
    const int at = i % 3 == 0 ? 0 : i % 3 == 1 ? bytes - 1 : bytes / 2;
    barrier();
    read_all("before a store", -1);
    barrier();
    expected[at] ^= 0x55;
    if (my_rank == 1) {
      memory[at] = expected[at];
      MPI_Win_sync(win);
    }
    barrier();
    read_all("after a store", -1);
  }
}

/* Rank 2, if there is one, else rank 0 puts there. */
static void puts_there(void) {
  for (int i = 0; i < 8; i++) {
    const int at = i % 2 == 0 ? 0 : bytes - 1;
    barrier();
    read_all("before a put", -1);
    barrier();
    expected[at] ^= 0x33;
    if (my_rank == (ranks > 2 ? 2 : 0)) {
      MPI_Put(&expected[at], 1, MPI_BYTE, 1, at, 1, MPI_BYTE, win);
      MPI_Win_flush(1, win);
    }
    barrier();
    read_all("after a put", -1);
  }
}

static void message(int from, int to) {
  int word = 0;
  if (my_rank == from) MPI_Send(&word, 1, MPI_INT, to, 3, MPI_COMM_WORLD);
  if (my_rank == to) MPI_Recv(&word, 1, MPI_INT, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Rank 1 stores another value, rank 0 is told and reads it, and rank 1 stores the old one again,
 * all between two barriers. */
static void in_between(void) {
  for (int i = 0; i < 6; i++) {
    const int at = i % 2 == 0 ? 0 : bytes - 1;
    barrier();
    read_all("before two stores", -1);
    barrier();
    read_all("before two stores", -1);
    message(0, 1);
    const unsigned char old = expected[at];
    expected[at] ^= 0x0f;
    if (my_rank == 1) {
      memory[at] = expected[at];
      MPI_Win_sync(win);
    }
    message(1, 0);
    read_all("between two stores", -1);
    /* Neither a blocking send nor a wait, which may tell rank 0 something, before it reads again.
     */
    MPI_Request told = MPI_REQUEST_NULL;
    int word = 0;
    if (my_rank == 0) MPI_Isend(&word, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &told);
    if (my_rank == 1) MPI_Recv(&word, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expected[at] = old;
    if (my_rank == 1) {
      memory[at] = old;
      MPI_Win_sync(win);
    }
    barrier();
    read_all("after two stores", -1);
    MPI_Wait(&told, MPI_STATUS_IGNORE);
    barrier();
    read_all("long after two stores", -1);
  }
}

/* Rank 0 reads other bytes in each step. */
static void other_bytes(void) {
  for (int i = 0; i < 40; i++) {
    barrier();
    if (my_rank == 1) {
      memory[i % bytes] ^= 0x21;
      MPI_Win_sync(win);
    }
    expected[i % bytes] ^= 0x21;
    barrier();
    for (int j = 0; my_rank == 0 && j < 3; j++) {
      const int at = (i * 37 + j * (bytes / 3)) % bytes;
      unsigned char got[2] = {0, 0};
      const int count = at + 1 < bytes ? 2 : 1;
      MPI_Get(got, count, MPI_BYTE, 1, at, count, MPI_BYTE, win);
      MPI_Win_flush(1, win);
      expect(memcmp(got, expected + at, (size_t)count) == 0, "other bytes: %d of %d", at, bytes);
    }
  }
}

static void all_of_it(void) {
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  expected = malloc((size_t)bytes);
  for (int i = 0; i < bytes; i++) expected[i] = (unsigned char)(i * 7);
  if (my_rank == 1) memcpy(memory, expected, (size_t)bytes);
  MPI_Win_lock_all(0, win);
  if (my_rank == 1) MPI_Win_sync(win);
  barrier();
  nobody_writes();
  stores();
  puts_there();
  nobody_writes();
  in_between();
  other_bytes();
  nobody_writes();
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(expected);
}

static void create(unsigned char* base, int size) {
  memory = base;
  bytes = size;
  other_data = 1;
  MPI_Win_create(my_rank == 1 ? base : NULL, my_rank == 1 ? size : 0, 1, MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  all_of_it();
}

static unsigned char in_program[3 * 65536] = {1};

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  counting = HOB_Counter && getenv("HOB_CACHE_VALIDATE") && getenv("HOB_POLL_HITS");
  unsigned char* const large = malloc(1 << 20);
  memset(large, 1, 1 << 20);
  memset(in_program, 1, sizeof in_program);
  unsigned char* const page = large + 8192 - ((size_t)large & 4095);
  create(page + 100, 300);           /* within a page */
  create(page + 16384, 1000);        /* from the begin of one */
  create(page + 3 * 4096 - 50, 100); /* in two pages */
  create(page + 8192 + 200, 4096);   /* likewise, a page long */
  create(page + 65536 + 8, 16384 + 24);
  create(page + 262144, 8192 + 17);
  create(in_program + 4200 - ((size_t)in_program & 4095), 5000);
  create(in_program + 65536 + 40, 65536);

  bytes = 65536;
  other_data = 0;
  MPI_Win_allocate(my_rank == 1 ? bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  all_of_it();
  free(large);
  return finish();
}
