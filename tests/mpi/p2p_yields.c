/* MPICH 5 gives its core away after each poll of a wait. Hob leaves most of that out while no other
 * process wants the core, and makes what the program yields itself. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "p2p_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { kMessages = 100, kTag = 1, kPatience = 60 };

static unsigned long long yields_left_out(void) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter("yields_left_out", &count);
  return count;
}

static void exchange(void) {
  int there = 0;
  for (int i = 0; i < kMessages; i++) {
    if (world_rank == 0) MPI_Send(&i, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    MPI_Recv(&there, 1, MPI_INT, 1 - world_rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank == 1) MPI_Send(&i, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
    CHECK_EQ(there, i);
  }
}

/* On a loaded machine, the core may be wanted for a while. */
static void left_out(void) {
  const double begin = MPI_Wtime();
  int both = 0;
  if (!HOB_Counter) return;
  while (!both) {
    int own = yields_left_out() != 0 || MPI_Wtime() - begin > kPatience;
    exchange();
    MPI_Allreduce(&own, &both, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  }
  CHECK(yields_left_out() != 0);
  const unsigned long long before = yields_left_out();
  for (int i = 0; i < 1000; i++) sched_yield();
  CHECK(yields_left_out() == before);
}

static void made(void) {
  for (int i = 0; i < 100; i++) exchange();
  CHECK(yields_left_out() == 0);
}

static atomic_int ended;
static void* compute(void* unused) {
  while (!ended) continue;
  return unused;
}

/* Many threads may call MPI: all are made while others run, since these may wait for a lock. */
static void threads(void) {
  left_out();
  pthread_t other;
  pthread_create(&other, NULL, compute, NULL);
  const double begin = MPI_Wtime();
  for (int both = !HOB_Counter; !both;) {
    const unsigned long long before = yields_left_out();
    exchange();
    int own = yields_left_out() == before;
    CHECK(MPI_Wtime() - begin < kPatience);
    MPI_Allreduce(&own, &both, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  }
  ended = 1;
  pthread_join(other, NULL);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"left_out", left_out}, {"made", made}, {"threads", threads}};
  const int many = argc > 1 && strcmp(argv[1], "threads") == 0;
  int provided = 0;
  MPI_Init_thread(&argc, &argv, many ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  return RUN_CASES(argc, argv, cases);
}
