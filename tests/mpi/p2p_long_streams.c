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

static void middling(void) { stream(1 << 14); }
static void longer(void) { stream(1 << 16); }
static void longest(void) { stream(1 << 18); }

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"middling", middling}, {"longer", longer}, {"longest", longest}};
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
