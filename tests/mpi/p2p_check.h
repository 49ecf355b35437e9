/* What the point-to-point tests share: checks that count, a deadline for each case, and a table of
 * named cases. A program runs all cases, or those named on its command line; rank 0 prints one
 * line. */
#ifndef HOB_TESTS_MPI_P2P_CHECK_H
#define HOB_TESTS_MPI_P2P_CHECK_H

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rank may run a case from several threads. */
static _Atomic long failures;
static _Atomic long checks;
static int world_rank;
static int world_size;
static const char* volatile case_name = "start";

/* A case that takes longer hangs: far longer than the slowest takes on a busy machine, and less
 * than the test's own time limit. */
enum { kHangSeconds = 200 };

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    checks++;                                                                                     \
    if (!(condition)) {                                                                           \
      failures++;                                                                                 \
      fprintf(stderr, "%s:%d: rank %d, case %s: %s\n", __FILE__, __LINE__, world_rank, case_name, \
              #condition);                                                                        \
    }                                                                                             \
  } while (0)

#define CHECK_EQ(a, b)                                                                       \
  do {                                                                                       \
    long long left_value = (long long)(a), right_value = (long long)(b);                     \
    checks++;                                                                                \
    if (left_value != right_value) {                                                         \
      failures++;                                                                            \
      fprintf(stderr, "%s:%d: rank %d, case %s: %s is %lld, not %lld\n", __FILE__, __LINE__, \
              world_rank, case_name, #a, left_value, right_value);                           \
    }                                                                                        \
  } while (0)

static void on_deadline(int signal_number) {
  char text[256];
  int length =
      snprintf(text, sizeof text, "rank %d: case %s missed its deadline\n", world_rank, case_name);
  (void)signal_number;
  (void)!write(2, text, (size_t)length);
  _exit(97);
}

/* Arguments: names of cases to run (all without any), -name for one to leave out. */
static int selected(int argc, char** argv, const char* name) {
  int named = 0, hit = 0;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-') {
      if (strcmp(argv[i] + 1, name) == 0) return 0;
    } else {
      named = 1;
      hit |= strcmp(argv[i], name) == 0;
    }
  }
  return !named || hit;
}

struct test_case {
  const char* name;
  void (*run)(void);
};

/* Runs the selected cases; every rank takes part in every one. Returns the program's exit status.
 */
__attribute__((unused)) static int run_cases(int argc, char** argv, const struct test_case* cases,
                                             int count, unsigned deadline) {
  long total[2], mine[2];
  int ran = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  signal(SIGALRM, on_deadline);
  for (int i = 0; i < count; i++) {
    if (!selected(argc, argv, cases[i].name)) continue;
    case_name = cases[i].name;
    alarm(deadline);
    cases[i].run();
    MPI_Barrier(MPI_COMM_WORLD);
    ran++;
  }
  case_name = "end";
  alarm(deadline);
  mine[0] = failures;
  mine[1] = checks;
  MPI_Allreduce(mine, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) printf("%d cases, %ld checks, %ld failures\n", ran, total[1], total[0]);
  fflush(stdout);
  MPI_Finalize();
  return total[0] != 0 || total[1] == 0;
}

#define RUN_CASES(argc, argv, cases) \
  run_cases(argc, argv, cases, (int)(sizeof(cases) / sizeof((cases)[0])), kHangSeconds)

#endif
