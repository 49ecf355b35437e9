// Many windows at once, of every size, and what the public Casper gets wrong: argv[1] windows.
#include "ghost_check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int count = argc > 1 ? atoi(argv[1]) : 1500;
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;

  MPI_Win* windows = malloc(sizeof(MPI_Win) * (size_t)count);
  long** bases = malloc(sizeof(long*) * (size_t)count);
  for (int i = 0; i < count; ++i) {
    const MPI_Aint cells = rank == 0 && i % 3 == 0 ? 0 : 1 + i % 100;
    MPI_Win_allocate(cells * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &bases[i], &windows[i]);
  }
  for (int i = 0; i < count; ++i) {
    if (right == 0 && i % 3 == 0) continue;
    const long value = 10L * i + rank;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, windows[i]);
    MPI_Put(&value, 1, MPI_LONG, right, i % 100, 1, MPI_LONG, windows[i]);
    MPI_Win_unlock(right, windows[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < count; ++i) {
    if (rank == 0 && i % 3 == 0) continue;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, windows[i]);
    CHECK(bases[i][i % 100] == 10L * i + left);
    MPI_Win_unlock(rank, windows[i]);
  }
  for (int i = 0; i < count; ++i) MPI_Win_free(&windows[i]);
  free(windows);
  free(bases);

  // flush_all with nothing but lock epochs open; info with every spelling of epochs_used.
  for (int spelling = 0; spelling < 2; ++spelling) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "epochs_used", spelling == 0 ? "lock,lockall" : "lock|lockall");
    long* base;
    MPI_Win win;
    MPI_Win_allocate(64, 8, info, MPI_COMM_WORLD, &base, &win);
    MPI_Info_free(&info);
    const long value = 5 + rank;
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    MPI_Win_flush_all(win);
    MPI_Win_unlock(right, win);
    MPI_Win_lock_all(0, win);
    long got = 0;
    MPI_Get(&got, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    CHECK(got == value);
    MPI_Win_free(&win);
  }

  // A wildcard receive of the program posted while windows synchronise: nothing of Hob's may match.
  long *base, stolen = -1;
  MPI_Win win;
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Request any;
  MPI_Irecv(&stolen, 1, MPI_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &any);
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &right, &to);
  MPI_Group_incl(world, 1, &left, &from);
  MPI_Win_post(from, 0, win);
  MPI_Win_start(to, 0, win);
  long value = 33;
  MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
  MPI_Win_complete(win);
  MPI_Win_wait(win);
  MPI_Win_lock_all(0, win);
  MPI_Put(&value, 1, MPI_LONG, right, 1, 1, MPI_LONG, win);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  int flag = 1;
  MPI_Test(&any, &flag, MPI_STATUS_IGNORE);
  CHECK(!flag);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Send(&value, 1, MPI_LONG, right, 9, MPI_COMM_WORLD);
  MPI_Wait(&any, MPI_STATUS_IGNORE);
  CHECK(stolen == 33);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  MPI_Win_free(&win);

  // A window over some of the ranks, in another order.
  MPI_Comm reversed;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size - 1 ? 0 : MPI_UNDEFINED, -rank, &reversed);
  if (reversed != MPI_COMM_NULL) {
    int me, members;
    MPI_Comm_rank(reversed, &me);
    MPI_Comm_size(reversed, &members);
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, reversed, &base, &win);
    const long mark = 700 + me;
    MPI_Win_lock_all(0, win);
    MPI_Put(&mark, 1, MPI_LONG, (me + 1) % members, 8, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(reversed);
    CHECK(base[1] == 700 + (me + members - 1) % members);
    MPI_Win_free(&win);
    MPI_Comm_free(&reversed);
  }
  return check_finish();
}
