/* Parts of MPI that go round what Hob knows: partitioned communication, communicators of groups,
 * and MPICH's extensions, while receives of the program wait. */
#include <pthread.h>

#include "p2p_check.h"

enum { OTHERS = 200, PARTS = 4, EACH = 8 };

/* Receives with tags from 100 on, from the other rank. */
static void post(MPI_Comm comm, int n, int* into, MPI_Request* requests) {
  for (int i = 0; i < n; i++)
    MPI_Irecv(&into[i], 1, MPI_INT, !world_rank, 100 + i, comm, &requests[i]);
}

__attribute__((unused)) static void send_all(MPI_Comm comm, int n) {
  for (int i = n; i-- > 0;) MPI_Send(&i, 1, MPI_INT, !world_rank, 100 + i, comm);
}

static void check_all(int n, const int* got) {
  for (int i = 0; i < n; i++) CHECK_EQ(got[i], i);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* The receiver sets its transfer up after the sender's announcement has come. */
static void partitioned(MPI_Comm comm) {
  int data[PARTS * EACH], got[OTHERS], done = 0;
  MPI_Request part, requests[OTHERS];
  if (world_rank == 1) {
    for (int i = 0; i < PARTS * EACH; i++) data[i] = 1000 + i;
    MPI_Psend_init(data, PARTS, EACH, MPI_INT, 0, 7, comm, MPI_INFO_NULL, &part);
    MPI_Start(&part);
    for (int i = 0; i < PARTS; i++) MPI_Pready(i, part);
    send_all(comm, OTHERS);
  } else {
    post(comm, OTHERS, got, requests);
    while (!done) MPI_Testall(OTHERS, requests, &done, MPI_STATUSES_IGNORE);
    check_all(OTHERS, got);
    memset(data, 0, sizeof data);
    MPI_Precv_init(data, PARTS, EACH, MPI_INT, 1, 7, comm, MPI_INFO_NULL, &part);
    MPI_Start(&part);
  }
  MPI_Wait(&part, MPI_STATUS_IGNORE);
  for (int i = 0; i < PARTS * EACH; i++) CHECK_EQ(data[i], 1000 + i);
  MPI_Request_free(&part);
}

static void partitioned_late(void) {
  partitioned(MPI_COMM_WORLD);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  partitioned(comm);
  MPI_Comm_free(&comm);
}

/* What was drawn before a communicator is left to the library still matches, what is held as well.
 */
static void messages_before_partitioned(void) {
  int early[OTHERS], late[OTHERS], data = 5, flag = 0;
  MPI_Request part, requests[OTHERS], first;
  if (world_rank == 1) {
    send_all(MPI_COMM_WORLD, OTHERS);
    MPI_Send(&data, 1, MPI_INT, 0, 50, MPI_COMM_WORLD);
    MPI_Psend_init(&data, 1, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &part);
    MPI_Start(&part);
    MPI_Pready(0, part);
    send_all(MPI_COMM_WORLD, OTHERS);
  } else {
    MPI_Irecv(&data, 1, MPI_INT, 1, 50, MPI_COMM_WORLD, &first);
    while (!flag) MPI_Test(&first, &flag, MPI_STATUS_IGNORE);
    MPI_Precv_init(&data, 1, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &part);
    MPI_Start(&part);
    post(MPI_COMM_WORLD, OTHERS, early, requests);
    MPI_Waitall(OTHERS, requests, MPI_STATUSES_IGNORE);
    post(MPI_COMM_WORLD, OTHERS, late, requests);
    MPI_Waitall(OTHERS, requests, MPI_STATUSES_IGNORE);
    check_all(OTHERS, early);
    check_all(OTHERS, late);
  }
  MPI_Wait(&part, MPI_STATUS_IGNORE);
  CHECK_EQ(data, 5);
  MPI_Request_free(&part);
}
#endif

#if defined(MPIX_STREAM_NULL)
static void is_complete(void) {
  int got[OTHERS], value, *memory;
  MPI_Request requests[OTHERS], request;
  MPI_Win win;
  if (world_rank == 0) {
    post(MPI_COMM_WORLD, OTHERS, got, requests);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < OTHERS; i++) {
      while (!MPIX_Request_is_complete(requests[i])) MPIX_Stream_progress(MPIX_STREAM_NULL);
      MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    check_all(OTHERS, got);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    send_all(MPI_COMM_WORLD, OTHERS);
  }
  MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < 8; i++) memory[i] = 1000 * world_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  if (world_rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (int i = 0; i < 20; i++) {
      MPI_Rget(&value, 1, MPI_INT, 1, i % 3, 1, MPI_INT, win, &request);
      while (!MPIX_Request_is_complete(request)) MPIX_Stream_progress(MPIX_STREAM_NULL);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      CHECK_EQ(value, 1000 + i % 3);
    }
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

struct asked {
  MPI_Request request;
  int times, complete;
};

static int poll_it(MPIX_Async_thing thing) {
  struct asked* asked = MPIX_Async_get_state(thing);
  asked->times++;
  asked->complete = MPIX_Request_is_complete(asked->request);
  return asked->complete ? MPIX_ASYNC_DONE : MPIX_ASYNC_NOPROGRESS;
}

/* The library's progress asks for a request of the program's. */
static void asynchronous(void) {
  struct asked asked = {MPI_REQUEST_NULL, 0, 0};
  int value = 0;
  if (world_rank == 0) {
    MPI_Irecv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &asked.request);
    MPIX_Async_start(poll_it, &asked, MPIX_STREAM_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    while (!asked.complete) MPIX_Stream_progress(MPIX_STREAM_NULL);
    CHECK(asked.times > 0);
    MPI_Wait(&asked.request, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 77);
  } else {
    MPI_Barrier(MPI_COMM_WORLD);
    value = 77;
    MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
  }
}

static MPI_Comm team;

static void* ring(void* unused) {
  int me, n;
  (void)unused;
  MPIX_Threadcomm_start(team);
  MPI_Comm_rank(team, &me);
  MPI_Comm_size(team, &n);
  CHECK_EQ(n, 2 * world_size);
  for (int i = 0; i < 50; i++) {
    int in = -1, out = 1000 * i + me;
    MPI_Request pair[2];
    MPI_Irecv(&in, 1, MPI_INT, (me + n - 1) % n, i, team, &pair[0]);
    MPI_Isend(&out, 1, MPI_INT, (me + 1) % n, i, team, &pair[1]);
    MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
    CHECK_EQ(in, 1000 * i + (me + n - 1) % n);
  }
  MPI_Barrier(team);
  MPIX_Threadcomm_finish(team);
  return NULL;
}

static void threads_as_ranks(void) {
  pthread_t threads[2];
  MPIX_Threadcomm_init(MPI_COMM_WORLD, 2, &team);
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, ring, NULL);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  MPIX_Threadcomm_free(&team);
}

static MPI_Comm comms[2];

static void* deep(void* number) {
  MPI_Comm comm = comms[(size_t)number];
  int got[OTHERS], out[OTHERS];
  MPI_Request requests[2 * OTHERS];
  for (int round = 0; round < 10; round++) {
    post(comm, OTHERS, got, requests);
    for (int i = 0; i < OTHERS; i++) {
      out[i] = OTHERS - 1 - i;
      MPI_Isend(&out[i], 1, MPI_INT, !world_rank, 100 + out[i], comm, &requests[OTHERS + i]);
    }
    MPI_Waitall(2 * OTHERS, requests, MPI_STATUSES_IGNORE);
    check_all(OTHERS, got);
  }
  return NULL;
}

/* Each thread has a stream and a communicator that nobody else may touch. */
static void streams(void) {
  MPIX_Stream each[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    MPIX_Stream_create(MPI_INFO_NULL, &each[i]);
    MPIX_Stream_comm_create(MPI_COMM_WORLD, each[i], &comms[i]);
  }
  for (size_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, deep, (void*)i);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 2; i++) {
    MPI_Comm_free(&comms[i]);
    MPIX_Stream_free(&each[i]);
  }
}
#endif

static const struct test_case cases[] = {
#if defined(MPIX_STREAM_NULL)
    {"is_complete", is_complete},
    {"asynchronous", asynchronous},
    {"threads_as_ranks", threads_as_ranks},
    {"streams", streams},
#endif
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    {"partitioned_late", partitioned_late},
    {"messages_before_partitioned", messages_before_partitioned},
#endif
};

int main(int argc, char** argv) {
  int level;
  setenv("MPIR_CVAR_CH4_RESERVE_VCIS", "2", 1);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return 77;
  }
  return RUN_CASES(argc, argv, cases);
}
