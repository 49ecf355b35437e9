/* Two ranks that stream long messages to each other. Hob may ask the library for a message to see
 * how long its search takes (match::SearchTimer), but seldom: a probe makes progress, and a rank
 * that receives what the other has sent before it has sent anything itself makes the other wait. */
#include "p2p_check.h"

/* Of counted_probes.c; null without it. */
extern long counted_probes(void) __attribute__((weak));

enum { kWindow = 64, kRounds = 100, kTag = 1, kFewest = 128 };

static void stream(int bytes) {
  char* out = calloc(kWindow, (size_t)bytes);
  char* in = calloc(kWindow, (size_t)bytes);
  const long before = counted_probes ? counted_probes() : 0;
  for (int round = 0; round < kRounds; round++) {
    MPI_Request requests[2 * kWindow];
    for (int i = 0; i < kWindow; i++) {
      out[(size_t)i * (size_t)bytes] = (char)(round + i);
      MPI_Irecv(in + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1 - world_rank, kTag,
                MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < kWindow; i++)
      MPI_Isend(out + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1 - world_rank, kTag,
                MPI_COMM_WORLD, &requests[kWindow + i]);
    MPI_Waitall(2 * kWindow, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kWindow; i++) CHECK_EQ(in[(size_t)i * (size_t)bytes], (char)(round + i));
  }
  if (counted_probes) {
    const long probes = counted_probes() - before;
    if (probes > kWindow * kRounds / kFewest)
      fprintf(stderr, "rank %d: %ld probes for %d receives of %d B\n", world_rank, probes,
              kWindow * kRounds, bytes);
    CHECK(probes <= kWindow * kRounds / kFewest);
  }
  free(out);
  free(in);
}

/* Each receive is posted before its message is sent, so that posting it takes no longer than a
 * short one, which says that the library searches no long queue: nothing is left to ask. The first
 * one or two may be slow since their code is not in a cache. */
static void posted_first(void) {
  enum { kBytes = 1 << 16, kReceives = 2000, kMostProbes = 3 };
  char* buffer = calloc(1, kBytes);
  const long before = counted_probes ? counted_probes() : 0;
  for (int i = 0; i < kReceives; i++) {
    MPI_Request request;
    if (world_rank == 0) {
      MPI_Irecv(buffer, kBytes, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request);
      MPI_Send(NULL, 0, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK_EQ(buffer[kBytes - 1], (char)i);
    } else if (world_rank == 1) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      buffer[kBytes - 1] = (char)i;
      MPI_Send(buffer, kBytes, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
    }
  }
  if (counted_probes) {
    const long probes = counted_probes() - before;
    if (probes > kMostProbes) fprintf(stderr, "rank %d: %ld probes\n", world_rank, probes);
    CHECK(probes <= kMostProbes);
  }
  free(buffer);
}

static void middling(void) { stream(1 << 14); }
static void longer(void) { stream(1 << 16); }
static void longest(void) { stream(1 << 18); }

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"posted_first", posted_first},
                                           {"middling", middling},
                                           {"longer", longer},
                                           {"longest", longest}};
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
