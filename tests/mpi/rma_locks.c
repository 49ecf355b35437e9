/* Locks: which are acquires, and which are not sent at all (docs/consistency.md). Where Hob counts
 * (and fetches nothing again by itself), the gets that were given to the library, the acquires and
 * the locks that were not sent are checked, too. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { CELLS = 64, ROUNDS = 5 };

/* Hob counts, and fetches nothing again by itself (tests/run_compare.py, "counted"). */
static int counting(void) { return HOB_Counter && getenv("HOB_POLL_MS"); }

static MPI_Win win;
static int* memory;

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter(name, &count);
  return count;
}

static void count_is(const char* what, const char* name, unsigned long long before,
                     unsigned long long wanted) {
  if (!counting()) return;
  const unsigned long long now = counted(name) - before;
  expect(now == wanted, "%s: %s %llu, not %llu", what, name, now, wanted);
}

static int get(int cell) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, 1, cell, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  return got;
}

/* One epoch for each get. */
static void epochs(const char* what, int assertion, int acquires, int skipped) {
  const unsigned long long gets = counted("native_gets"), learned = counted("acquires");
  const unsigned long long unsent = counted("locks_skipped");
  for (int round = 0; round < ROUNDS; round++)
    for (int cell = 0; cell < CELLS; cell++) {
      int got = -1;
      MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
      MPI_Get(&got, 1, MPI_INT, 1, cell, 1, MPI_INT, win);
      MPI_Win_unlock(1, win);
      expect(got == 100 + cell, "%s: cell %d: %d", what, cell, got);
    }
  count_is(what, "native_gets", gets, CELLS);
  if (acquires >= 0) count_is(what, "acquires", learned, (unsigned long long)acquires);
  count_is(what, "locks_skipped", unsent, (unsigned long long)skipped);
}

/* Within one epoch: hits, then what is not there, then own writes. */
static void mixed_epoch(int assertion) {
  int got[3] = {-1, -1, -1}, one = 1, old = -1, mine = 555;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  expect(get(5) == 105, "hit: %d", get(5));
  MPI_Get(got, 3, MPI_INT, 1, CELLS, 3, MPI_INT, win);
  MPI_Win_flush(1, win);
  expect(got[0] == 100 + CELLS && got[2] == 102 + CELLS, "not there: %d %d", got[0], got[2]);
  MPI_Win_unlock(1, win);

  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  expect(get(6) == 106, "hit before a put");
  MPI_Put(&mine, 1, MPI_INT, 1, 6, 1, MPI_INT, win);
  MPI_Win_unlock(1, win);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  expect(get(6) == 555, "own put: %d", get(6));
  MPI_Win_unlock(1, win);
  mine = 106;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  MPI_Accumulate(&mine, 1, MPI_INT, 1, 6, 1, MPI_INT, MPI_REPLACE, win);
  MPI_Win_unlock(1, win);

  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  MPI_Fetch_and_op(&one, &old, MPI_INT, 1, 7, MPI_SUM, win);
  MPI_Win_unlock(1, win);
  expect(old == 107, "fetch_and_op: %d", old);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  expect(get(7) == 108, "after fetch_and_op: %d", get(7));
  one = -1;
  MPI_Fetch_and_op(&one, &old, MPI_INT, 1, 7, MPI_SUM, win);
  MPI_Win_unlock(1, win);

  /* Without an operation; and a flush of nothing. */
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  MPI_Win_unlock(1, win);
  MPI_Win_lock(MPI_LOCK_SHARED, 1, assertion, win);
  MPI_Win_flush(1, win);
  MPI_Win_flush_all(win);
  MPI_Win_unlock(1, win);
}

/* A shared lock that follows an exclusive one is an acquire, whatever was fetched before: rank 1
 * writes under its own lock, and nothing but the locks tells. */
static void after_exclusive(int step) {
  if (my_rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    const int before = get(0);
    MPI_Win_unlock(1, win);
    reach(0, step);
    await(1, step);
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    const int after = get(0);
    MPI_Win_unlock(1, win);
    expect(after == before + 1, "after an exclusive lock: %d, then %d", before, after);
  } else {
    await_in_mpi(0, step);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    memory[0]++;
    MPI_Win_unlock(1, win);
    reach(1, step);
  }
}

static void open_window(const char* mode) {
  MPI_Info info;
  MPI_Info_create(&info);
  if (mode) MPI_Info_set(info, "hob_cache", mode);
  MPI_Win_allocate(2 * CELLS * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &memory, &win);
  MPI_Info_free(&info);
  for (int i = 0; i < 2 * CELLS; i++) memory[i] = 100 * my_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  const int hits = CELLS * (ROUNDS - 1);
  begin(&argc, &argv);

  open_window(NULL);
  if (my_rank == 0) {
    epochs("nocheck", MPI_MODE_NOCHECK, 0, hits);
    mixed_epoch(MPI_MODE_NOCHECK);
    mixed_epoch(0);
  }
  close_window();

  open_window(NULL);
  for (int step = 1; step <= 5; step++) after_exclusive(step);
  close_window();

  open_window("always");
  if (my_rank == 0) {
    epochs("always", 0, -1, hits); /* the first lock, before any get, is not looked at */
    mixed_epoch(0);
  }
  close_window();
  return finish();
}
