// Windows over memory of MPI_Alloc_mem, over parts of it, over other windows' memory and over the
// program's own: every operation from everybody to everybody. `alloc`: no window is over memory
// that is the program's own.
#include "ghost_check.h"

enum { longs = 300 };

static int rank, size;

static void use(long* base, int count) {
  MPI_Win win;
  MPI_Win_create(base, (MPI_Aint)count * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < count; ++i) base[i] = -1;
  base[0] = base[1] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int t = 0; t < size; ++t) {
    const long one = 1, mine = 1000 * rank + t;
    long old = -1, seen = -1, swapped = -2;
    MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Fetch_and_op(&one, &old, MPI_LONG, t, 1, MPI_SUM, win);
    MPI_Put(&mine, 1, MPI_LONG, t, 2 + rank, 1, MPI_LONG, win);
    MPI_Put(&mine, 1, MPI_LONG, t, count - 1 - rank, 1, MPI_LONG, win);
    MPI_Win_flush(t, win);
    CHECK(old >= 0 && old < size);
    MPI_Get(&seen, 1, MPI_LONG, t, count - 1 - rank, 1, MPI_LONG, win);
    MPI_Win_flush(t, win);
    CHECK(seen == mine);
    MPI_Compare_and_swap(&one, &mine, &swapped, MPI_LONG, t, count - 1 - rank, win);
    MPI_Win_flush(t, win);
    CHECK(swapped == mine);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK(base[0] == size && base[1] == size);
  for (int r = 0; r < size; ++r) {
    CHECK(base[2 + r] == 1000 * r + rank);
    CHECK(base[count - 1 - r] == 1);
  }
  for (int i = 2 + size; i < count - size; ++i) CHECK(base[i] == -1);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int alloc_only = argc > 1 && strcmp(argv[1], "alloc") == 0;
  for (int round = 0; round < 3; ++round) {
    const int count = round == 2 ? 400000 : longs;
    long* memory = NULL;
    MPI_Alloc_mem((MPI_Aint)count * (MPI_Aint)sizeof(long), MPI_INFO_NULL, &memory);
    CHECK((size_t)memory % sizeof(long double) == 0);
    use(memory, count);
    use(memory + count / 3, longs / 3);  // a part
    MPI_Free_mem(memory);
  }
  long* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(longs * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  use(memory, longs);
  MPI_Win_free(&win);
  if (!alloc_only) {
    static long own[longs];
    use(own, longs);
    // Alignment that Hob does not promise: the library's memory, and back to the library.
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "4096");
    MPI_Alloc_mem(longs * sizeof(long), info, &memory);
    use(memory, longs);
    MPI_Free_mem(memory);
    MPI_Info_free(&info);
  }
  return check_finish();
}
