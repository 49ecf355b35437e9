/* Probe, iprobe, mprobe, improbe, mrecv, imrecv: what they report, what they take, in which order.
 */
#include "p2p_check.h"

static void sync_from_1(void) {
  if (world_rank == 0) MPI_Recv(NULL, 0, MPI_BYTE, 1, 20000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (world_rank == 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 20000, MPI_COMM_WORLD);
}

static void probe_then_receive(void) {
  for (int round = 0; round < 50; round++) {
    int size = round * 401;
    char* buffer = malloc((size_t)size + 1);
    if (world_rank == 0) {
      MPI_Status status, received;
      int count = -1;
      MPI_Probe(MPI_ANY_SOURCE, round % 2 ? MPI_ANY_TAG : round, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_CHAR, &count);
      CHECK_EQ(count, size);
      CHECK_EQ(status.MPI_SOURCE, 1);
      CHECK_EQ(status.MPI_TAG, round);
      MPI_Recv(buffer, count, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
               &received);
      MPI_Get_count(&received, MPI_CHAR, &count);
      CHECK_EQ(count, size);
      for (int i = 0; i < size; i++) {
        if (buffer[i] != (char)(i + round)) {
          CHECK(buffer[i] == (char)(i + round));
          break;
        }
      }
    } else if (world_rank == 1) {
      for (int i = 0; i < size; i++) buffer[i] = (char)(i + round);
      MPI_Send(buffer, size, MPI_CHAR, 0, round, MPI_COMM_WORLD);
    }
    free(buffer);
  }
}

/* An iprobe sees nothing that is not there, and does not take what is. */
static void iprobe_leaves_it(void) {
  if (world_rank == 0) {
    int flag = 1, value = 0;
    MPI_Status status;
    MPI_Iprobe(1, 31, MPI_COMM_WORLD, &flag, &status);
    CHECK_EQ(flag, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    sync_from_1();
    for (int i = 0; i < 3; i++) {
      do {
        MPI_Iprobe(1, 31, MPI_COMM_WORLD, &flag, &status);
      } while (!flag);
      CHECK_EQ(status.MPI_TAG, 31);
    }
    MPI_Iprobe(1, 32, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Recv(&value, 1, MPI_INT, 1, 31, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 5);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
  } else {
    int value = 5;
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 31, MPI_COMM_WORLD);
    sync_from_1();
  }
}

/* A message taken by mprobe is not seen by receives and probes any more. */
static void mprobe_takes_it(void) {
  if (world_rank == 0) {
    MPI_Message first, second;
    MPI_Status status;
    MPI_Request request;
    int flag = 0, a = 0, b = 0, c = 0, count = 0;
    sync_from_1();
    MPI_Mprobe(1, 3, MPI_COMM_WORLD, &first, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQ(count, 1);
    do {
      MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &second, &status);
    } while (!flag);
    CHECK_EQ(status.MPI_SOURCE, 1);
    MPI_Recv(&c, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(c, 102);
    MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(flag, 0);
    MPI_Imrecv(&b, 1, MPI_INT, &second, &request);
    CHECK(second == MPI_MESSAGE_NULL);
    MPI_Wait(&request, &status);
    CHECK_EQ(b, 101);
    CHECK_EQ(status.MPI_TAG, 3);
    MPI_Mrecv(&a, 1, MPI_INT, &first, &status);
    CHECK(first == MPI_MESSAGE_NULL);
    CHECK_EQ(a, 100);
    CHECK_EQ(status.MPI_SOURCE, 1);
  } else if (world_rank == 1) {
    for (int value = 100; value < 103; value++) MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    sync_from_1();
  }
}

/* A posted receive comes before a later probe. */
static void receive_before_probe(void) {
  if (world_rank == 0) {
    int a = 0, b = 0;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Irecv(&a, 1, MPI_INT, MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Mprobe(MPI_ANY_SOURCE, 8, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&b, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(a, 1);
    CHECK_EQ(b, 2);
  } else if (world_rank == 1) {
    int values[2] = {1, 2};
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&values[0], 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Send(&values[1], 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
  }
}

static void proc_null(void) {
  MPI_Status status;
  MPI_Message message;
  int flag = 0, count = -1, value = 9;
  MPI_Probe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status);
  CHECK_EQ(flag, 1);
  MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
  CHECK(message == MPI_MESSAGE_NO_PROC);
  MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
  CHECK(message == MPI_MESSAGE_NULL);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_EQ(count, 0);
  CHECK_EQ(value, 9);
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

static int handler_calls;
static void handler(MPI_Comm* handled, int* error, ...) {
  (void)handled;
  (void)error;
  handler_calls++;
}

/* Probes of a rank that there is not, with receives posted and the program's own error handler:
 * each calls it and returns. */
static void wrong_rank(void) {
  MPI_Comm comm;
  MPI_Errhandler errhandler;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(handler, &errhandler);
  MPI_Comm_set_errhandler(comm, errhandler);
  if (world_rank == 0) {
    MPI_Request held;
    MPI_Message message;
    int value = 0, flag = 0;
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, comm, &held);
    MPI_Probe(world_size + 5, 1, comm, MPI_STATUS_IGNORE);
    CHECK_EQ(handler_calls, 1);
    MPI_Mprobe(world_size + 5, 1, comm, &message, MPI_STATUS_IGNORE);
    CHECK_EQ(handler_calls, 2);
    MPI_Iprobe(world_size + 5, 1, comm, &flag, MPI_STATUS_IGNORE);
    CHECK_EQ(handler_calls, 3);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 2, comm);
    MPI_Wait(&held, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 5);
  } else if (world_rank == 1) {
    int value = 5;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, comm, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, comm);
  }
  MPI_Errhandler_free(&errhandler);
  MPI_Comm_free(&comm);
}

/* Large messages and synchronous sends through mprobe, unexpected first. */
static void mprobe_large_and_synchronous(void) {
  enum { kSize = 300000 };
  static char data[kSize];
  for (int round = 0; round < 10; round++) {
    if (world_rank == 0) {
      MPI_Message message;
      MPI_Status status;
      int count = 0, right = 1;
      MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
      MPI_Get_count(&status, MPI_CHAR, &count);
      CHECK_EQ(count, kSize - round);
      MPI_Mrecv(data, count, MPI_CHAR, &message, &status);
      for (int i = 0; i < count; i++) right &= data[i] == (char)(i * 3 + round);
      CHECK(right);
    } else if (world_rank == 1) {
      for (int i = 0; i < kSize; i++) data[i] = (char)(i * 3 + round);
      if (round % 2)
        MPI_Ssend(data, kSize - round, MPI_CHAR, 0, round, MPI_COMM_WORLD);
      else
        MPI_Send(data, kSize - round, MPI_CHAR, 0, round, MPI_COMM_WORLD);
    }
  }
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"probe_then_receive", probe_then_receive},
      {"iprobe_leaves_it", iprobe_leaves_it},
      {"mprobe_takes_it", mprobe_takes_it},
      {"receive_before_probe", receive_before_probe},
      {"proc_null", proc_null},
      {"wrong_rank", wrong_rank},
      {"mprobe_large_and_synchronous", mprobe_large_and_synchronous},
  };
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
