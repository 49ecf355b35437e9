/* Several threads on windows that the library alone serves: each operation is counted once, also of
 * threads that begin when others have ended, of windows that come and go, and where a window shows
 * memory of another one. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { kThreads = 4, kRounds = 500, kAtomics = 100 };

static int rank, ranks, wrong;
static MPI_Win win;

static void expect(long is, long should, const char* what) {
  if (is == should) return;
  printf("rank %d: %ld %s instead of %ld\n", rank, is, what, should);
  __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
}

/* Nothing without Hob. */
static long counter(const char* name) {
  int (*const read)(const char*, uint64_t*) =
      (int (*)(const char*, uint64_t*))dlsym(RTLD_DEFAULT, "HOB_Counter");
  uint64_t value = 0;
  if (!read) return -1;
  expect(read(name, &value), 0, "of HOB_Counter");
  return (long)value;
}

static void* operates(void* number) {
  const int me = (int)(intptr_t)number, other = (rank + 1) % ranks;
  long place[2] = {0, 0}, one = 1, old;
  for (long i = 0; i < kRounds; i++) {
    place[0] = 1000 * i + me;
    MPI_Put(place, 1, MPI_LONG, other, 2 * me, 1, MPI_LONG, win);
    MPI_Win_flush(other, win);
    place[1] = -1;
    MPI_Get(&place[1], 1, MPI_LONG, other, 2 * me, 1, MPI_LONG, win);
    MPI_Win_flush_local(other, win);
    expect(place[1], place[0], "was got");
    MPI_Get(&place[1], 1, MPI_LONG, rank, 2 * kThreads, 1, MPI_LONG, win);
    MPI_Accumulate(&one, 1, MPI_LONG, other, 2 * me + 1, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush_all(win);
  }
  for (int i = 0; i < kAtomics; i++) {
    MPI_Request request;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, other, 2 * me + 1, MPI_SUM, win);
    MPI_Win_flush(other, win);
    expect(old, kRounds + i, "was fetched");
    MPI_Rget(&place[1], 1, MPI_LONG, other, 2 * me, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(place[1], place[0], "was got by a request");
  }
  return NULL;
}

static void in_threads(int threads) {
  pthread_t thread[kThreads];
  for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, operates, (void*)(intptr_t)i);
  for (int i = 0; i < threads; i++) pthread_join(thread[i], NULL);
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long done = 0;
  const long before[] = {counter("gets"), counter("puts"), counter("accumulates"),
                         counter("atomics"), counter("requested")};
  for (int window = 0; window < 40; window++) {
    const int threads = 1 + window % kThreads;
    long *memory, *second_memory;
    MPI_Win second = MPI_WIN_NULL;
    MPI_Win_allocate((2 * kThreads + 1) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &win);
    for (int i = 0; i <= 2 * kThreads; i++) memory[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (window >= 38) { /* from here on, each operation is seen */
      second_memory = memory;
      MPI_Win_create(second_memory, 2 * kThreads * sizeof(long), sizeof(long), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &second);
    }
    MPI_Win_lock_all(0, win);
    in_threads(threads);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    done += threads;
    if (before[0] >= 0 && window % 8 == 7) { /* while the window is there */
      expect(counter("gets") - before[0], done * (2 * kRounds + kAtomics), "gets");
      expect(counter("puts") - before[1], done * kRounds, "puts");
    }
    if (second != MPI_WIN_NULL) MPI_Win_free(&second);
    MPI_Win_free(&win);
  }
  if (before[0] >= 0) {
    expect(counter("gets") - before[0], done * (2 * kRounds + kAtomics), "gets");
    expect(counter("puts") - before[1], done * kRounds, "puts");
    expect(counter("accumulates") - before[2], done * kRounds, "accumulates");
    expect(counter("atomics") - before[3], done * kAtomics, "atomics");
    expect(counter("requested") - before[4], done * kAtomics, "with requests");
  }
  if (wrong == 0) printf("rank %d: right\n", rank);
  MPI_Finalize();
  return wrong != 0;
}
