/* Matching and order: wildcards, non-overtaking, the oldest receive wins, sizes on both sides of
 * the eager limit, a receive posted late or early, many receives matched far from the head. */
#include "p2p_check.h"

enum { kMany = 600 };

/* Exact receives posted in one order, messages sent in another. */
static void exact_far_from_head(void) {
  static int values[kMany];
  MPI_Request requests[kMany];
  if (world_rank == 0) {
    for (int i = 0; i < kMany; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < kMany; i++) CHECK_EQ(values[i], 7 * i);
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = kMany - 1; i >= 0; i--) {
      int value = 7 * i;
      MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
  }
}

/* Messages first, receives later, in another order. */
static void unexpected_out_of_order(void) {
  if (world_rank == 0) {
    MPI_Status status;
    int value = 0;
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = kMany - 1; i >= 0; i--) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &status);
      CHECK_EQ(value, 3 * i);
      CHECK_EQ(status.MPI_SOURCE, 1);
      CHECK_EQ(status.MPI_TAG, i);
    }
  } else if (world_rank == 1) {
    for (int i = 0; i < kMany; i++) {
      int value = 3 * i;
      MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD);
  }
}

/* Equal envelopes: the k-th receive gets the k-th message, whatever the kind of receive. */
static void non_overtaking(void) {
  static int values[kMany];
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  if (world_rank == 0) {
    for (int i = 0; i < kMany; i++) {
      int source = i % 3 == 1 ? MPI_ANY_SOURCE : 1;
      int tag = i % 4 == 2 ? MPI_ANY_TAG : 5;
      MPI_Irecv(&values[i], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[i]);
      if (i == kMany / 2) MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    }
    MPI_Waitall(kMany, requests, statuses);
    for (int i = 0; i < kMany; i++) {
      CHECK_EQ(values[i], i);
      CHECK_EQ(statuses[i].MPI_SOURCE, 1);
      CHECK_EQ(statuses[i].MPI_TAG, 5);
    }
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < kMany; i++) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  }
}

/* A short message must not overtake a long one of the same envelope. */
static void order_across_protocols(void) {
  static const int sizes[] = {1, 1 << 20, 8, 1 << 17, 4096, 1 << 16, 0, 65, 1 << 14, 8193};
  enum { kCount = sizeof sizes / sizeof sizes[0] };
  static char buffers[kCount][1 << 20];
  if (world_rank == 0) {
    MPI_Request requests[kCount];
    MPI_Status statuses[kCount];
    for (int late = 0; late < 2; late++) {
      memset(buffers, 0, sizeof buffers);
      if (late) MPI_Recv(NULL, 0, MPI_BYTE, 1, 10001, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < kCount; i++)
        MPI_Irecv(buffers[i], 1 << 20, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                  &requests[i]);
      if (!late) MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
      MPI_Waitall(kCount, requests, statuses);
      for (int i = 0; i < kCount; i++) {
        int got = 0, right = 1;
        MPI_Get_count(&statuses[i], MPI_CHAR, &got);
        CHECK_EQ(got, sizes[i]);
        for (int b = 0; b < got; b++) right &= buffers[i][b] == (char)(i + b);
        CHECK(right);
      }
    }
  } else if (world_rank == 1) {
    for (int late = 0; late < 2; late++) {
      MPI_Request requests[kCount];
      if (!late) MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < kCount; i++)
        for (int b = 0; b < sizes[i]; b++) buffers[i][b] = (char)(i + b);
      if (late) MPI_Send(NULL, 0, MPI_BYTE, 0, 10001, MPI_COMM_WORLD);
      for (int i = 0; i < kCount; i++)
        MPI_Isend(buffers[i], sizes[i], MPI_CHAR, 0, 77, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitall(kCount, requests, MPI_STATUSES_IGNORE);
    }
  }
}

/* The oldest receive that fits wins, wildcard or not. */
static void oldest_receive_wins(void) {
  int values[6] = {0};
  MPI_Request requests[6];
  if (world_rank == 0) {
    static const int tags[6] = {1, -1, 2, 1, -1, 2};
    for (int i = 0; i < 6; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1,
                tags[i] < 0 ? MPI_ANY_TAG : tags[i], MPI_COMM_WORLD, &requests[i]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    /* messages in order: 2->#1 (any), 2->#2, 1->#0, 2->#4 (any), 1->#3, 2->#5 */
    CHECK_EQ(values[1], 100);
    CHECK_EQ(values[2], 101);
    CHECK_EQ(values[0], 102);
    CHECK_EQ(values[4], 103);
    CHECK_EQ(values[3], 104);
    CHECK_EQ(values[5], 105);
  } else if (world_rank == 1) {
    static const int tags[6] = {2, 2, 1, 2, 1, 2};
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 6; i++) {
      int value = 100 + i;
      MPI_Send(&value, 1, MPI_INT, 0, tags[i], MPI_COMM_WORLD);
    }
  }
}

/* Everybody to rank 0, any source: per sender in order. */
static void many_senders(void) {
  enum { kEach = 200 };
  if (world_rank == 0) {
    int expected[64] = {0};
    for (int i = 0; i < kEach * (world_size - 1); i++) {
      int value = -1;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(status.MPI_SOURCE > 0 && status.MPI_SOURCE < world_size);
      CHECK_EQ(value, expected[status.MPI_SOURCE]);
      CHECK_EQ(status.MPI_TAG, value % 11);
      expected[status.MPI_SOURCE]++;
    }
  } else {
    for (int i = 0; i < kEach; i++) MPI_Send(&i, 1, MPI_INT, 0, i % 11, MPI_COMM_WORLD);
  }
}

/* Two communicators do not see each other's messages. */
static void communicators_are_apart(void) {
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  if (world_rank == 0) {
    int a[20] = {0}, b[20] = {0};
    MPI_Request requests[40];
    for (int i = 0; i < 20; i++) {
      MPI_Irecv(&a[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2 * i]);
      MPI_Irecv(&b[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, other, &requests[2 * i + 1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; i++) {
      CHECK_EQ(a[i], i);
      CHECK_EQ(b[i], 1000 + i);
    }
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) {
      for (int i = 0; i < 20; i++) {
        int value = 1000 + i;
        MPI_Send(&value, 1, MPI_INT, 0, 3, other);
      }
      for (int i = 0; i < 20; i++) MPI_Send(&i, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
  }
  MPI_Comm_free(&other);
}

/* Non-contiguous receives, and a wildcard receive into a derived type. */
static void derived_types(void) {
  MPI_Datatype column;
  MPI_Type_vector(50, 2, 5, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (world_rank == 0) {
    int matrix[250];
    int elements = 0;
    MPI_Request request;
    MPI_Status status;
    memset(matrix, 0xff, sizeof matrix);
    MPI_Irecv(matrix, 1, column, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
    MPI_Type_free(&column); /* legal while in use */
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Get_elements(&status, MPI_INT, &elements);
    CHECK_EQ(elements, 100);
    for (int i = 0; i < 248; i++) CHECK_EQ(matrix[i], i % 5 < 2 ? i / 5 * 2 + i % 5 : -1);
  } else {
    MPI_Type_free(&column);
    if (world_rank == 1) {
      int data[100];
      for (int i = 0; i < 100; i++) data[i] = i;
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(data, 100, MPI_INT, 0, 9, MPI_COMM_WORLD);
    }
  }
}

static void to_self(void) {
  int out = 42 + world_rank, in = 0;
  MPI_Request request;
  MPI_Status status;
  MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 4, MPI_COMM_SELF, &request);
  MPI_Send(&out, 1, MPI_INT, 0, 4, MPI_COMM_SELF);
  MPI_Wait(&request, &status);
  CHECK_EQ(in, out);
  CHECK_EQ(status.MPI_SOURCE, 0);
  MPI_Isend(&out, 1, MPI_INT, world_rank, 5, MPI_COMM_WORLD, &request);
  in = 0;
  MPI_Recv(&in, 1, MPI_INT, world_rank, 5, MPI_COMM_WORLD, &status);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_EQ(in, out);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"exact_far_from_head", exact_far_from_head},
      {"unexpected_out_of_order", unexpected_out_of_order},
      {"non_overtaking", non_overtaking},
      {"order_across_protocols", order_across_protocols},
      {"oldest_receive_wins", oldest_receive_wins},
      {"many_senders", many_senders},
      {"communicators_are_apart", communicators_are_apart},
      {"derived_types", derived_types},
      {"to_self", to_self},
  };
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
