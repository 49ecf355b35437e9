/* Receives and unexpected messages in the queues of more communicators than some strategies of
 * Hob's have room for. Open MPI only: MPICH has some 2,000 communicators in all. */
#include "p2p_check.h"

enum { kComms = 4300 };
static MPI_Comm comms[kComms];

static void posted(void) {
  static int values[kComms];
  static MPI_Request requests[kComms];
  if (world_rank == 0) {
    for (int i = 0; i < kComms; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, 1, 1, comms[i], &requests[i]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    MPI_Waitall(kComms, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kComms; i++) CHECK_EQ(values[i], i);
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = kComms - 1; i >= 0; i--) MPI_Send(&i, 1, MPI_INT, 0, 1, comms[i]);
  }
}

/* One receive that is held in each communicator makes Hob take the messages there. */
static void unexpected(void) {
  static int values[kComms];
  static MPI_Request requests[kComms];
  if (world_rank == 0) {
    for (int i = 0; i < kComms; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, 1, 3, comms[i], &requests[i]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    MPI_Waitall(kComms, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kComms; i++) {
      int value = -1;
      MPI_Recv(&value, 1, MPI_INT, 1, 1, comms[i], MPI_STATUS_IGNORE);
      CHECK_EQ(values[i], -i);
      CHECK_EQ(value, i);
    }
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kComms; i++) MPI_Send(&i, 1, MPI_INT, 0, 1, comms[i]);
    for (int i = 0; i < kComms; i++) {
      int value = -i;
      MPI_Send(&value, 1, MPI_INT, 0, 3, comms[i]);
    }
  }
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"posted", posted},
      {"unexpected", unexpected},
  };
  MPI_Init(&argc, &argv);
  for (int i = 0; i < kComms; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  return RUN_CASES(argc, argv, cases);
}
