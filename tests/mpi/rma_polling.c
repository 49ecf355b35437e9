/* Programs that poll a flag with plain gets, though MPI does not define it. They must end, and what
 * they read behind the flag must be what was written before it. */
#include "rma_check.h"

enum { CELLS = 64 };

static long* memory;
static MPI_Win win;

/* How often rank 0 has polled: more than any bound of Hob's on the hits of one entry. */
enum { POLLED = 0, MANY_POLLS = 100 };

static long get_from(int rank, int at) {
  long value = -1;
  MPI_Get(&value, 1, MPI_LONG, rank, at, 1, MPI_LONG, win);
  MPI_Win_flush(rank, win);
  if (my_rank == 0) reach(POLLED, outside[POLLED] + 1);
  return value;
}

static void put_to(int rank, int at, long value) {
  MPI_Put(&value, 1, MPI_LONG, rank, at, 1, MPI_LONG, win);
  MPI_Win_flush(rank, win);
}

/* Rank 1 waits inside MPI until rank 0 has hit its copy often. */
static void let_poll(void) { await_in_mpi(POLLED, outside[POLLED] + MANY_POLLS); }

/* Data, then a flag behind it, in the last rank's memory; rank 0 polls the flag. */
static void flag_behind_data(long round) {
  const int owner = ranks - 1;
  if (my_rank == 0) {
    for (int i = 1; i < 20; ++i) (void)get_from(owner, i); /* old copies of the data */
    MPI_Send(NULL, 0, MPI_INT, 1, 1, MPI_COMM_WORLD);
    for (int i = 1; i < 20; ++i) (void)get_from(owner, i);
    while (get_from(owner, 0) != round) {
    }
    for (int i = 1; i < 20; ++i) {
      const long got = get_from(owner, i);
      expect(got == round * 100 + i, "behind the flag: cell %d is %ld, not %ld", i, got,
             round * 100 + i);
    }
  } else if (my_rank == 1) {
    MPI_Recv(NULL, 0, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    let_poll();
    for (int i = 1; i < 20; ++i) put_to(owner, i, round * 100 + i);
    put_to(owner, 0, round);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Several flags, polled in turn. */
static void round_robin(long round) {
  const int owner = ranks - 1;
  if (my_rank == 0) {
    long seen = 0;
    while (seen != 0xff) {
      for (int f = 0; f < 8; ++f) {
        if (get_from(owner, 24 + f) == round) {
          seen |= 1L << f;
          const long got = get_from(owner, 34 + f);
          expect(got == round + f, "flag %d: %ld behind it, not %ld", f, got, round + f);
        }
      }
    }
  } else if (my_rank == 1) {
    for (int f = 7; f >= 0; --f) {
      let_poll();
      put_to(owner, 34 + f, round + f);
      put_to(owner, 24 + f, round);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A flag polled between other gets, which never change. */
static void between_others(long round) {
  const int owner = ranks - 1;
  if (my_rank == 0) {
    int next = 0;
    while (get_from(owner, 22) != round) {
      (void)get_from(owner, 44 + next % 16);
      ++next;
    }
    const long got = get_from(owner, 23);
    expect(got == -round, "between other gets: %ld behind the flag, not %ld", got, -round);
  } else if (my_rank == 1) {
    let_poll();
    put_to(owner, 23, -round);
    put_to(owner, 22, round);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* With requests, and without any flush. */
static void with_requests(long round) {
  const int owner = ranks - 1;
  if (my_rank == 0) {
    long value = -1;
    while (value != round) {
      MPI_Request request;
      MPI_Rget(&value, 1, MPI_LONG, owner, 60, 1, MPI_LONG, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      reach(POLLED, outside[POLLED] + 1);
    }
  } else if (my_rank == 1) {
    let_poll();
    put_to(owner, 60, round);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win_allocate(CELLS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  for (int i = 0; i < CELLS; ++i) memory[i] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (long round = 1; round <= 5 && ranks > 1; ++round) {
    flag_behind_data(round);
    round_robin(round);
    between_others(round);
    with_requests(round);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  return finish();
}
