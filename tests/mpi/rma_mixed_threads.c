/* Four threads that do different things at once: windows are made and freed, with batches, copies
 * and another mode; puts to one window; gets from a second one, with each kind of synchronisation;
 * shared locks, which Hob may hold back. Each thread looks at what only it changes. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLongs = 256, kThreads = 4 };

static int rank, ranks, rounds, wrong;
static MPI_Win shared;
static MPI_Comm comms[kThreads];

static void expect(long is, long should, const char* what) {
  if (is == should) return;
  printf("%d %s: %ld instead of %ld\n", rank, what, is, should);
  __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

static MPI_Win window(MPI_Comm comm, const char* key, const char* word, long** memory) {
  MPI_Info info;
  MPI_Win win;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, word);
  MPI_Win_allocate(kLongs * (MPI_Aint)sizeof(long), sizeof(long), info, comm, memory, &win);
  MPI_Info_free(&info);
  for (int i = 0; i < kLongs; ++i) (*memory)[i] = 1000 * rank + i;
  MPI_Barrier(comm);
  return win;
}

static void* makes_windows(void* unused) {
  static const char* const words[] = {"auto", "strict", "off"};
  const int other = (rank + 1) % ranks;
  for (int round = 0; round < rounds; ++round) {
    long *memory, value = -1;
    MPI_Win win = window(comms[0], "hob_batch", "8", &memory);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "hob_cache", words[round % 3]);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_fence(0, win);
    MPI_Get(&value, 1, MPI_LONG, other, round % kLongs, 1, MPI_LONG, win);
    MPI_Win_fence(0, win);
    expect(value, 1000 * other + round % kLongs, "a get between fences");
    MPI_Win_free(&win);
  }
  return unused;
}

/* To the other's place of this rank: nobody else writes there. */
static void* writes(void* unused) {
  const int other = (rank + 1) % ranks;
  for (long round = 0; round < rounds; ++round) {
    long out[32], in[32];
    for (int i = 0; i < 32; ++i) {
      out[i] = round + i;
      MPI_Put(&out[i], 1, MPI_LONG, other, i, 1, MPI_LONG, shared);
    }
    if (round % 2)
      MPI_Win_flush(other, shared);
    else
      MPI_Win_flush_all(shared);
    for (int i = 0; i < 32; ++i) MPI_Get(&in[i], 1, MPI_LONG, other, i, 1, MPI_LONG, shared);
    MPI_Win_flush(other, shared);
    for (int i = 0; i < 32; ++i) expect(in[i], out[i], "an own put");
  }
  return unused;
}

/* Places that nobody writes. */
static void* reads(void* unused) {
  const int other = (rank + 1) % ranks;
  for (int round = 0; round < rounds; ++round) {
    long in[32];
    MPI_Request requests[32];
    for (int i = 0; i < 32; ++i)
      MPI_Rget(&in[i], 1, MPI_LONG, other, 64 + i, 1, MPI_LONG, shared, &requests[i]);
    MPI_Waitall(32, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 32; ++i) expect(in[i], 1000 * other + 64 + i, "a get with a request");
    for (int i = 0; i < 32; ++i) MPI_Get(&in[i], 1, MPI_LONG, other, 64 + i, 1, MPI_LONG, shared);
    MPI_Win_flush_local_all(shared);
    MPI_Win_sync(shared);
    MPI_Win_flush_all(shared);
    for (int i = 0; i < 32; ++i) expect(in[i], 1000 * other + 64 + i, "a get");
  }
  return unused;
}

static void* locks(void* unused) {
  const int other = (rank + 1) % ranks;
  long* memory;
  MPI_Win win = window(comms[3], "hob_batch", "16", &memory);
  for (int round = 0; round < rounds; ++round) {
    long in[8];
    MPI_Win_lock(MPI_LOCK_SHARED, other, MPI_MODE_NOCHECK, win);
    for (int i = 0; i < 8; ++i) MPI_Get(&in[i], 1, MPI_LONG, other, i, 1, MPI_LONG, win);
    MPI_Win_unlock(other, win);
    for (int i = 0; i < 8; ++i) expect(in[i], 1000 * other + i, "a get under a lock");
  }
  MPI_Barrier(comms[3]);
  MPI_Win_free(&win);
  return unused;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  rounds = argc > 1 ? atoi(argv[1]) : 50;
  if (provided == MPI_THREAD_MULTIPLE) {
    static void* (*const work[kThreads])(void*) = {makes_windows, writes, reads, locks};
    pthread_t threads[kThreads];
    long* memory;
    for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    shared = window(MPI_COMM_WORLD, "hob_batch", "16", &memory);
    MPI_Win_lock_all(0, shared);
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work[i], NULL);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    MPI_Win_unlock_all(shared);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&shared);
    for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&comms[i]);
  }
  MPI_Finalize();
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
