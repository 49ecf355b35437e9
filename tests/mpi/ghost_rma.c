// Every one-sided operation in every kind of epoch, on windows of both kinds that ghosts serve; all
// ranks, all to all; contents checked.
#include "ghost_check.h"

enum { cells = 5000 };

static int rank, size;

// Each rank owns cells [owner * slots, ...) of every target: no two origins overlap.
static void epoch_open(int kind, int target, MPI_Win win) {
  if (kind == 0) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
  if (kind == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  if (kind == 2) MPI_Win_lock(MPI_LOCK_SHARED, target, MPI_MODE_NOCHECK, win);
}
static void epoch_close(int kind, int target, MPI_Win win) {
  if (kind <= 2) MPI_Win_unlock(target, win);
}

static void data_of(long* data, int count, int seed) {
  for (int i = 0; i < count; ++i) data[i] = seed * 1000003L + i;
}

static void operations(int kind, int target, long* window_size, MPI_Win win) {
  const int slot = (int)(*window_size / size), mine = rank * slot;
  long *out = malloc(sizeof(long) * (size_t)slot), *in = malloc(sizeof(long) * (size_t)slot),
       *result = malloc(sizeof(long) * (size_t)slot);
  // put, flush, get
  data_of(out, slot, rank + 7 * target);
  epoch_open(kind, target, win);
  MPI_Put(out, slot, MPI_LONG, target, mine, slot, MPI_LONG, win);
  if (kind <= 3) {
    MPI_Win_flush(target, win);
    memset(in, 0, sizeof(long) * (size_t)slot);
    MPI_Get(in, slot, MPI_LONG, target, mine, slot, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    CHECK(memcmp(in, out, sizeof(long) * (size_t)slot) == 0);
    // accumulate twice, then fetch what was there; same place, in order
    long one = 1;
    for (int i = 0; i < 5; ++i)
      MPI_Accumulate(&one, 1, MPI_LONG, target, mine, 1, MPI_LONG, MPI_SUM, win);
    MPI_Get_accumulate(out, slot, MPI_LONG, result, slot, MPI_LONG, target, mine, slot, MPI_LONG,
                       MPI_REPLACE, win);
    MPI_Win_flush(target, win);
    CHECK(result[0] == out[0] + 5 && result[slot - 1] == out[slot - 1]);
    MPI_Get_accumulate(NULL, 0, MPI_LONG, result, slot, MPI_LONG, target, mine, slot, MPI_LONG,
                       MPI_NO_OP, win);
    MPI_Win_flush(target, win);
    CHECK(memcmp(result, out, sizeof(long) * (size_t)slot) == 0);
    long two = 2, old = -1;
    MPI_Fetch_and_op(&two, &old, MPI_LONG, target, mine + 1, MPI_SUM, win);
    MPI_Win_flush(target, win);
    CHECK(old == out[1]);
    long compare = out[1] + 2, swap = 77;
    MPI_Compare_and_swap(&swap, &compare, &old, MPI_LONG, target, mine + 1, win);
    MPI_Win_flush(target, win);
    CHECK(old == out[1] + 2);
    MPI_Compare_and_swap(&compare, &out[1], &old, MPI_LONG, target, mine + 1, win);
    MPI_Win_flush(target, win);
    CHECK(old == 77);
    // noncontiguous at both ends: every second cell from every third
    const int n = slot / 3 - 1;
    MPI_Datatype second, third;
    MPI_Type_vector(n, 1, 2, MPI_LONG, &second);
    MPI_Type_vector(n, 1, 3, MPI_LONG, &third);
    MPI_Type_commit(&second);
    MPI_Type_commit(&third);
    long *wide = malloc(sizeof(long) * (size_t)(2 * n)),
         *back = calloc((size_t)(2 * n), sizeof(long));
    for (int i = 0; i < 2 * n; ++i) wide[i] = 5000000L + i + rank;
    MPI_Put(wide, 1, second, target, mine, 1, third, win);
    MPI_Win_flush(target, win);
    MPI_Get(back, 1, second, target, mine, 1, third, win);
    MPI_Win_flush(target, win);  // a get and an accumulate have no order
    MPI_Accumulate(wide, 1, second, target, mine, 1, third, MPI_SUM, win);
    MPI_Win_flush(target, win);
    MPI_Get(in, slot, MPI_LONG, target, mine, slot, MPI_LONG, win);
    MPI_Win_flush(target, win);
    for (int i = 0; i < n; ++i) CHECK(back[2 * i] == wide[2 * i]);
    for (int i = 0; i < n; ++i) CHECK(in[3 * i] == 2 * wide[2 * i]);
    CHECK(in[2] == out[2]);
    MPI_Type_free(&second);
    MPI_Type_free(&third);
    free(wide);
    free(back);
  }
  epoch_close(kind, target, win);
  free(out);
  free(in);
  free(result);
}

// The owner's stores before become visible to others' operations.
static void own_stores_done(MPI_Win win) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  MPI_Win_unlock(rank, win);
}

// All ranks add to the same cells, with every kind of operation.
static void concurrent(MPI_Win win, long* base) {
  for (int i = 0; i < 16; ++i) base[i] = 0;
  double* reals = (double*)(base + 16);
  for (int i = 0; i < 16; ++i) reals[i] = 0;
  own_stores_done(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  const int rounds = 50;
  for (int round = 0; round < rounds; ++round) {
    for (int t = 0; t < size; ++t) {
      long ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, old[8];
      double halves[4] = {0.5, 0.5, 0.5, 0.5};
      MPI_Accumulate(ones, 8, MPI_LONG, t, 0, 8, MPI_LONG, MPI_SUM, win);
      MPI_Get_accumulate(ones, 8, MPI_LONG, old, 8, MPI_LONG, t, 0, 8, MPI_LONG, MPI_SUM, win);
      MPI_Fetch_and_op(ones, old, MPI_LONG, t, 8, MPI_SUM, win);
      MPI_Accumulate(halves, 4, MPI_DOUBLE, t, 16, 4, MPI_DOUBLE, MPI_SUM, win);
      // a counter by compare and swap
      long seen = 0, wanted, found;
      for (;;) {
        wanted = seen + 1;
        MPI_Compare_and_swap(&wanted, &seen, &found, MPI_LONG, t, 9, win);
        MPI_Win_flush(t, win);
        if (found == seen) break;
        seen = found;
      }
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < 8; ++i) CHECK(base[i] == 2L * rounds * size);
  CHECK(base[8] == (long)rounds * size);
  CHECK(base[9] == (long)rounds * size);
  for (int i = 0; i < 4; ++i) CHECK(reals[i] == 0.5 * rounds * size);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Read-modify-write under exclusive locks, while others hold lock_all now and then.
static void exclusive(MPI_Win win, long* base) {
  base[0] = base[cells - 1] = 0;
  own_stores_done(win);
  MPI_Barrier(MPI_COMM_WORLD);
  const int rounds = 30;
  for (int round = 0; round < rounds; ++round) {
    for (int t = 0; t < size; ++t) {
      long a = 0, b = 0;
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, t, 0, win);
      MPI_Get(&a, 1, MPI_LONG, t, 0, 1, MPI_LONG, win);
      MPI_Get(&b, 1, MPI_LONG, t, cells - 1, 1, MPI_LONG, win);
      MPI_Win_flush(t, win);
      CHECK(a == b);
      ++a, ++b;
      MPI_Put(&a, 1, MPI_LONG, t, 0, 1, MPI_LONG, win);
      MPI_Put(&b, 1, MPI_LONG, t, cells - 1, 1, MPI_LONG, win);
      MPI_Win_unlock(t, win);
      if (round % 7 == rank % 7) {
        MPI_Win_lock_all(0, win);
        MPI_Get(&a, 1, MPI_LONG, t, 0, 1, MPI_LONG, win);
        MPI_Get(&b, 1, MPI_LONG, t, cells - 1, 1, MPI_LONG, win);
        MPI_Win_unlock_all(win);
        CHECK(a == b);
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK(base[0] == (long)rounds * size && base[cells - 1] == (long)rounds * size);
  MPI_Win_unlock(rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Fences and post-start-complete-wait, with stores by the owner before and loads after.
static void active(MPI_Win win, long* base) {
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < size; ++i) base[i] = -1;
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int t = 0; t < size; ++t) {
      const long value = 1000L * round + rank;
      MPI_Put(&value, 1, MPI_LONG, t, rank, 1, MPI_LONG, win);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < size; ++i) CHECK(base[i] == 1000L * round + i);
    MPI_Barrier(MPI_COMM_WORLD);

    // A ring: access the right neighbour, expose to the left.
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Group world, to, from;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &right, &to);
    MPI_Group_incl(world, 1, &left, &from);
    base[100] = -5;
    MPI_Win_post(from, 0, win);
    MPI_Win_start(to, 0, win);
    const long value = 2000L * round + rank;
    MPI_Put(&value, 1, MPI_LONG, right, 100, 1, MPI_LONG, win);
    MPI_Win_complete(win);
    if (round % 2 == 0) {
      MPI_Win_wait(win);
    } else {
      for (int flag = 0; !flag;) MPI_Win_test(win, &flag);
    }
    CHECK(base[100] == 2000L * round + left);
    // Empty groups are legal.
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Group_free(&to);
    MPI_Group_free(&from);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void pairs(MPI_Win win, void* memory) {
  struct {
    double value;
    int index;
  } mine, *base = memory;
  for (int i = 0; i < 4; ++i) base[i].value = 1e300, base[i].index = -1;
  own_stores_done(win);
  MPI_Barrier(MPI_COMM_WORLD);
  mine.value = (double)((rank * 7 + 3) % size);
  mine.index = rank;
  MPI_Win_lock_all(0, win);
  for (int t = 0; t < size; ++t) {
    MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, t, 0, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
    MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, t, 2, 1, MPI_DOUBLE_INT, MPI_MINLOC, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  int best = 0;
  for (int r = 1; r < size; ++r)
    if ((r * 7 + 3) % size < (best * 7 + 3) % size) best = r;
  CHECK(base[0].index == best && base[0].value == (double)((best * 7 + 3) % size));
  CHECK(base[1].index == best);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Requests: every way to wait for them, mixed with a receive, and PROC_NULL.
static void with_requests(MPI_Win win, long* base) {
  for (int i = 0; i < cells; ++i) base[i] = i;
  own_stores_done(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  const int t = (rank + 1) % size, left = (rank + size - 1) % size;
  long in[64], big[2048], out = 900 + rank, token = rank, got = -1;
  MPI_Request requests[6] = {MPI_REQUEST_NULL};
  for (int round = 0; round < 12; ++round) {
    memset(in, 0, sizeof in);
    memset(big, 0, sizeof big);
    MPI_Rget(in, 64, MPI_LONG, t, 100, 64, MPI_LONG, win, &requests[0]);
    MPI_Rget(big, 2048, MPI_LONG, t, 1000, 2048, MPI_LONG, win, &requests[1]);
    MPI_Rput(&out, 1, MPI_LONG, t, 10, 1, MPI_LONG, win, &requests[2]);
    MPI_Rput(&out, 1, MPI_LONG, MPI_PROC_NULL, 10, 1, MPI_LONG, win, &requests[3]);
    MPI_Irecv(&got, 1, MPI_LONG, left, 3, MPI_COMM_WORLD, &requests[4]);
    long one = 1;
    MPI_Raccumulate(&one, 1, MPI_LONG, t, 11, 1, MPI_LONG, MPI_SUM, win, &requests[5]);
    MPI_Send(&token, 1, MPI_LONG, t, 3, MPI_COMM_WORLD);
    int done = 0;
    switch (round % 6) {
      case 0:
        MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
        break;
      case 1:
        for (int index; done < 6; ++done) MPI_Waitany(6, requests, &index, MPI_STATUS_IGNORE);
        break;
      case 2:
        while (done < 6) {
          int count, indices[6];
          MPI_Waitsome(6, requests, &count, indices, MPI_STATUSES_IGNORE);
          done += count;
        }
        break;
      case 3:
        for (int flag = 0; !flag;) MPI_Testall(6, requests, &flag, MPI_STATUSES_IGNORE);
        break;
      case 4:
        for (int i = 0; i < 6; ++i)
          for (int flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
        break;
      default:
        for (int i = 5; i >= 0; --i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 6; ++i) CHECK(requests[i] == MPI_REQUEST_NULL);
    CHECK(got == left);
    for (int i = 0; i < 64; ++i) CHECK(in[i] == 100 + i);
    for (int i = 0; i < 2048; ++i) CHECK(big[i] == 1000 + i);
    // The flush completes what its request has not.
    MPI_Rget(in, 1, MPI_LONG, t, 200, 1, MPI_LONG, win, &requests[0]);
    MPI_Win_flush(t, win);
    CHECK(in[0] == 200);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(base[10] == 900 + left && base[11] == 11 + 12);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long count = cells;
  for (int made = 0; made < 2; ++made) {
    long* base;
    MPI_Win win;
    if (made == 0) {
      MPI_Win_allocate(cells * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base,
                       &win);
    } else {
      base = malloc(cells * sizeof(long));
      MPI_Win_create(base, cells * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    }
    int *flavor, flag;
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
    CHECK(flag && *flavor == (made == 0 ? MPI_WIN_FLAVOR_ALLOCATE : MPI_WIN_FLAVOR_CREATE));
    void* attribute;
    MPI_Win_get_attr(win, MPI_WIN_BASE, &attribute, &flag);
    CHECK(flag && attribute == (void*)base);
    for (int kind = 0; kind < 4; ++kind) {
      if (kind == 3) MPI_Win_lock_all(0, win);
      // Exclusive epochs of all origins on one target go one after the other.
      for (int i = 0; i < size; ++i) operations(kind, (rank + i) % size, &count, win);
      if (kind == 3) MPI_Win_unlock_all(win);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    concurrent(win, base);
    exclusive(win, base);
    active(win, base);
    pairs(win, base);
    with_requests(win, base);
    MPI_Win_free(&win);
    if (made == 1) free(base);
  }
  return check_finish();
}
