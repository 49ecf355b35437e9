/* Twenty small programs for which it is known what Hob can do. The first argument says which; with
 * a second one, rank 0 prints the seconds between MPI's start and end. Two ranks; rank 0 works on
 * rank 1, which attends unless the name says that it computes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kWords = 1 << 20 };

static int rank, other;
static long* memory;
static MPI_Win win;

static void compute(double ms) {
  const double until = MPI_Wtime() + ms * 1e-3;
  while (MPI_Wtime() < until) continue;
}

static void open_window(MPI_Comm comm) {
  MPI_Win_allocate(kWords * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory, &win);
  for (int i = 0; i < kWords; i++) memory[i] = i;
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
}

static void close_window(void) {
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

static void get(int target, long at, int words) {
  static long into[1 << 14];
  MPI_Get(into, words, MPI_LONG, target, at, words, MPI_LONG, win);
  MPI_Win_flush(target, win);
  if (into[0] != at) MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Gets of `places` places, `apart` words apart, again and again. */
static void gets(int times, int places, long apart, int words) {
  open_window(MPI_COMM_WORLD);
  if (rank == 0)
    for (int k = 0; k < times; k++) get(1, k % places * apart, words);
  close_window();
}

static void gets_at_random(void) {
  open_window(MPI_COMM_WORLD);
  unsigned long seed = 1;
  if (rank == 0)
    for (int k = 0; k < 4000; k++) {
      seed = seed * 6364136223846793005UL + 1442695040888963407UL;
      get(1, (long)(seed >> 44), 1);
    }
  close_window();
}

/* Many gets before each flush, of places that repeat. */
static void gets_in_bursts(int times, int together) {
  static long into[64];
  open_window(MPI_COMM_WORLD);
  if (rank == 0)
    for (int k = 0; k < times; k++) {
      for (int i = 0; i < together; i++) {
        const long at = (k % 4 * together + i) * 4096L % kWords;
        MPI_Get(&into[i], 1, MPI_LONG, 1, at, 1, MPI_LONG, win);
      }
      MPI_Win_flush(1, win);
    }
  close_window();
}

/* The target computes at first, and attends from then on. */
static void gets_of_a_late_target(void) {
  open_window(MPI_COMM_WORLD);
  if (rank == 1) compute(50);
  if (rank == 0)
    for (int k = 0; k < 10000; k++) get(1, k % 8 * 4096, 1);
  close_window();
}

/* Sums of words, so many before each flush. */
static void sums(int count, int together) {
  open_window(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int k = 0; k < count; k++) {
      const long one = 1;
      MPI_Accumulate(&one, 1, MPI_LONG, 1, k * 37L % kWords, 1, MPI_LONG, MPI_SUM, win);
      if ((k + 1) % together == 0) MPI_Win_flush(1, win);
    }
  }
  close_window();
}

static void gets_by_request(void) {
  open_window(MPI_COMM_WORLD);
  if (rank == 0)
    for (int k = 0; k < 10000; k++) {
      long into;
      MPI_Request request;
      MPI_Rget(&into, 1, MPI_LONG, 1, k % 20 * 50, 1, MPI_LONG, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  close_window();
}

/* Every get between two barriers; the target writes there before, or nobody does. */
static void gets_between_barriers(int written) {
  open_window(MPI_COMM_WORLD);
  for (int k = 0; k < 2000; k++) {
    if (written && rank == 1) {
      for (int i = 0; i < 20; i++) memory[i * 4096 + 1] = k;
      MPI_Win_sync(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) get(1, k % 20 * 4096, 2);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  close_window();
}

static void puts_to(int target) {
  open_window(MPI_COMM_WORLD);
  if (rank == 0)
    for (int k = 0; k < 5000; k++) {
      long from = k % 20 * 50;
      MPI_Put(&from, 1, MPI_LONG, target, from, 1, MPI_LONG, win);
      MPI_Win_flush(target, win);
    }
  close_window();
}

static void accumulates(int computing) {
  for (int k = 0; k < 60; k++) {
    long one = 0;
    if (rank == 0) {
      MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_flush(1, win);
    } else if (computing) {
      compute(10);
      MPI_Win_flush(0, win);
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
  }
}

static void accumulate_program(int computing) {
  open_window(MPI_COMM_WORLD);
  accumulates(computing);
  close_window();
}

static void accumulate_dynamic(void) {
  long* mine = calloc(64, sizeof *mine);
  MPI_Aint at, both[2];
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_attach(win, mine, 64 * sizeof *mine);
  MPI_Get_address(mine, &at);
  MPI_Allgather(&at, 1, MPI_AINT, both, 1, MPI_AINT, MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 60; k++) {
    long one = 1;
    if (rank == 0) {
      MPI_Accumulate(&one, 1, MPI_LONG, 1, both[1], 1, MPI_LONG, MPI_SUM, win);
      MPI_Win_flush(1, win);
    } else {
      compute(10);
      int flag;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(win, mine);
  MPI_Win_free(&win);
  free(mine);
}

static void collectives(void) {
  double sum = 0, one = 1;
  for (int k = 0; k < 3000; k++) MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void back_and_forth(void) {
  char byte = 0;
  for (int k = 0; k < 5000; k++) {
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
}

/* Receives that are all posted before the first message, which the last of them takes. */
static void deep(int posted, int rounds) {
  static char bytes[8192];
  static MPI_Request requests[8192];
  char byte = 1;
  for (int round = 0; round < rounds; round++) {
    if (rank == 1)
      for (int i = 0; i < posted; i++)
        MPI_Irecv(&bytes[i], 1, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
      for (int i = posted; i-- > 0;) MPI_Send(&byte, 1, MPI_CHAR, 1, i, MPI_COMM_WORLD);
    else
      MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* Large messages both ways while both "compute"; the second rank comes late where that is asked. */
static void exchanges(int bytes, int rounds, int late_us) {
  char *out = calloc(1, bytes), *in = calloc(1, bytes);
  for (int k = 0; k < rounds; k++) {
    MPI_Request both[2];
    MPI_Irecv(in, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &both[0]);
    MPI_Isend(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, &both[1]);
    usleep(10000 + (rank ? late_us : 0));
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  free(out);
  free(in);
}

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const int threads = strcmp(name, "threads") == 0;
  int level;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  other = 1 - rank;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
#define PROGRAM(word, call) \
  if (strcmp(name, word) == 0) call
  PROGRAM("repeat", gets(10000, 20, 4096, 1));
  PROGRAM("threads", gets(10000, 20, 4096, 1));
  PROGRAM("repeat-large", gets(2000, 16, 8192, 8192));
  PROGRAM("once-far", gets(250, 250, 4096, 1));
  PROGRAM("once-in-order", gets(20000, 20000, 1, 1));
  PROGRAM("random", gets_at_random());
  PROGRAM("requests", gets_by_request());
  PROGRAM("bursts-of-8", gets_in_bursts(2000, 8));
  PROGRAM("bursts-of-64", gets_in_bursts(500, 64));
  PROGRAM("late-at-first", gets_of_a_late_target());
  PROGRAM("sums", sums(60000, 60000));
  PROGRAM("sums-in-bursts", sums(60000, 500));
  PROGRAM("written", gets_between_barriers(1));
  PROGRAM("unwritten", gets_between_barriers(0));
  PROGRAM("puts", puts_to(1));
  PROGRAM("puts-self", puts_to(0));
  PROGRAM("accumulate-computing", accumulate_program(1));
  PROGRAM("accumulate-attending", accumulate_program(0));
  PROGRAM("dynamic-computing", accumulate_dynamic());
  PROGRAM("collectives", collectives());
  PROGRAM("back-and-forth", back_and_forth());
  PROGRAM("deep", deep(4096, 8));
  PROGRAM("shallow", deep(8, 500));
  PROGRAM("exchanges", exchanges(8 << 20, 200, 0));
  PROGRAM("exchanges-late", exchanges(64 << 10, 40, 10000));
  PROGRAM("compute", compute(100));
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 2 && rank == 0) printf("%.6f\n", MPI_Wtime() - start);
  MPI_Finalize();
  return 0;
}
