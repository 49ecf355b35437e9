/* What the programs about start-up share: a time limit, checks, and one verdict of all ranks. */
#ifndef HOB_STARTUP_CHECK_H
#define HOB_STARTUP_CHECK_H

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size, bad;

static void late(int signal_number) {
  static const char text[] = "FAIL: no end in time\n";
  (void)signal_number;
  if (write(1, text, sizeof text - 1) < 0) _exit(4);
  _exit(3);
}
static inline void watch(unsigned seconds) {
  signal(SIGALRM, late);
  alarm(seconds);
}
#define CHECK(condition, ...)                       \
  do {                                              \
    if (!(condition)) {                             \
      ++bad;                                        \
      printf("rank %d, line %d: ", rank, __LINE__); \
      printf(__VA_ARGS__);                          \
      putchar('\n');                                \
      fflush(stdout);                               \
    }                                               \
  } while (0)
static inline int verdict(void) {
  int all = 0;
  MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    puts(all ? "FAIL" : "PASS");
    fflush(stdout);
  }
  return all != 0;
}

#endif
