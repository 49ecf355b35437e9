/* Two windows over one memory: what is written through one is seen through the other, also where
 * nothing was fetched yet when the write was issued, and the write was under way meanwhile. */
#include "rma_check.h"

static MPI_Win first, second;

static int get(MPI_Win win) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  return got;
}

/* The target stays outside MPI while `value` is put through `to`, and memory is fetched through
 * `from` while the put is under way (any value). */
static void put_and_get(MPI_Win to, MPI_Win from, int value, int step) {
  if (my_rank == 0) {
    reach(0, step);
    await(1, step);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, to);
    for (int i = 0; i < 2; i++) get(from);
    MPI_Win_flush(1, to);
    const int got = get(from);
    expect(got == value, "step %d: %d, not %d", step, got, value);
    reach(2, step);
  } else {
    await_in_mpi(0, step);
    reach(1, step);
    usleep(3000); /* so that a put that needs the target is under way for a while */
    await_in_mpi(2, step);
  }
}

int main(int argc, char** argv) {
  int *memory, *other, one = 1, got = -1;
  MPI_Win third;
  begin(&argc, &argv);
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &first);
  memory[0] = 0;
  MPI_Win_create(memory, 64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &second);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) { /* nothing was fetched yet */
    MPI_Win_lock_all(0, second);
    MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, second);
    MPI_Win_flush(1, second);
  }
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other, &third);
  if (my_rank == 0) { /* something is cached while `third` lives */
    MPI_Win_lock_all(0, third);
    MPI_Get(&got, 1, MPI_INT, 1, 0, 1, MPI_INT, third);
    MPI_Win_flush(1, third);
    one = 2;
    MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, second);
    MPI_Win_flush(1, second);
    MPI_Win_unlock_all(third);
  }
  MPI_Win_free(&third);
  if (my_rank == 0) MPI_Win_lock_all(0, first);
  for (int step = 1; step <= 6; step++)
    put_and_get(step % 2 ? second : first, step % 2 ? first : second, 40 + step, step);
  if (my_rank == 0) {
    MPI_Win_unlock_all(first);
    MPI_Win_unlock_all(second);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&second);
  MPI_Win_free(&first);
  return finish();
}
