/* How soon Hob notices, by itself, that the library searches a long queue of unexpected messages:
 * then it draws them all. Long receives are timed sooner than short ones, since there are fewer of
 * them in the same time. */
#include "p2p_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { kMessages = 16384, kElements = 1 << 18, kMost = 24, kFirstTag = 100, kTag = 1, kSync = 2 };

static unsigned long long drawn(void) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter("messages_dequeued", &count);
  return count;
}

/* Rank 0 receives behind many messages; how many receives it takes, at most kMost. */
static void notice(int blocking) {
  static char buffer[kElements];
  int taken = 0;
  if (world_rank == 1) {
    for (int i = 0; i < kMessages; i++) MPI_Send(&i, 1, MPI_INT, 0, kFirstTag + i, MPI_COMM_WORLD);
    for (int i = 0; i < kMost; i++) {
      MPI_Recv(NULL, 0, MPI_INT, 0, kSync, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      memset(buffer, i, kElements);
      MPI_Send(buffer, kElements, MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
    }
  } else if (world_rank == 0) {
    const unsigned long long before = drawn();
    /* The last of the messages is there, and so all others. */
    MPI_Probe(1, kFirstTag + kMessages - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kMost; i++) {
      MPI_Request request;
      if (!blocking) MPI_Irecv(buffer, kElements, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, &request);
      MPI_Send(NULL, 0, MPI_INT, 1, kSync, MPI_COMM_WORLD);
      if (blocking)
        MPI_Recv(buffer, kElements, MPI_CHAR, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      else
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK(buffer[0] == i && buffer[kElements - 1] == i);
      if (drawn() - before < kMessages) ++taken;
    }
    if (HOB_Counter) CHECK(taken < kMost);
    for (int i = 0; i < kMessages; i++) {
      int got = -1;
      MPI_Recv(&got, 1, MPI_INT, 1, kFirstTag + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      CHECK_EQ(got, i);
    }
  }
}

static void blocking(void) { notice(1); }
static void nonblocking(void) { notice(0); }

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"blocking", blocking}, {"nonblocking", nonblocking}};
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
