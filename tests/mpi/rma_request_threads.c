/* MPI_THREAD_MULTIPLE: threads that fetch with requests, wait in every way, and use their buffers
 * again at once, so that the library gives a request's handle to another thread as soon as it is
 * complete. Nobody writes: what is read later must be what was there from the start. */
#include <pthread.h>

#include "rma_check.h"

enum { THREADS = 4, MOST = 24, AREA = 8192, LONGEST = 8, ROUNDS = 250 };

static MPI_Win win;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static double value(int rank, int cell) { return 100000.0 * rank + cell; }

struct one {
  double bytes[LONGEST];
  int target, cell, count;
};

static void check(const char* what, struct one* it) {
  for (int i = 0; i < it->count; i++) {
    if (it->bytes[i] == value(it->target, it->cell + i)) continue;
    pthread_mutex_lock(&counting);
    expect(0, "%s: cell %d of rank %d: %g", what, it->cell + i, it->target, it->bytes[i]);
    pthread_mutex_unlock(&counting);
  }
  memset(it->bytes, 0xEE, sizeof it->bytes);
}

static void complete(int way, int n, MPI_Request* requests) {
  int flag = 0, index, left = n, done, indices[MOST];
  switch (way) {
    case 0:
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      break;
    case 1:
      for (int i = 0; i < n; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 2:
      while (!flag) MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
      break;
    case 3:
      for (; left > 0; left--) MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
      break;
    case 4:
      for (; left > 0; left -= done) MPI_Waitsome(n, requests, &done, indices, MPI_STATUSES_IGNORE);
      break;
    default:
      for (int i = 0; i < n; i++)
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
  }
}

static void* work(void* argument) {
  const int me = (int)(long)argument;
  unsigned state = (unsigned)(1 + my_rank * THREADS + me);
  struct one list[MOST];
  MPI_Request requests[MOST];
  memset(list, 0xEE, sizeof list);
  for (int round = 0, fresh = 0; round < ROUNDS; round++) {
    const int n = 1 + (round * 7 + me * 5) % MOST, target = (my_rank + 1) % ranks;
    for (int i = 0; i < n; i++) {
      struct one* it = &list[i];
      state = state * 1103515245 + 12345;
      it->target = target;
      it->count = 1 + (int)(state >> 20) % LONGEST;
      /* Half of them were read before, by this thread or another. */
      it->cell =
          (state >> 16) % 2 == 0 || fresh == 0
              ? me * AREA + (fresh += LONGEST) % (AREA - LONGEST)
              : (int)(state >> 8) % THREADS * AREA + (int)(state >> 10) % fresh % (AREA - LONGEST);
      MPI_Rget(it->bytes, it->count, MPI_DOUBLE, target, it->cell, it->count, MPI_DOUBLE, win,
               &requests[i]);
    }
    complete((int)(state >> 24) % 6, n, requests);
    for (int i = 0; i < n; i++) check("request", &list[i]);
    for (int again = 0; again < 2; again++) {
      for (int i = 0; i < n; i++) {
        struct one* it = &list[i];
        MPI_Get(it->bytes, it->count, MPI_DOUBLE, target, it->cell, it->count, MPI_DOUBLE, win);
      }
      MPI_Win_flush(target, win);
      for (int i = 0; i < n; i++) check("again", &list[i]);
    }
  }
  return NULL;
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
  /* Created, since libraries complete requests for allocated memory of the same node at once. */
  double* memory = malloc(THREADS * AREA * sizeof *memory);
  MPI_Win_create(memory, THREADS * AREA * sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  for (int i = 0; i < THREADS * AREA; i++) memory[i] = value(my_rank, i);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  pthread_t threads[THREADS];
  for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(memory);
  return finish();
}
