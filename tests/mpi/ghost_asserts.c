// What assertions spare: argv[1] names what is done 20 times, the report tells what it took
// (--counts of ghost_run.py). Two ranks on two nodes.
#include <unistd.h>

#include "ghost_check.h"

enum { rounds = 20 };

static int rank, size;
static long one = 1;
static long* base;
static MPI_Win win;

static void fences(int opening, int closing) {
  for (int i = 0; i < rounds; ++i) {
    MPI_Win_fence(opening, win);
    if (rank == 0) MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_fence(closing, win);
  }
  if (rank == 1) CHECK(base[0] == rounds);
}

// A fence that ends nothing does not wait, yet nobody reads what its target writes before its own.
static void late(void) {
  const int right = (rank + 1) % size;
  for (int i = 1; i <= rounds; ++i) {
    long got[2] = {-1, -1};
    if (rank == i % size) usleep(10000);
    base[1] = 10L * i + rank;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Get(&got[0], 1, MPI_LONG, right, 1, 1, MPI_LONG, win);
    MPI_Get(&got[1], 1, MPI_LONG, rank, 1, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(got[0] == 10L * i + right);
    CHECK(got[1] == 10L * i + rank);
  }
}

static void exposures(int assertion) {
  MPI_Group world, other;
  const int peer = 1 - rank;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &peer, &other);
  for (int i = 0; i < rounds; ++i) {
    if (rank == 1) MPI_Win_post(other, assertion, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_start(other, assertion, win);
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_complete(win);
    } else {
      MPI_Win_wait(win);
      CHECK(base[0] == i + 1);
    }
  }
  MPI_Group_free(&other);
  MPI_Group_free(&world);
}

static void locks(int assertion) {
  if (rank == 0) {
    for (int i = 0; i < rounds; ++i) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, assertion, win);
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_unlock(1, win);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  if (rank == 1) CHECK(base[0] == rounds);
  MPI_Win_unlock(rank, win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  base[0] = base[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const char* what = argc > 1 ? argv[1] : "";
  const int open = MPI_MODE_NOPRECEDE, close = MPI_MODE_NOSUCCEED;
  if (strcmp(what, "fence") == 0) fences(0, 0);
  if (strcmp(what, "noprecede") == 0) fences(open, close);
  if (strcmp(what, "nostore") == 0)
    fences(open | (rank == 1 ? 0 : MPI_MODE_NOSTORE | MPI_MODE_NOPUT), close);
  if (strcmp(what, "late") == 0) late();
  if (strcmp(what, "idle") == 0) {
    for (int i = 0; i < rounds; ++i) MPI_Win_fence(open | close, win);
  }
  if (strcmp(what, "pscw") == 0) exposures(0);
  if (strcmp(what, "pscw_nocheck") == 0) exposures(MPI_MODE_NOCHECK);
  if (strcmp(what, "lock") == 0) locks(0);
  if (strcmp(what, "lock_nocheck") == 0) locks(MPI_MODE_NOCHECK);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return check_finish();
}
