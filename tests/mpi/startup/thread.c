/* A background thread calls MPI_Init_thread and serves; the main thread asks MPI_Initialized until
 * it is so, then uses MPI. 2 ranks. */
#include <pthread.h>
#include <sched.h>

#include "check.h"

static volatile int stop;
static int level;
static void* background(void* unused) {
  (void)unused;
  MPI_Init_thread(0, 0, MPI_THREAD_MULTIPLE, &level);
  while (!stop) usleep(1000);
  return 0;
}

int main(void) {
  watch(30);
  pthread_t thread;
  pthread_create(&thread, 0, background, 0);
  int ready = 0;
  while (!ready) {
    sched_yield();
    MPI_Initialized(&ready);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (getenv("FIELD_SIZE")) CHECK(size == atoi(getenv("FIELD_SIZE")), "%d ranks", size);
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == size, "%d of %d", sum, size);
  stop = 1;
  pthread_join(thread, 0);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
