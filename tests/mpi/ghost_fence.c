// Fences and post-start-complete-wait with every legal assertion, win_sync inside lock_all, and a
// window over the ranks of a merged intercommunicator.
#include "ghost_check.h"

static int rank, size;

// One access epoch between two fences that assert what is true.
static void fences(MPI_Win win, long* base) {
  for (int puts = 0; puts < 2; ++puts) {  // otherwise gets: nobody's memory changes
    for (int stores = 0; stores < 2; ++stores) {
      for (int closed = 0; closed < 2; ++closed) {  // nothing before, nothing behind
        for (int i = 0; i < size; ++i) base[i] = 100 + i;
        MPI_Barrier(MPI_COMM_WORLD);
        int opening = closed ? MPI_MODE_NOPRECEDE : 0;
        int closing = closed ? MPI_MODE_NOSUCCEED : 0;
        if (!puts) opening |= MPI_MODE_NOPUT, closing |= MPI_MODE_NOSTORE;
        if (stores) base[0] = 7;
        MPI_Win_fence(opening, win);
        const long value = 900 + rank;
        long got[2] = {-1, -1};
        const int right = (rank + 1) % size;
        if (puts) {
          for (int t = 0; t < size; ++t)
            MPI_Put(&value, 1, MPI_LONG, t, 8 + rank, 1, MPI_LONG, win);
          for (int t = 0; t < size; ++t)
            MPI_Accumulate(&value, 1, MPI_LONG, t, 1, 1, MPI_LONG, MPI_SUM, win);
        } else {
          MPI_Get(got, 2, MPI_LONG, right, 0, 2, MPI_LONG, win);
        }
        MPI_Win_fence(closing, win);
        if (puts) {
          long sum = size > 1 ? 101 : 0;
          for (int r = 0; r < size; ++r) sum += 900 + r;
          if (size > 1) CHECK(base[1] == sum);
          for (int r = 0; r < size; ++r) CHECK(base[8 + r] == 900 + r);
        } else {
          CHECK(got[0] == (stores ? 7 : 100) && (size == 1 || got[1] == 101));
        }
        MPI_Barrier(MPI_COMM_WORLD);
      }
    }
  }
  // Neither ends nor begins anything.
  MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE | MPI_MODE_NOPUT, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Behind a fence, whoever asks sees what others wrote before it: between fences, and under a lock.
static void third_parties(MPI_Win win) {
  const int right = (rank + 1) % size, next = (rank + 2) % size;
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  for (int round = 0; round < 50; ++round) {
    const long value = 1000L * round + rank;
    long got[3] = {-1, -1, -1};
    MPI_Put(&value, 1, MPI_LONG, right, 20, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    MPI_Get(&got[0], 1, MPI_LONG, next, 20, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    CHECK(got[0] == 1000L * round + right);
    MPI_Put(&value, 1, MPI_LONG, right, 21, 1, MPI_LONG, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_SHARED, next, round % 2 == 0 ? MPI_MODE_NOCHECK : 0, win);
    MPI_Get(&got[1], 1, MPI_LONG, next, 21, 1, MPI_LONG, win);
    MPI_Win_unlock(next, win);
    CHECK(got[1] == 1000L * round + right);
    MPI_Win_lock_all(0, win);
    MPI_Get(&got[2], 1, MPI_LONG, next, 21, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    CHECK(got[2] == 1000L * round + right);
    MPI_Barrier(MPI_COMM_WORLD);  // no lock is held while the window is exposed
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

// The ring, with what each side may assert.
static void rings(MPI_Win win, long* base) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &right, &to);
  MPI_Group_incl(world, 1, &left, &from);
  const int asserted[] = {0, MPI_MODE_NOSTORE, MPI_MODE_NOPUT, MPI_MODE_NOSTORE | MPI_MODE_NOPUT};
  for (int round = 0; round < 8; ++round) {
    const int post = asserted[round % 4], reads = (post & MPI_MODE_NOPUT) != 0;
    base[0] = 300 + round;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_post(from, post, win);
    MPI_Win_start(to, 0, win);
    const long value = 500L + rank + 10 * round;
    long got = -1;
    if (reads) {
      MPI_Get(&got, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    } else {
      MPI_Put(&value, 1, MPI_LONG, right, 0, 1, MPI_LONG, win);
    }
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    if (reads) CHECK(got == 300 + round);
    if (!reads) CHECK(base[0] == 500L + left + 10 * round);
  }
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Loads and stores of the owner between others' operations, in one lock_all epoch.
static void synchronised(MPI_Win win, volatile long* base) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  MPI_Win_lock_all(0, win);
  for (int round = 1; round <= 20; ++round) {
    base[3] = 10L * round + rank;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    long got = -1;
    MPI_Get(&got, 1, MPI_LONG, right, 3, 1, MPI_LONG, win);
    MPI_Win_flush(right, win);
    CHECK(got == 10L * round + right);
    const long value = 1000L * round + rank;
    MPI_Put(&value, 1, MPI_LONG, right, 4, 1, MPI_LONG, win);
    MPI_Win_flush(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    CHECK(base[4] == 1000L * round + left);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long* base;
  MPI_Win win;
  MPI_Win_allocate(512, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  fences(win, base);
  third_parties(win);
  rings(win, base);
  synchronised(win, base);
  MPI_Win_free(&win);

  // Two halves meet: their window goes through ghosts, with ranks of its own.
  MPI_Comm half, inter, all;
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
                       rank % 2 == 0 ? size - 1 - size % 2 : size - 1 - (size - 1) % 2, 5, &inter);
  MPI_Barrier(inter);
  int flag = 0, mine = 1, others = 0, remote;
  MPI_Comm_test_inter(inter, &flag);
  CHECK(flag);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Allreduce(&mine, &others, 1, MPI_INT, MPI_SUM, inter);
  CHECK(others == remote);
  MPI_Intercomm_merge(inter, rank % 2, &all);
  int me;
  MPI_Comm_rank(all, &me);
  MPI_Win_allocate(512, 8, MPI_INFO_NULL, all, &base, &win);
  MPI_Win_lock_all(0, win);
  for (int t = 0; t < size; ++t) {
    const long value = 40 + me;
    MPI_Put(&value, 1, MPI_LONG, t, me, 1, MPI_LONG, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(all);
  MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win);
  for (int r = 0; r < size; ++r) CHECK(base[r] == 40 + r);
  MPI_Win_unlock(me, win);
  MPI_Win_free(&win);
  MPI_Comm_free(&all);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  return check_finish();
}
