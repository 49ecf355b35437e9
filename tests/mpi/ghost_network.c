// Puts and gets, contiguous and not, and accumulates, to a rank of another node that stays outside
// MPI meanwhile: whoever carries them out, each completion has to end, and in order.
// 2 ranks on 2 nodes.
#include <time.h>

#include "ghost_check.h"

enum { ROUNDS = 300, COLUMNS = 8, LONGS = 1 << 16 };

static void nap(void) {
  const struct timespec time = {0, 1000000};
  nanosleep(&time, NULL);
}

// Every second long of COLUMNS.
static void strided(MPI_Win win, MPI_Datatype columns, long round) {
  long out[COLUMNS], back[2 * COLUMNS];
  for (int i = 0; i < COLUMNS; i++) out[i] = round + i;
  MPI_Put(out, COLUMNS, MPI_LONG, 1, 64, 1, columns, win);
  MPI_Win_flush(1, win);
  MPI_Get(back, 1, columns, 1, 64, 1, columns, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < COLUMNS; i++) CHECK(back[2 * i] == round + i);
}

static void origin(MPI_Win win, long* large) {
  MPI_Datatype columns;
  MPI_Type_vector(COLUMNS, 1, 2, MPI_LONG, &columns);
  MPI_Type_commit(&columns);
  long sum = 0;
  for (long round = 1; round <= ROUNDS; round++) {
    long back = 0, one = 1;
    MPI_Put(&round, 1, MPI_LONG, 1, 8, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    MPI_Get(&back, 1, MPI_LONG, 1, 8, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    CHECK(back == round);
    // Behind a put that is under way: in its place, and after it.
    const long high = 1000 * round;
    MPI_Put(&high, 1, MPI_LONG, 1, 16, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    MPI_Accumulate(&one, 1, MPI_LONG, 1, 16, 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &sum, MPI_LONG, 1, 24, MPI_SUM, win);
    MPI_Win_flush(1, win);
    CHECK(sum == round - 1);
    MPI_Get(&back, 1, MPI_LONG, 1, 16, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
    CHECK(back == high + 1);
    if (round % 4 == 0) strided(win, columns, round);
    if (round % 50 == 0) {
      for (int i = 0; i < LONGS; i++) large[i] = round * i;
      MPI_Put(large, LONGS, MPI_LONG, 1, 128, LONGS, MPI_LONG, win);
      MPI_Win_flush(1, win);
      memset(large, 0, LONGS * sizeof *large);
      MPI_Get(large, LONGS, MPI_LONG, 1, 128, LONGS, MPI_LONG, win);
      MPI_Win_flush(1, win);
      for (int i = 0; i < LONGS; i++) CHECK(large[i] == round * i);
    }
  }
  const long end = 1;
  MPI_Put(&end, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
  MPI_Win_flush(1, win);
  MPI_Type_free(&columns);
}

// `created`: over memory of the program's own.
static void run(int rank, int created) {
  const size_t bytes = (128 + LONGS) * sizeof(long);
  long *memory, *own = calloc(1, bytes), *large = malloc(LONGS * sizeof *large);
  MPI_Win win;
  if (created) {
    memory = own;
    MPI_Win_create(memory, (MPI_Aint)bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  } else {
    MPI_Win_allocate((MPI_Aint)bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, bytes);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    origin(win, large);
  } else if (rank == 1) {
    const volatile long* flag = memory;
    while (*flag == 0) nap();
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1)
    CHECK(memory[8] == ROUNDS && memory[16] == 1000 * ROUNDS + 1 && memory[24] == ROUNDS);
  MPI_Win_free(&win);
  free(own);
  free(large);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  run(rank, 0);
  run(rank, 1);
  return check_finish();
}
