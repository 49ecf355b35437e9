/* Communicators: intercommunicators, dup, split, free with receives pending, a handle reused for
 * another communicator, hints, Cartesian neighbours; threads that share one communicator. */
#include <pthread.h>

#include "p2p_check.h"

static int provided;

static void intercommunicator(void) {
  MPI_Comm half, inter;
  int side = world_rank % 2, remote = 0, value = -1, local_rank;
  MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 99, &inter);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &local_rank);
  CHECK_EQ(remote, side ? (world_size + 1) / 2 : world_size / 2);
  if (local_rank == 0) {
    MPI_Request requests[30];
    MPI_Status statuses[30];
    int values[30];
    for (int i = 0; i < 30; i++)
      MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : 0, i % 3 ? i : MPI_ANY_TAG, inter,
                &requests[i]);
    for (int i = 0; i < 30; i++) {
      value = 100 * side + i;
      MPI_Send(&value, 1, MPI_INT, 0, i, inter);
    }
    MPI_Waitall(30, requests, statuses);
    for (int i = 0; i < 30; i++) {
      CHECK_EQ(values[i], 100 * (1 - side) + i);
      CHECK_EQ(statuses[i].MPI_SOURCE, 0);
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static int free_value(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  return MPI_Comm_free((MPI_Comm*)value);
}

/* A communicator freed while its receives are pending goes on receiving. As libraries do, it may be
 * an attribute of another one, freed by the attribute's callback. */
static void freed_while_receiving(int by_callback) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_value, &key, NULL);
  for (int round = 0; round < 5; round++) {
    MPI_Comm comm;
    MPI_Request requests[10];
    int values[10];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (world_rank == 0) {
      for (int i = 0; i < 10; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i, comm, &requests[i]);
    } else if (world_rank == 1) {
      for (int i = 0; i < 10; i++) {
        values[i] = round * 10 + i;
        MPI_Issend(&values[i], 1, MPI_INT, 0, i, comm, &requests[i]);
      }
    }
    if (by_callback) {
      MPI_Comm owner;
      MPI_Comm_dup(MPI_COMM_WORLD, &owner);
      MPI_Comm_set_attr(owner, key, &comm);
      MPI_Comm_free(&owner);
    } else {
      MPI_Comm_free(&comm);
    }
    if (world_rank < 2) MPI_Waitall(10, requests, MPI_STATUSES_IGNORE);
    if (world_rank == 0)
      for (int i = 0; i < 10; i++) CHECK_EQ(values[i], round * 10 + i);
  }
  MPI_Comm_free_keyval(&key);
}

static void freed_while_pending(void) { freed_while_receiving(0); }
static void freed_by_callback(void) { freed_while_receiving(1); }

/* Handles are reused: messages must not leak from an old communicator into a new one. */
static void handles_reused(void) {
  for (int round = 0; round < 40; round++) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, round % 2 ? world_rank : -world_rank, &comm);
    int rank;
    MPI_Comm_rank(comm, &rank);
    int next = (rank + 1) % world_size, previous = (rank + world_size - 1) % world_size, value = -1;
    int out = rank + 100 * round;
    MPI_Request request;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
    MPI_Send(&out, 1, MPI_INT, next, round, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(value, previous + 100 * round);
    MPI_Comm_free(&comm);
  }
}

static void hints(void) {
  MPI_Info info;
  MPI_Comm comm;
  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
  MPI_Info_set(info, "mpi_assert_no_any_source", "true");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Info_free(&info);
  if (world_rank == 0) {
    int values[50];
    MPI_Request requests[50];
    for (int i = 0; i < 50; i++) MPI_Irecv(&values[i], 1, MPI_INT, 1, i, comm, &requests[i]);
    MPI_Barrier(comm);
    MPI_Waitall(50, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 50; i++) CHECK_EQ(values[i], i);
  } else {
    MPI_Barrier(comm);
    if (world_rank == 1)
      for (int i = 49; i >= 0; i--) MPI_Send(&i, 1, MPI_INT, 0, i, comm);
  }
  MPI_Comm_free(&comm);
}

static void cartesian(void) {
  int dims[1] = {world_size}, periods[1] = {1}, left, right, rank, value = -1;
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &comm);
  MPI_Comm_rank(comm, &rank);
  MPI_Cart_shift(comm, 0, 1, &left, &right);
  MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &value, 1, MPI_INT, left, 0, comm, MPI_STATUS_IGNORE);
  CHECK_EQ(value, left);
  MPI_Comm_free(&comm);
}

/* Tags far above 32767, which every communicator has, whether MPI_TAG_UB is asked of it or of
 * MPI_COMM_WORLD: an older receive of any tag comes first, and so does what has arrived. */
static void high_tags_on(MPI_Comm comm, int high) {
  int inter = 0, rank, peer;
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_rank(comm, &rank);
  peer = inter ? 0 : 1 - rank;
  if (world_rank == 0) {
    static const int tags[4] = {0, 0, 1, -7};
    MPI_Recv(NULL, 0, MPI_BYTE, 1, 10000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) MPI_Send(&i, 1, MPI_INT, peer, high + tags[i], comm);
  } else {
    int values[4] = {-1, -1, -1, -1};
    MPI_Request requests[4];
    MPI_Irecv(&values[0], 1, MPI_INT, peer, MPI_ANY_TAG, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, peer, high, comm, &requests[1]);
    MPI_Irecv(&values[3], 1, MPI_INT, peer, high - 7, comm, &requests[3]);
    MPI_Send(NULL, 0, MPI_BYTE, 0, 10000, MPI_COMM_WORLD);
    MPI_Wait(&requests[3], MPI_STATUS_IGNORE);
    MPI_Irecv(&values[2], 1, MPI_INT, peer, high + 1, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++) CHECK_EQ(values[i], i);
  }
}

static void high_tags(void) {
  MPI_Comm pair, copy, self, inter, merged;
  int* highest = NULL;
  int known = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &known);
  CHECK(known);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < 2 ? 0 : MPI_UNDEFINED, -world_rank, &pair);
  if (pair == MPI_COMM_NULL) return;
  MPI_Comm_dup(pair, &copy);
  MPI_Comm_split(pair, world_rank, 0, &self);
  MPI_Intercomm_create(self, 0, pair, world_rank, 5, &inter);
  MPI_Intercomm_merge(inter, world_rank, &merged);
  high_tags_on(MPI_COMM_WORLD, 100000);
  high_tags_on(pair, 100000);
  high_tags_on(copy, *highest - 1);
  high_tags_on(inter, 32768);
  high_tags_on(merged, *highest / 2);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&self);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&pair);
}

/* A persistent receive refers to its communicator: it may be started when that has been freed. */
static void started_after_free(void) {
  MPI_Comm comm;
  MPI_Request request = MPI_REQUEST_NULL;
  int value = 17;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (world_rank == 0) MPI_Recv_init(&value, 1, MPI_INT, 1, 4, comm, &request);
  if (world_rank == 1) MPI_Send_init(&value, 1, MPI_INT, 0, 4, comm, &request);
  MPI_Comm_free(&comm);
  for (int round = 0; round < 3 && request != MPI_REQUEST_NULL; round++) {
    value = world_rank == 1 ? round : -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(value, round);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

/* An attribute's callback receives what came before a message that was received long ago. */
static long received_late;

static int receive_late(MPI_Comm comm, int key, void* value, void* extra) {
  int first = -1, second = -1, third = -1, flag = 0;
  MPI_Comm from = comm == MPI_COMM_SELF ? *(MPI_Comm*)value : comm;
  MPI_Request request;
  MPI_Status status;
  (void)key, (void)extra;
  if (world_rank != 0) return MPI_SUCCESS;
  alarm(kHangSeconds);
  MPI_Recv(&first, 1, MPI_INT, 1, 1, from, MPI_STATUS_IGNORE);
  while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, 2, from, &flag, &status);
  MPI_Irecv(&second, 1, MPI_INT, status.MPI_SOURCE, 2, from, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Probe(1, 3, from, &status);
  MPI_Recv(&third, 1, MPI_INT, 1, MPI_ANY_TAG, from, MPI_STATUS_IGNORE);
  received_late += first == 1 && second == 2 && third == 3 && status.MPI_TAG == 3;
  return MPI_SUCCESS;
}

static void send_and_receive_last(MPI_Comm comm) {
  if (world_rank == 1)
    for (int i = 1; i < 5; i++) MPI_Send(&i, 1, MPI_INT, 0, i, comm);
  if (world_rank == 0) {
    int last = -1;
    MPI_Request request;
    MPI_Irecv(&last, 1, MPI_INT, 1, 4, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(last, 4);
  }
}

static void received_by_callback(void) {
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm comm;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, receive_late, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(comm, key, NULL);
  send_and_receive_last(comm);
  received_late = 0;
  MPI_Comm_free(&comm);
  CHECK_EQ(received_late, world_rank == 0);
  MPI_Comm_free_keyval(&key);
}

/* The same at the end of MPI, which deletes the attributes of MPI_COMM_SELF first. main() looks. */
static int at_the_end;
static void received_at_the_end(void) {
  static MPI_Comm comm;
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, receive_late, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &comm);
  MPI_Comm_free_keyval(&key);
  send_and_receive_last(comm);
  received_late = 0;
  at_the_end = 1;
  CHECK(1);
}

enum { kThreads = 4, kEach = 300 };

static void* pair_thread(void* argument) {
  int id = (int)(long)argument;
  for (int i = 0; i < kEach; i++) {
    int value = -1;
    if (world_rank == 0) {
      MPI_Request request;
      MPI_Irecv(&value, 1, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, 100 + id, MPI_COMM_WORLD, &request);
      if (i % 3 == 0) {
        int flag = 0;
        while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      }
      if (value != id * 1000 + i) CHECK_EQ(value, id * 1000 + i);
      if (i % 10 == 0) MPI_Send(&value, 1, MPI_INT, 1, 200 + id, MPI_COMM_WORLD);
    } else {
      value = id * 1000 + i;
      if (i % 7 == 0)
        MPI_Ssend(&value, 1, MPI_INT, 0, 100 + id, MPI_COMM_WORLD);
      else
        MPI_Send(&value, 1, MPI_INT, 0, 100 + id, MPI_COMM_WORLD);
      if (i % 10 == 0) MPI_Recv(&value, 1, MPI_INT, 0, 200 + id, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
  }
  return NULL;
}

static void threads_share_a_communicator(void) {
  pthread_t threads[kThreads];
  if (provided < MPI_THREAD_MULTIPLE) {
    CHECK(1);
    return;
  }
  if (world_rank > 1) return;
  for (long i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, pair_thread, (void*)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  CHECK(1);
}

/* Threads that take whatever comes: each message exactly once. */
static char taken[kThreads * kEach];
static void* taking_thread(void* argument) {
  int id = (int)(long)argument;
  for (int i = 0; i < kEach; i++) {
    int value = -1;
    if (world_rank == 0) {
      if (i % 2) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, 300, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 300, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      if (value < 0 || value >= kThreads * kEach) {
        CHECK(value >= 0 && value < kThreads * kEach);
        continue;
      }
      __atomic_fetch_add(&taken[value], 1, __ATOMIC_RELAXED);
    } else {
      value = id * kEach + i;
      MPI_Send(&value, 1, MPI_INT, 0, 300, MPI_COMM_WORLD);
    }
  }
  return NULL;
}

static void threads_take_each_once(void) {
  pthread_t threads[kThreads];
  if (provided < MPI_THREAD_MULTIPLE) {
    CHECK(1);
    return;
  }
  if (world_rank > 1) return;
  for (long i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, taking_thread, (void*)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  if (world_rank == 0)
    for (int i = 0; i < kThreads * kEach; i++)
      if (taken[i] != 1) CHECK_EQ(taken[i], 1);
  CHECK(1);
}

int main(int argc, char** argv) {
  static const struct test_case cases[] = {
      {"intercommunicator", intercommunicator},
      {"freed_while_pending", freed_while_pending},
      {"freed_by_callback", freed_by_callback},
      {"handles_reused", handles_reused},
      {"hints", hints},
      {"cartesian", cartesian},
      {"high_tags", high_tags},
      {"started_after_free", started_after_free},
      {"threads_share_a_communicator", threads_share_a_communicator},
      {"threads_take_each_once", threads_take_each_once},
      {"received_by_callback", received_by_callback},
      {"received_at_the_end", received_at_the_end},
  };
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int bad = RUN_CASES(argc, argv, cases);
  const int late = at_the_end && received_late != (world_rank == 0);
  if (late) fprintf(stderr, "rank %d: what came was not received in MPI_Finalize\n", world_rank);
  return bad || late;
}
