/* Gets with requests: waiting for them is no acquire, so that what they fetched serves the next
 * ones. Where Hob counts (and fetches nothing again by itself), the gets that were given to the
 * library and the acquires are checked, too. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { CELLS = 64, ROUNDS = 5 };

/* Hob counts, and fetches nothing again by itself (tests/run_compare.py, "counted"). */
static int counting(void) { return HOB_Counter && getenv("HOB_POLL_MS"); }

static MPI_Win win;
static double* memory;

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter(name, &count);
  return count;
}

static unsigned long long gets_before, acquires_before;

static void begin_count(void) {
  gets_before = counted("native_gets");
  acquires_before = counted("acquires");
}

static void check_count(const char* what, unsigned long long gets, unsigned long long acquires) {
  if (!counting()) return;
  const unsigned long long g = counted("native_gets") - gets_before;
  const unsigned long long a = counted("acquires") - acquires_before;
  expect(g == gets, "%s: %llu gets given to the library, not %llu", what, g, gets);
  expect(a == acquires, "%s: %llu acquires, not %llu", what, a, acquires);
}

static double value(int rank, int cell) { return 1000.0 * rank + cell; }

static void start(double* to, int target, int cell, int count, MPI_Request* request) {
  for (int i = 0; i < count; i++) to[i] = -1;
  MPI_Rget(to, count, MPI_DOUBLE, target, cell, count, MPI_DOUBLE, win, request);
}

static void check(const char* what, const double* got, int target, int cell, int count) {
  for (int i = 0; i < count; i++)
    expect(got[i] == value(target, cell + i), "%s: cell %d of rank %d: %g", what, cell + i, target,
           got[i]);
}

static void loops(void) {
  double x[CELLS];
  MPI_Request requests[CELLS + 1];

  begin_count();
  for (int round = 0; round < ROUNDS; round++)
    for (int i = 0; i < CELLS; i++) {
      start(x, 1, i, 1, requests);
      MPI_Wait(requests, MPI_STATUS_IGNORE);
      check("wait", x, 1, i, 1);
    }
  check_count("wait", CELLS, 0);

  begin_count(); /* the own rank: never cached, and no acquire either */
  for (int i = 0; i < CELLS; i++) {
    start(x, 0, i, 1, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    check("own", x, 0, i, 1);
    start(x, 1, i, 1, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    check("between own", x, 1, i, 1);
  }
  check_count("own rank between", CELLS, 0);

  begin_count(); /* partly there */
  for (int round = 0; round < ROUNDS; round++) {
    start(x, 1, 0, 4, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    check("partly", x, 1, 0, 4);
  }
  check_count("partly hit", 1, 0);

  begin_count(); /* puts with requests: the origin's buffer is free, nothing more */
  x[0] = value(1, 0);
  MPI_Rput(x, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, win, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  MPI_Win_flush(1, win);
  start(x, 1, 9, 1, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  check("after rput", x, 1, 9, 1);
  check_count("rput", 0, 0);
}

static void together(void) {
  double x[CELLS];
  MPI_Request requests[CELLS];

  begin_count();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < CELLS; i++) start(x + i, 1, i, 1, requests + i);
    MPI_Waitall(CELLS, requests, MPI_STATUSES_IGNORE);
    check("waitall", x, 1, 0, CELLS);
  }
  check_count("waitall", CELLS, 0);
}

static void one_by_one(void) {
  double x[CELLS];
  MPI_Request requests[CELLS];

  begin_count();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < CELLS; i++) start(x + i, 1, i, 1, requests + i);
    for (int i = 0; i < CELLS; i++) MPI_Wait(requests + i, MPI_STATUS_IGNORE);
    check("many, one wait each", x, 1, 0, CELLS);
  }
  check_count("many, one wait each", CELLS, 0);
}

static void tested(void) {
  double x[CELLS];
  MPI_Request requests[CELLS];

  begin_count();
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < CELLS; i++) start(x + i, 1, i, 1, requests + i);
    for (int i = 0; i < CELLS; i++)
      for (int done = 0; !done;) MPI_Test(requests + i, &done, MPI_STATUS_IGNORE);
    check("test", x, 1, 0, CELLS);
  }
  check_count("test", CELLS, 0);
}

/* A receive among the requests: the wait is an acquire. Rank 1 changes its memory and then sends.
 */
static void mixed(void) {
  double x[2];
  int word = 0;
  MPI_Request requests[2];

  start(x, 1, 3, 1, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  check("before", x, 1, 3, 1);
  MPI_Irecv(&word, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, requests + 1);
  reach(0, 1);
  start(x, 1, 5, 1, requests);
  const unsigned long long before = counted("acquires");
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (counting()) expect(counted("acquires") > before, "a receive among gets is no acquire");
  start(x, 1, 3, 1, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
  expect(x[0] == 77, "after the receive: %g", x[0]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win_allocate(CELLS * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  for (int i = 0; i < CELLS; i++) memory[i] = value(my_rank, i);
  void (*const parts[])(void) = {loops, together, one_by_one, tested, mixed};
  for (int part = 0; part < 5; part++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock_all(0, win);
      parts[part]();
      MPI_Win_unlock_all(win);
    } else if (part == 4) {
      await_in_mpi(0, 1);
      MPI_Win_lock_all(0, win);
      memory[3] = 77;
      MPI_Win_sync(win);
      MPI_Win_unlock_all(win);
      MPI_Send(&part, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
