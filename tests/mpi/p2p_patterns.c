/* Programs whose queues get long in ways that the first receives do not show: whether `auto` takes
 * them over, and leaves those alone that gain nothing. Both ranks check what they receive; how many
 * receives went to Hob's posted-receive queue is Hob's own count. */
#include <stdlib.h>

#include "p2p_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { kPing = 1, kSync = 2, kFirst = 100 };

static int automatic(void) {
  const char* match = getenv("HOB_MATCH");
  return HOB_Counter && match && strcmp(match, "auto") == 0;
}

static unsigned long long in_prq(void) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter("receives_in_prq", &count);
  return count;
}

static void ping_pong(void) {
  int in = -1, out = 7;
  if (world_rank == 0) MPI_Send(&out, 1, MPI_INT, 1, kPing, MPI_COMM_WORLD);
  MPI_Recv(&in, 1, MPI_INT, 1 - world_rank, kPing, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (world_rank == 1) MPI_Send(&out, 1, MPI_INT, 0, kPing, MPI_COMM_WORLD);
  CHECK_EQ(in, 7);
}

/* One receive that nothing matches after so many blocking round trips (netgauge,
 * one_one_req_queue). */
enum { kGrowing = 600, kTrips = 4 };
static void growing(void) {
  static MPI_Request requests[kGrowing];
  static int in[kGrowing];
  const unsigned long long before = in_prq();
  for (int i = 0; i < kGrowing; i++) {
    MPI_Irecv(&in[i], 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD, &requests[i]);
    for (int trip = 0; trip < kTrips; trip++) ping_pong();
  }
  const unsigned long long taken = in_prq() - before;
  for (int i = 0; i < kGrowing; i++)
    MPI_Send(&i, 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD);
  MPI_Waitall(kGrowing, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kGrowing; i++) CHECK_EQ(in[i], i);
  if (automatic()) CHECK(taken > (unsigned long long)kGrowing / 2 * kTrips);
}

/* Messages in another order than the receives, again and again: sparse exchanges. Bit reversal, so
 * that the mean depth is half of the length. */
enum { kBits = 10, kSparse = 1 << kBits, kRounds = 10 };
static int reversed(int i) {
  int out = 0;
  for (int bit = 0; bit < kBits; bit++) out |= (i >> bit & 1) << (kBits - 1 - bit);
  return out;
}
static void send_all(int round) {
  for (int i = 0; i < kSparse; i++) {
    const int which = reversed(i), out = round * kSparse + which;
    MPI_Send(&out, 1, MPI_INT, 1 - world_rank, kFirst + which, MPI_COMM_WORLD);
  }
}
static void sparse(void) {
  static MPI_Request requests[kSparse];
  static int in[kSparse];
  unsigned long long before = 0;
  for (int round = 0; round < kRounds; round++) {
    if (round == 2) before = in_prq();
    for (int i = 0; i < kSparse; i++)
      MPI_Irecv(&in[i], 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    send_all(round);
    MPI_Waitall(kSparse, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kSparse; i++) CHECK_EQ(in[i], round * kSparse + i);
  }
  /* After the first rounds, nearly all of them. */
  if (automatic()) CHECK(in_prq() - before > (unsigned long long)kSparse * (kRounds - 2) * 3 / 4);
}

/* The same with persistent receives, as in FDS. */
static void persistent(void) {
  static MPI_Request requests[kSparse];
  static int in[kSparse];
  unsigned long long before = 0;
  for (int i = 0; i < kSparse; i++)
    MPI_Recv_init(&in[i], 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD, &requests[i]);
  for (int round = 0; round < kRounds; round++) {
    if (round == 2) before = in_prq();
    MPI_Startall(kSparse, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    send_all(round);
    MPI_Waitall(kSparse, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kSparse; i++) CHECK_EQ(in[i], round * kSparse + i);
  }
  for (int i = 0; i < kSparse; i++) MPI_Request_free(&requests[i]);
  if (automatic()) CHECK(in_prq() - before > (unsigned long long)kSparse * (kRounds - 2) * 3 / 4);
}

/* Messages in the order of their receives, and few at a time: nothing to gain. */
enum { kFew = 32, kManyRounds = 500 };
static void in_order(void) {
  MPI_Request requests[kFew];
  int in[kFew];
  const unsigned long long before = in_prq();
  for (int round = 0; round < kManyRounds; round++) {
    for (int i = 0; i < kFew; i++)
      MPI_Irecv(&in[i], 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < kFew; i++)
      MPI_Send(&i, 1, MPI_INT, 1 - world_rank, kFirst + i, MPI_COMM_WORLD);
    MPI_Waitall(kFew, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kFew; i++) CHECK_EQ(in[i], i);
  }
  if (automatic()) CHECK(in_prq() - before < (unsigned long long)kFew * kManyRounds / 20);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"in_order", in_order}, {"growing", growing}, {"sparse", sparse}, {"persistent", persistent}};
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
