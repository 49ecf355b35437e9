/* Requests of every kind mixed in every wait and test function; get_status, free, cancel,
 * persistent and partitioned receives, generalized requests of the program's own. */
#include "p2p_check.h"

enum { kMany = 64 };

/* Starts receives of mixed kinds; rank 1 sends what they need, last one first. */
static void post_mixed(MPI_Request* requests, int* values) {
  for (int i = 0; i < kMany; i++) {
    values[i] = -1;
    if (i % 8 == 5)
      MPI_Isend(&values[i], 0, MPI_INT, 0, 5000 + i, MPI_COMM_SELF, &requests[i]);
    else if (i % 8 == 6)
      requests[i] = MPI_REQUEST_NULL;
    else
      MPI_Irecv(&values[i], 1, MPI_INT, i % 3 ? 1 : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                &requests[i]);
  }
  for (int i = 5; i < kMany; i += 8)
    MPI_Recv(NULL, 0, MPI_INT, 0, 5000 + i, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void send_mixed(void) {
  for (int i = kMany - 1; i >= 0; i--) {
    int value = i * i;
    if (i % 8 == 5 || i % 8 == 6) continue;
    MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
  }
}

static void check_mixed(const int* values) {
  for (int i = 0; i < kMany; i++) CHECK_EQ(values[i], i % 8 == 5 || i % 8 == 6 ? -1 : i * i);
}

enum completion {
  kWait,
  kWaitall,
  kWaitany,
  kWaitsome,
  kTest,
  kTestall,
  kTestany,
  kTestsome,
  kGetStatus
};

static void complete_mixed(enum completion how) {
  MPI_Request requests[kMany];
  MPI_Status statuses[kMany];
  int values[kMany], indices[kMany];
  if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    send_mixed();
  }
  if (world_rank != 0) return;
  post_mixed(requests, values);
  MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
  switch (how) {
    case kWait:
      for (int i = 0; i < kMany; i++) {
        MPI_Wait(&requests[i], &statuses[i]);
        if (i % 8 < 5) CHECK_EQ(statuses[i].MPI_TAG, i);
        if (i % 8 == 6) CHECK_EQ(statuses[i].MPI_TAG, MPI_ANY_TAG);
      }
      break;
    case kWaitall:
      MPI_Waitall(kMany, requests, statuses);
      for (int i = 0; i < kMany; i++)
        if (i % 8 < 5) CHECK_EQ(statuses[i].MPI_TAG, i);
      break;
    case kWaitany: {
      int seen = 0, index;
      MPI_Status status;
      for (;;) {
        MPI_Waitany(kMany, requests, &index, &status);
        if (index == MPI_UNDEFINED) break;
        CHECK(index >= 0 && index < kMany);
        CHECK(requests[index] == MPI_REQUEST_NULL);
        if (index % 8 < 5) CHECK_EQ(status.MPI_TAG, index);
        seen++;
      }
      CHECK_EQ(seen, kMany - kMany / 8);
      break;
    }
    case kWaitsome: {
      int seen = 0, count;
      for (;;) {
        MPI_Waitsome(kMany, requests, &count, indices, statuses);
        if (count == MPI_UNDEFINED) break;
        CHECK(count > 0);
        for (int k = 0; k < count; k++)
          if (indices[k] % 8 < 5) CHECK_EQ(statuses[k].MPI_TAG, indices[k]);
        seen += count;
      }
      CHECK_EQ(seen, kMany - kMany / 8);
      break;
    }
    case kTest:
      for (int i = 0; i < kMany; i++) {
        int flag = 0;
        while (!flag) MPI_Test(&requests[i], &flag, &statuses[i]);
        if (i % 8 < 5) CHECK_EQ(statuses[i].MPI_SOURCE, 1);
      }
      break;
    case kTestall: {
      int flag = 0;
      while (!flag) MPI_Testall(kMany, requests, &flag, statuses);
      for (int i = 0; i < kMany; i++)
        if (i % 8 < 5) CHECK_EQ(statuses[i].MPI_TAG, i);
      break;
    }
    case kTestany: {
      int seen = 0, index, flag;
      for (;;) {
        MPI_Status status;
        MPI_Testany(kMany, requests, &index, &flag, &status);
        if (!flag) continue;
        if (index == MPI_UNDEFINED) break;
        if (index % 8 < 5) CHECK_EQ(status.MPI_TAG, index);
        seen++;
      }
      CHECK_EQ(seen, kMany - kMany / 8);
      break;
    }
    case kTestsome: {
      int seen = 0, count;
      for (;;) {
        MPI_Testsome(kMany, requests, &count, indices, statuses);
        if (count == MPI_UNDEFINED) break;
        for (int k = 0; k < count; k++)
          if (indices[k] % 8 < 5) CHECK_EQ(statuses[k].MPI_TAG, indices[k]);
        seen += count;
      }
      CHECK_EQ(seen, kMany - kMany / 8);
      break;
    }
    case kGetStatus:
      for (int i = 0; i < kMany; i++) {
        int flag = 0, count = -1;
        while (!flag) MPI_Request_get_status(requests[i], &flag, &statuses[i]);
        if (i % 8 == 6) {
          CHECK(requests[i] == MPI_REQUEST_NULL);
          continue;
        }
        CHECK(requests[i] != MPI_REQUEST_NULL);
        if (i % 8 < 5) {
          CHECK_EQ(statuses[i].MPI_TAG, i);
          MPI_Get_count(&statuses[i], MPI_INT, &count);
          CHECK_EQ(count, 1);
          CHECK_EQ(values[i], i * i);
        }
        /* it can be asked again, and completed after */
        flag = 0;
        MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
        CHECK_EQ(flag, 1);
        flag = 0;
        MPI_Test(&requests[i], &flag, &statuses[i]);
        CHECK_EQ(flag, 1);
      }
      break;
  }
  for (int i = 0; i < kMany; i++) CHECK(requests[i] == MPI_REQUEST_NULL);
  check_mixed(values);
}

static void wait_each(void) { complete_mixed(kWait); }
static void waitall(void) { complete_mixed(kWaitall); }
static void waitany(void) { complete_mixed(kWaitany); }
static void waitsome(void) { complete_mixed(kWaitsome); }
static void test_each(void) { complete_mixed(kTest); }
static void testall(void) { complete_mixed(kTestall); }
static void testany(void) { complete_mixed(kTestany); }
static void testsome(void) { complete_mixed(kTestsome); }
static void get_status(void) { complete_mixed(kGetStatus); }

static void statuses_ignored(void) {
  MPI_Request requests[kMany];
  int values[kMany];
  if (world_rank == 1) send_mixed();
  if (world_rank != 0) return;
  post_mixed(requests, values);
  MPI_Waitall(kMany, requests, MPI_STATUSES_IGNORE);
  check_mixed(values);
}

static void empty_lists(void) {
  int index = 0, flag = 0, count = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
  MPI_Waitany(1, &request, &index, &status);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Testany(1, &request, &index, &flag, &status);
  CHECK(flag);
  CHECK_EQ(index, MPI_UNDEFINED);
  MPI_Waitsome(1, &request, &count, &index, &status);
  CHECK_EQ(count, MPI_UNDEFINED);
  MPI_Wait(&request, &status);
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK_EQ(count, 0);
}

/* A freed receive still receives. */
static void request_free(void) {
  static int value;
  if (world_rank == 0) {
    MPI_Request request;
    value = 0;
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 12);
  } else if (world_rank == 1) {
    int data = 12;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(&data, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
  }
}

/* Cancelled: of many receives with one envelope, exactly the others receive, in order. */
static void cancel_some(void) {
  if (world_rank == 0) {
    MPI_Request requests[20];
    int values[20], cancelled, expected = 0;
    MPI_Status status;
    for (int i = 0; i < 20; i++) {
      values[i] = -1;
      MPI_Irecv(&values[i], 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < 20; i += 3) MPI_Cancel(&requests[i]);
    for (int i = 0; i < 20; i += 3) {
      MPI_Wait(&requests[i], &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK(cancelled);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    for (int i = 0; i < 20; i++) {
      if (i % 3 == 0) {
        CHECK_EQ(values[i], -1);
        continue;
      }
      MPI_Wait(&requests[i], &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK(!cancelled);
      CHECK_EQ(values[i], expected);
      expected++;
    }
  } else if (world_rank == 1) {
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 13; i++) MPI_Send(&i, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
}

/* A cancel after the message came changes nothing. */
static void cancel_too_late(void) {
  if (world_rank == 0) {
    MPI_Request request;
    MPI_Status status;
    int value = 0, cancelled = 1, flag = 0;
    MPI_Irecv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, &request);
    while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled);
    CHECK_EQ(value, 4);
  } else if (world_rank == 1) {
    int value = 4;
    MPI_Send(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
  }
}

static void persistent(void) {
  enum { kRequests = 10, kRounds = 30 };
  if (world_rank == 0) {
    int values[kRequests];
    MPI_Request requests[kRequests + 1];
    for (int i = 0; i < kRequests; i++)
      MPI_Recv_init(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 1, i, MPI_COMM_WORLD,
                    &requests[i]);
    MPI_Send_init(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD, &requests[kRequests]);
    for (int round = 0; round < kRounds; round++) {
      MPI_Status statuses[kRequests + 1];
      memset(values, 0xff, sizeof values);
      if (round % 3 == 0) {
        for (int i = 0; i <= kRequests; i++) MPI_Start(&requests[i]);
      } else {
        MPI_Startall(kRequests + 1, requests);
      }
      if (round % 2) {
        MPI_Waitall(kRequests + 1, requests, statuses);
      } else {
        int seen = 0, index, flag;
        while (seen < kRequests + 1) {
          MPI_Testany(kRequests + 1, requests, &index, &flag, &statuses[0]);
          if (flag) {
            CHECK(index != MPI_UNDEFINED);
            if (index == MPI_UNDEFINED) break;
            seen++;
          }
        }
        MPI_Testany(kRequests + 1, requests, &index, &flag, &statuses[0]);
        CHECK(flag);
        CHECK_EQ(index, MPI_UNDEFINED);
      }
      for (int i = 0; i < kRequests; i++) {
        CHECK(requests[i] != MPI_REQUEST_NULL);
        CHECK_EQ(values[i], round * 100 + i);
      }
      /* a wait on inactive ones returns at once */
      MPI_Wait(&requests[3], &statuses[0]);
      CHECK_EQ(statuses[0].MPI_TAG, MPI_ANY_TAG);
    }
    for (int i = 0; i <= kRequests; i++) {
      MPI_Request_free(&requests[i]);
      CHECK(requests[i] == MPI_REQUEST_NULL);
    }
  } else if (world_rank == 1) {
    for (int round = 0; round < kRounds; round++) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = kRequests - 1; i >= 0; i--) {
        int value = round * 100 + i;
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
      }
    }
  }
}

/* A persistent receive that is cancelled, then started again. */
static void persistent_cancel(void) {
  if (world_rank == 0) {
    MPI_Request request;
    MPI_Status status;
    int value = 0, cancelled = 0;
    MPI_Recv_init(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
    CHECK(request != MPI_REQUEST_NULL);
    MPI_Start(&request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(!cancelled);
    CHECK_EQ(value, 8);
    MPI_Request_free(&request);
  } else if (world_rank == 1) {
    int value = 8;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
}

static int query(void* state, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, *(int*)state);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 17;
  status->MPI_TAG = 18;
  return MPI_SUCCESS;
}
static int release(void* state) {
  ++*(int*)state;
  return MPI_SUCCESS;
}
static int no_cancel(void* state, int complete) {
  (void)state;
  (void)complete;
  return MPI_SUCCESS;
}

/* The program's own generalized requests, mixed with receives. */
static void own_generalized(void) {
  if (world_rank == 0) {
    int state = 3, value = 0, count = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Grequest_start(query, release, no_cancel, &state, &requests[0]);
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    MPI_Grequest_complete(requests[0]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    CHECK_EQ(count, 3);
    CHECK_EQ(statuses[0].MPI_SOURCE, 17);
    CHECK_EQ(state, 4);
    CHECK_EQ(value, 21);
  } else if (world_rank == 1) {
    int value = 21;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
}

#if MPI_VERSION >= 4
static void partitioned(void) {
  enum { kPartitions = 8, kEach = 100 };
  static int data[kPartitions * kEach];
  MPI_Request request;
  if (world_rank > 1) return;
  if (world_rank == 0)
    MPI_Precv_init(data, kPartitions, kEach, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
  else
    MPI_Psend_init(data, kPartitions, kEach, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &request);
  for (int round = 0; round < 5; round++) {
    int plain = -1;
    MPI_Request receive;
    if (world_rank == 0) {
      /* the same tag, but another matching space */
      MPI_Irecv(&plain, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &receive);
      memset(data, 0, sizeof data);
      MPI_Start(&request);
      MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
      int flag = 0;
      while (!flag) MPI_Parrived(request, kPartitions - 1, &flag);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      for (int i = 0; i < kPartitions * kEach; i++)
        if (data[i] != i + round) CHECK_EQ(data[i], i + round);
      MPI_Wait(&receive, MPI_STATUS_IGNORE);
      CHECK_EQ(plain, round);
    } else {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < kPartitions * kEach; i++) data[i] = i + round;
      MPI_Start(&request);
      for (int i = kPartitions - 1; i >= 0; i--) MPI_Pready(i, request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Send(&round, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
  }
  MPI_Request_free(&request);
}
#endif

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Inactive requests are none, of whichever kind, in what asks for the status of many. */
static void get_status_of_many(void) {
  if (world_rank == 0) {
    enum { kAll = 5 };
    MPI_Request requests[kAll];
    MPI_Status statuses[kAll];
    int values[2] = {-1, -1}, index = -1, flag = 0, count = -1, indices[kAll];
    MPI_Send_init(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&values[0], 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[1]);
    requests[2] = MPI_REQUEST_NULL;
    MPI_Request_get_status_any(3, requests, &index, &flag, &statuses[0]);
    CHECK(flag);
    CHECK_EQ(index, MPI_UNDEFINED);
    MPI_Request_get_status_some(3, requests, &count, indices, statuses);
    CHECK_EQ(count, MPI_UNDEFINED);
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(&values[1], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[4]);
    MPI_Request_get_status_any(kAll, requests, &index, &flag, &statuses[0]);
    CHECK(!flag);
    MPI_Request_get_status_some(kAll, requests, &count, indices, statuses);
    CHECK_EQ(count, 0);
    MPI_Request_get_status_all(kAll, requests, &flag, statuses);
    CHECK(!flag);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    while (!flag) MPI_Request_get_status_any(kAll, requests, &index, &flag, &statuses[0]);
    CHECK_EQ(index, 3);
    CHECK_EQ(statuses[0].MPI_TAG, 1);
    count = 0;
    while (count == 0) MPI_Request_get_status_some(kAll, requests, &count, indices, statuses);
    CHECK_EQ(count, 1);
    CHECK_EQ(indices[0], 3);
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    flag = 0;
    while (!flag) MPI_Request_get_status_all(kAll, requests, &flag, statuses);
    CHECK_EQ(statuses[3].MPI_TAG, 1);
    CHECK_EQ(statuses[4].MPI_TAG, 2);
    CHECK_EQ(statuses[2].MPI_TAG, MPI_ANY_TAG);
    CHECK_EQ(values[0], 1);
    CHECK_EQ(values[1], 2);
    MPI_Waitall(kAll, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
  } else if (world_rank == 1) {
    for (int i = 1; i <= 2; i++) {
      MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
  }
}
#endif

/* Null pointers are errors, whatever is under way, and change nothing. */
static void null_pointers(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (world_rank == 0) {
    MPI_Request request, *no_request = NULL;
    MPI_Status status;
    int value = -1, flag = 0, index = 0, count = 0, *no_int = NULL;
    MPI_Irecv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    CHECK(MPI_Wait(no_request, &status) != MPI_SUCCESS);
    CHECK(MPI_Test(no_request, &flag, &status) != MPI_SUCCESS);
    CHECK(MPI_Test(&request, no_int, &status) != MPI_SUCCESS);
    CHECK(MPI_Waitall(2, no_request, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testall(2, no_request, &flag, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Testall(1, &request, no_int, MPI_STATUSES_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Waitany(2, no_request, &index, &status) != MPI_SUCCESS);
    CHECK(MPI_Waitany(1, &request, no_int, &status) != MPI_SUCCESS);
    CHECK(MPI_Testany(1, &request, &index, no_int, &status) != MPI_SUCCESS);
    CHECK(MPI_Waitsome(2, no_request, &count, &index, &status) != MPI_SUCCESS);
    CHECK(MPI_Testsome(1, &request, no_int, &index, &status) != MPI_SUCCESS);
    CHECK(MPI_Request_get_status(request, no_int, &status) != MPI_SUCCESS);
    CHECK(MPI_Request_free(no_request) != MPI_SUCCESS);
    CHECK(MPI_Cancel(no_request) != MPI_SUCCESS);
    CHECK(MPI_Start(no_request) != MPI_SUCCESS);
    CHECK(MPI_Startall(1, no_request) != MPI_SUCCESS);
#ifndef OPEN_MPI /* it crashes */
    CHECK(MPI_Iprobe(1, 1, MPI_COMM_WORLD, no_int, &status) != MPI_SUCCESS);
    CHECK(MPI_Comm_free(NULL) != MPI_SUCCESS);
#endif
    MPI_Send(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD);
    CHECK_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
    CHECK_EQ(value, 7);
  } else if (world_rank == 1) {
    int value = 7;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Receives mixed with nonblocking collectives in one waitall. */
static void with_collectives(void) {
  int sum = 0, one = 1, value = -1;
  int left = (world_rank + world_size - 1) % world_size, right = (world_rank + 1) % world_size;
  MPI_Request requests[4];
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(&value, 1, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibarrier(MPI_COMM_WORLD, &requests[2]);
  MPI_Issend(&world_rank, 1, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  CHECK_EQ(sum, world_size);
  CHECK_EQ(value, left);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
    {"wait", wait_each},
    {"waitall", waitall},
    {"waitany", waitany},
    {"waitsome", waitsome},
    {"test", test_each},
    {"testall", testall},
    {"testany", testany},
    {"testsome", testsome},
    {"get_status", get_status},
    {"statuses_ignored", statuses_ignored},
    {"empty_lists", empty_lists},
    {"request_free", request_free},
    {"cancel_some", cancel_some},
    {"cancel_too_late", cancel_too_late},
    {"persistent", persistent},
    {"persistent_cancel", persistent_cancel},
    {"own_generalized", own_generalized},
#if MPI_VERSION >= 4
    {"partitioned", partitioned},
#endif
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
    {"get_status_of_many", get_status_of_many},
#endif
    {"null_pointers", null_pointers},
    {"with_collectives", with_collectives},
  };
  MPI_Init(&argc, &argv);
  return RUN_CASES(argc, argv, cases);
}
