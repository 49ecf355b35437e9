/* MPI_THREAD_MULTIPLE: threads share an epoch of a shared lock that the main thread opens, so that
 * one that Hob holds back is sent by whoever comes first, while the others wait for it. Each thread
 * writes to cells of its own; what is read never changes, so the program is right in every mode. */
#include <pthread.h>

#include "rma_check.h"

enum { THREADS = 3, ROUNDS = 60, PUT = 0, SUM = 16, READ = 32, CELLS = 64 };

static MPI_Win win;
static pthread_barrier_t together;
static int errors;

static void good(int error) {
  if (error != MPI_SUCCESS) __sync_fetch_and_add(&errors, 1);
}

static long read_only(int cell) { return 7000 + cell; }

static void* work(void* argument) {
  const int me = (int)(long)argument;
  const long one = 1;
  for (int round = 0; round < ROUNDS; round++) {
    long out = round, in = read_only(READ + me), fetched;
    pthread_barrier_wait(&together);
    switch ((round + me) % 4) {
      case 0:
        in = -1;
        good(MPI_Get(&in, 1, MPI_LONG, 1, READ + me, 1, MPI_LONG, win));
        break;
      case 2:
        good(MPI_Fetch_and_op(&one, &fetched, MPI_LONG, 1, SUM + THREADS + me, MPI_SUM, win));
        break;
      default:
        good(MPI_Put(&out, 1, MPI_LONG, 1, PUT + me, 1, MPI_LONG, win));
    }
    good(MPI_Accumulate(&one, 1, MPI_LONG, 1, SUM + me, 1, MPI_LONG, MPI_SUM, win));
    pthread_barrier_wait(&together);
    pthread_barrier_wait(&together);
    expect(in == read_only(READ + me), "round %d: read %ld", round, in);
  }
  return NULL;
}

/* Of these, the last one that wrote. */
static long last_put(int me) {
  for (int round = ROUNDS - 1;; round--)
    if ((round + me) % 4 % 2 == 1) return round;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("SKIP: MPI_THREAD_MULTIPLE is not provided\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  long* memory;
  MPI_Win_allocate(CELLS * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int i = 0; i < CELLS; i++) memory[i] = i < READ ? 0 : read_only(i);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void*)i);
    for (int round = 0; round < ROUNDS; round++) {
      good(MPI_Win_lock(MPI_LOCK_SHARED, 1, round % 3 ? MPI_MODE_NOCHECK : 0, win));
      pthread_barrier_wait(&together);
      pthread_barrier_wait(&together);
      good(MPI_Win_unlock(1, win));
      pthread_barrier_wait(&together);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    expect(errors == 0, "%d calls failed", errors);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 1) {
    /* In MPICH 5, nobody gets an exclusive lock any more after locks with MPI_MODE_NOCHECK. */
    MPI_Win_lock(MPI_LOCK_SHARED, 1, MPI_MODE_NOCHECK, win);
    for (int i = 0; i < THREADS; i++) {
      expect(memory[PUT + i] == last_put(i), "thread %d put %ld", i, memory[PUT + i]);
      expect(memory[SUM + i] == ROUNDS, "thread %d added %ld times", i, memory[SUM + i]);
      expect(memory[SUM + THREADS + i] == ROUNDS / 4, "thread %d fetched and added %ld times", i,
             memory[SUM + THREADS + i]);
    }
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
