// MPI_THREAD_MULTIPLE: threads of every rank work at the same time, on a window of all of them and
// on one of each thread's own, with every way to complete. Sums must be exact.
#include <pthread.h>

#include "ghost_check.h"

enum { threads = 4, rounds = 40 };

static int rank, size;
static MPI_Win shared, own[threads];
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

#define CHECK_LOCKED(condition)      \
  do {                               \
    pthread_mutex_lock(&counting);   \
    CHECK(condition);                \
    pthread_mutex_unlock(&counting); \
  } while (0)

static void* work(void* argument) {
  const int me = (int)(long)argument;
  const MPI_Aint cell = 8 + rank * threads + me;  // of mine in the shared window, in every target
  for (int round = 0; round < rounds; ++round) {
    for (int t = 0; t < size; ++t) {
      const long one = 1;
      long old = -1, got = -1, put = 1000L * round + me;
      MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, shared);
      MPI_Fetch_and_op(&one, &old, MPI_LONG, t, 1, MPI_SUM, shared);
      MPI_Put(&put, 1, MPI_LONG, t, cell, 1, MPI_LONG, shared);
      MPI_Win_flush(t, shared);
      CHECK_LOCKED(old >= 0 && old < (long)rounds * threads * size);
      MPI_Request requests[2];
      MPI_Rget(&got, 1, MPI_LONG, t, cell, 1, MPI_LONG, shared, &requests[0]);
      MPI_Raccumulate(&one, 1, MPI_LONG, t, 2, 1, MPI_LONG, MPI_SUM, shared, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
      CHECK_LOCKED(got == put);
      // An epoch of this thread alone, while the others work on.
      MPI_Win_lock(round % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, t, 0, own[me]);
      MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, own[me]);
      MPI_Win_unlock(t, own[me]);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  long *base, *bases[threads];
  const MPI_Aint bytes = (8 + size * threads) * (MPI_Aint)sizeof(long);
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &shared);
  memset(base, 0, (size_t)bytes);
  for (int i = 0; i < threads; ++i) {
    MPI_Win_allocate(64, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i], &own[i]);
    memset(bases[i], 0, 64);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, own[i]);
    MPI_Win_unlock(rank, own[i]);
  }
  MPI_Win_lock_all(0, shared);
  MPI_Win_sync(shared);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_t ids[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, work, (void*)(long)i);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
  MPI_Win_unlock_all(shared);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, shared);
  for (int i = 0; i < 3; ++i) CHECK(base[i] == (long)rounds * threads * size);
  for (int i = 0; i < size * threads; ++i) CHECK(base[8 + i] == 1000L * (rounds - 1) + i % threads);
  MPI_Win_unlock(rank, shared);
  for (int i = 0; i < threads; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, own[i]);
    CHECK(bases[i][0] == (long)rounds * size);
    MPI_Win_unlock(rank, own[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < threads; ++i) MPI_Win_free(&own[i]);
  MPI_Win_free(&shared);
  return check_finish();
}
