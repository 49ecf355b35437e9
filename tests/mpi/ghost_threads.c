// MPI_THREAD_MULTIPLE: threads of every rank work at the same time, on a window of all of them and
// on one of each thread's own, with every way to complete. Then all write vectors to the last rank,
// so many that they wait for room among each other. Sums and contents must be exact.
#include <pthread.h>

#include "ghost_check.h"

enum { threads = 4 };
enum { burst = 8, blocks = 32, length = 8, stride = 16, words = blocks * length };
enum { span = blocks * stride };      // of one vector at the target
enum { areas = burst + 2 };           // of one thread: to put, to add, to fetch
static const MPI_Aint common_at = 0;  // all threads of all ranks add here
static int own_at(int of_rank, int thread, int area) {
  return span * (1 + (of_rank * threads + thread) * areas + area);
}

static int rounds = 40, bursts = 60;
static int rank, size;
static MPI_Win shared, own[threads], vectors;
static MPI_Datatype vector;
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

static long value_of(int of_rank, int thread, int number, int k) {
  return 1 + of_rank + 7L * thread + 31L * number + 1009L * k;
}

// Bursts of puts and accumulates of a vector type to one target. A put is of one run of memory, or
// itself of a vector with gaps.
static void* write_vectors(void* argument) {
  const int me = (int)(long)argument, target = size - 1;
  static long from[threads][burst][span];
  long ones[words], fetched[words];
  for (int k = 0; k < words; ++k) ones[k] = 1;
  for (int b = 0; b < bursts; ++b) {
    for (int i = 0; i < burst; ++i) {
      const int gaps = i % 2;
      long* words_of_it = from[me][i];
      for (int k = 0; k < words; ++k)
        words_of_it[gaps ? k / length * stride + k % length : k] =
            value_of(rank, me, b * burst + i, k);
      MPI_Put(words_of_it, gaps ? 1 : words, gaps ? vector : MPI_LONG, target, own_at(rank, me, i),
              1, vector, vectors);
      MPI_Accumulate(ones, words, MPI_LONG, target, common_at, 1, vector, MPI_SUM, vectors);
      MPI_Accumulate(ones, words, MPI_LONG, target, own_at(rank, me, burst), 1, vector, MPI_SUM,
                     vectors);
    }
    memset(fetched, 0, sizeof fetched);
    MPI_Get_accumulate(ones, words, MPI_LONG, fetched, words, MPI_LONG, target,
                       own_at(rank, me, burst + 1), 1, vector, MPI_SUM, vectors);
    if (b % 3 == 0) MPI_Win_flush_local(target, vectors);
    if (b % 3 == 1) MPI_Win_flush_all(vectors);
    MPI_Win_flush(target, vectors);
    int wrong = 0;
    for (int k = 0; k < words; ++k) wrong += fetched[k] != b;
    CHECK_LOCKED(wrong == 0);
  }
  return NULL;
}

static void check_vectors(const long* base) {
  int wrong = 0;
  for (int at = 0; at < span; ++at) {
    const int data = at % stride < length;
    const int k = at / stride * length + at % stride;
    wrong += base[common_at + at] != (data ? (long)size * threads * bursts * burst : 0);
    for (int r = 0; r < size; ++r) {
      for (int t = 0; t < threads; ++t) {
        for (int i = 0; i < burst; ++i)
          wrong += base[own_at(r, t, i) + at] !=
                   (data ? value_of(r, t, (bursts - 1) * burst + i, k) : 0);
        wrong += base[own_at(r, t, burst) + at] != (data ? (long)bursts * burst : 0);
        wrong += base[own_at(r, t, burst + 1) + at] != (data ? (long)bursts : 0);
      }
    }
  }
  CHECK(wrong == 0);
}

static void run(void* (*what)(void*)) {
  pthread_t ids[threads];
  for (int i = 0; i < threads; ++i) pthread_create(&ids[i], NULL, what, (void*)(long)i);
  for (int i = 0; i < threads; ++i) pthread_join(ids[i], NULL);
}

static void all_write_vectors(void) {
  long* base;
  const MPI_Aint bytes = (MPI_Aint)own_at(size, 0, 0) * (MPI_Aint)sizeof(long);
  MPI_Type_vector(blocks, length, stride, MPI_LONG, &vector);
  MPI_Type_commit(&vector);
  MPI_Win_allocate(bytes, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &vectors);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, vectors);
  memset(base, 0, (size_t)bytes);
  MPI_Win_unlock(rank, vectors);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, vectors);
  run(write_vectors);
  MPI_Win_unlock_all(vectors);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, vectors);
  if (rank == size - 1) check_vectors(base);
  MPI_Win_unlock(rank, vectors);
  MPI_Win_free(&vectors);
  MPI_Type_free(&vector);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (argc > 1) {
    rounds = rounds * atoi(argv[1]) / 100;
    bursts = bursts * atoi(argv[1]) / 100;
  }
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
  run(work);
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
  all_write_vectors();
  return check_finish();
}
