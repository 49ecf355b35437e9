/* What the RMA test programs share: a channel outside MPI, so that a test can order two ranks
 * without any call from which an MPI process could learn, and a count of what went wrong. */
#ifndef RMA_CHECK_H
#define RMA_CHECK_H

#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int failures;
static int my_rank;
static int ranks;
static volatile int* outside; /* memory that the ranks share behind MPI's back */

__attribute__((format(printf, 2, 3), unused)) static void expect(int good, const char* format,
                                                                 ...) {
  if (good || failures++ > 20) return;
  va_list args;
  va_start(args, format);
  printf("FAILED rank %d: ", my_rank);
  vprintf(format, args);
  printf("\n");
  va_end(args);
  fflush(stdout);
}

static void open_outside(void) {
  char name[64] = "";
  if (my_rank == 0) snprintf(name, sizeof name, "/dev/shm/hob-rma-test-%d", (int)getpid());
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (my_rank == 0) {
    int file = open(name, O_CREAT | O_RDWR | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
    close(file);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int file = open(name, O_RDWR);
  outside = (volatile int*)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) unlink(name);
}

/* Step `step` of cell `cell` is reached; the other side awaits it. */
__attribute__((unused)) static void reach(int cell, int step) {
  __sync_synchronize();
  outside[cell] = step;
}

__attribute__((unused)) static void await(int cell, int step) {
  while (outside[cell] < step) sched_yield();
  __sync_synchronize();
}

/* The same, making progress for others inside MPI meanwhile. */
__attribute__((unused)) static void await_in_mpi(int cell, int step) {
  int flag;
  while (outside[cell] < step) {
    MPI_Iprobe(MPI_ANY_SOURCE, 30001, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
  __sync_synchronize();
}

__attribute__((unused)) static void begin(int* argc, char*** argv) {
  int provided;
  MPI_Init_thread(argc, argv, MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  open_outside();
}

__attribute__((unused)) static int finish(void) {
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) printf("%s\n", all == 0 ? "passed" : "failed");
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}

#endif
