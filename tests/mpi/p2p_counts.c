/* Receives of every kind that the report has to count, though Hob looks at few of them while queues
 * are short; then a queue that suddenly gets deep. p2p_report_check.py compares the numbers. */
#include "p2p_check.h"

enum { kExchanges = 3000, kPingPongs = 5000, kWaiting = 40, kAmongWaiting = 20000, kDeep = 3000 };

static void exchange(MPI_Comm comm, int rounds) {
  for (int i = 0; i < rounds; i++) {
    int in = -1, out = i;
    MPI_Request requests[2];
    MPI_Irecv(&in, 1, MPI_INT, 1 - world_rank, 1, comm, &requests[0]);
    MPI_Isend(&out, 1, MPI_INT, 1 - world_rank, 1, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK_EQ(in, i);
  }
}

static void ping_pong(int rounds) {
  for (int i = 0; i < rounds; i++) {
    int in = -1;
    if (world_rank == 0) MPI_Send(&i, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    MPI_Recv(&in, 1, MPI_INT, 1 - world_rank, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (world_rank == 1) MPI_Send(&i, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    CHECK_EQ(in, i);
  }
}

static void post(MPI_Request* waiting, int* in, int count) {
  for (int i = 0; i < count; i++)
    MPI_Irecv(&in[i], 1, MPI_INT, 1 - world_rank, 100 + i, MPI_COMM_WORLD, &waiting[i]);
}

static void satisfy(MPI_Request* waiting, const int* in, int count) {
  for (int i = 0; i < count; i++) MPI_Send(&i, 1, MPI_INT, 1 - world_rank, 100 + i, MPI_COMM_WORLD);
  MPI_Waitall(count, waiting, MPI_STATUSES_IGNORE);
  for (int i = 0; i < count; i++) CHECK_EQ(in[i], i);
}

static MPI_Request waiting[kDeep];
static int in[kDeep];

static void all(void) {
  MPI_Comm other;
  exchange(MPI_COMM_WORLD, kExchanges);
  ping_pong(kPingPongs);
  post(waiting, in, kWaiting);
  exchange(MPI_COMM_WORLD, kAmongWaiting);
  satisfy(waiting, in, kWaiting);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_set_name(other, "other");
  exchange(other, kExchanges);
  MPI_Comm_free(&other);
  post(waiting, in, kDeep);
  MPI_Barrier(MPI_COMM_WORLD);
  satisfy(waiting, in, kDeep);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {{"all", all}};
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
