/* What a fabric does with the operations that Hob serves, as JSON lines of rank 0. Any MPI library
   from version 3 on. Rank 0 and the last rank, which launchers put on different nodes where there
   are several, do the work. Argument: "start" for what starting and windows take, and no more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  WINDOWS = 16,
  BLOCKS = 64,
  PASSES = 16,
  ROUNDS = 11,
  LARGEST = 65536,
  DEEPEST = 8192,
  PROBES = 100000,
  PROBES_IN_A_BATCH = 1000
};
#define COMPUTES 0.005 /* s, between two calls of MPI */

static int rank, other;

static long resident(void) {
  long total, pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (!file) return 0;
  if (fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
  fclose(file);
  return pages * sysconf(_SC_PAGESIZE);
}

static int rising(const void* one, const void* two) {
  const double a = *(const double*)one, b = *(const double*)two;
  return (a > b) - (a < b);
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, rising);
  return values[count / 2];
}

/* One window of each rank after the other, kept until the end: what one takes in memory and time.
 */
static void windows(void) {
  MPI_Win win[WINDOWS];
  char* memory;
  const long before = resident();
  const double start = MPI_Wtime();
  for (int i = 0; i < WINDOWS; ++i)
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win[i]);
  if (rank == 0)
    printf("{\"what\": \"windows\", \"seconds\": %.9f, \"bytes\": %ld}\n",
           (MPI_Wtime() - start) / WINDOWS, (resident() - before) / WINDOWS);
  for (int i = 0; i < WINDOWS; ++i) MPI_Win_free(&win[i]);
}

/* The median of short batches, since ranks may share cores and lose theirs for a while. */
static void probes(void) {
  static double spent[PROBES / PROBES_IN_A_BATCH];
  int flag, batches = PROBES / PROBES_IN_A_BATCH;
  for (int k = 0; k < batches; ++k) {
    const double start = MPI_Wtime();
    for (int i = 0; i < PROBES_IN_A_BATCH; ++i)
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    spent[k] = (MPI_Wtime() - start) / PROBES_IN_A_BATCH;
  }
  if (rank == 0) printf("{\"what\": \"probe\", \"seconds\": %.12f}\n", median(spent, batches));
}

/* Gets of blocks that were not fetched before, and of the same again; the target waits in MPI. */
static void gets(int size) {
  char *memory, *buffer = malloc((size_t)size);
  static double first[BLOCKS], again[BLOCKS * PASSES];
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)size * BLOCKS, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 1, (size_t)size * BLOCKS);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < BLOCKS * (PASSES + 1); ++i) {
      const MPI_Aint block = i * 37 % BLOCKS;
      const double start = MPI_Wtime();
      MPI_Get(buffer, size, MPI_BYTE, other, block * size, size, MPI_BYTE, win);
      MPI_Win_flush(other, win);
      const double spent = MPI_Wtime() - start;
      if (i < BLOCKS)
        first[i] = spent;
      else
        again[i - BLOCKS] = spent;
    }
    MPI_Win_unlock_all(win);
    printf("{\"what\": \"get\", \"size\": %d, \"first\": %.9f, \"again\": %.9f}\n", size,
           median(first, BLOCKS), median(again, BLOCKS * PASSES));
  }
  MPI_Win_free(&win);
  free(buffer);
}

/* Accumulates to a rank that computes meanwhile, and to one that waits in MPI. */
static void accumulates(double computes) {
  double *memory, one = 1, spent[ROUNDS];
  MPI_Win win;
  MPI_Win_allocate(sizeof one, sizeof one, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < ROUNDS; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (rank == 0) {
      MPI_Accumulate(&one, 1, MPI_DOUBLE, other, 0, 1, MPI_DOUBLE, MPI_SUM, win);
      MPI_Win_flush(other, win);
      spent[i] = MPI_Wtime() - start;
    } else if (rank == other) {
      while (MPI_Wtime() - start < computes) {
      }
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  if (rank == 0)
    printf("{\"what\": \"accumulate\", \"computes\": %.6f, \"seconds\": %.9f}\n", computes,
           median(spent, ROUNDS));
  MPI_Win_free(&win);
}

/* A message there and back, behind `depth` receives that were posted before. */
static void messages(int depth) {
  static MPI_Request posted[DEEPEST];
  static char bytes[DEEPEST];
  char byte = 0;
  double spent[ROUNDS];
  if (rank == 0)
    for (int i = 0; i < depth; ++i)
      MPI_Irecv(&bytes[i], 1, MPI_CHAR, other, i + 1, MPI_COMM_WORLD, &posted[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < ROUNDS; ++i) {
    if (rank == 0) {
      MPI_Request reply;
      const double start = MPI_Wtime();
      MPI_Irecv(&byte, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD, &reply);
      MPI_Send(&byte, 1, MPI_CHAR, other, 0, MPI_COMM_WORLD);
      MPI_Wait(&reply, MPI_STATUS_IGNORE);
      spent[i] = MPI_Wtime() - start;
    } else if (rank == other) {
      MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  if (rank == 0) {
    MPI_Waitall(depth, posted, MPI_STATUSES_IGNORE);
    printf("{\"what\": \"message\", \"depth\": %d, \"seconds\": %.9f}\n", depth,
           median(spent, ROUNDS));
  } else if (rank == other) {
    for (int i = 0; i < depth; ++i) MPI_Send(&byte, 1, MPI_CHAR, 0, i + 1, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  const int short_run = argc > 1 && strcmp(argv[1], "start") == 0;
  MPI_Init(&argc, &argv);
  int ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  other = ranks - 1;
  if (rank == 0)
    printf("{\"what\": \"start\", \"ranks\": %d, \"bytes\": %ld}\n", ranks, resident());
  windows();
  probes();
  if (!short_run && ranks > 1) {
    char hosts[2][MPI_MAX_PROCESSOR_NAME] = {"", ""};
    int length;
    MPI_Get_processor_name(hosts[1], &length);
    if (rank == other) MPI_Send(hosts[1], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Recv(hosts[0], MPI_MAX_PROCESSOR_NAME, MPI_CHAR, other, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      printf("{\"what\": \"hosts\", \"here\": \"%s\", \"there\": \"%s\"}\n", hosts[1], hosts[0]);
    }
    for (int size = 8; size <= LARGEST; size = size == 8 ? 4096 : size * 16) gets(size);
    accumulates(0);
    accumulates(COMPUTES);
    messages(0);
    messages(1024);
    messages(DEEPEST);
  }
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
