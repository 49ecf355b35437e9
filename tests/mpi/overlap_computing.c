/* A program that never enters MPI while it computes: what is under way ends meanwhile. Two ranks.
 *
 * The receiver starts a large receive and "computes" until its last bytes are there, for a minute
 * at most; the sender computes until the receiver says so by a file-less sign: shared memory of the
 * node. Without help neither message ends: both would compute until the deadline.
 *
 * Arguments: what is under way: message, persistent, allreduce, user_op, errors, attributes, types,
 * fork, exit. Or watched: without help, rank 0 waits 100 ms for rank 1 in each of three rounds.
 * Then "multiple": the program asks for MPI_THREAD_MULTIPLE. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "overlap_check.h"

enum { COUNT = 1 << 20 };
static double* out;
static double* in;

static void check_all(double value) {
  for (int i = 0; i < COUNT; i++)
    if (in[i] != value) fail("wrong bytes");
}

static void message(int round) {
  MPI_Request requests[2];
  for (int i = 0; i < COUNT; i++) out[i] = round + rank;
  in[COUNT - 1] = -1;
  MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD, &requests[1]);
  compute_until(&in[COUNT - 1], round + 1 - rank);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check_all(round + 1 - rank);
}

static void persistent(void) {
  MPI_Request requests[2];
  MPI_Recv_init(in, COUNT, MPI_DOUBLE, 1 - rank, 8, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out, COUNT, MPI_DOUBLE, 1 - rank, 8, MPI_COMM_WORLD, &requests[1]);
  for (int round = 1; round < 4; round++) {
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    in[COUNT - 1] = -1;
    MPI_Startall(2, requests);
    compute_until(&in[COUNT - 1], round + 1 - rank);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_all(round + 1 - rank);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* The result lands in the end, but not always front to back: only completion is waited for, and
 * that it is right. */
static void allreduce(void) {
  MPI_Request request;
  for (int round = 1; round < 4; round++) {
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    MPI_Iallreduce(out, in, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    const double end = now() + 0.05;
    while (now() < end) continue;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check_all(2 * round + 1);
  }
}

/* The program's own operation runs in the program's own thread, whatever else is under way. */
static pthread_t main_thread;
static atomic_int elsewhere;
static void add(void* a, void* b, int* count, MPI_Datatype* type) {
  (void)type;
  if (!pthread_equal(pthread_self(), main_thread)) elsewhere = 1;
  for (int i = 0; i < *count; i++) ((double*)b)[i] += ((double*)a)[i];
}
static void user_op(void) {
  MPI_Request requests[3];
  MPI_Op op;
  double* sum = malloc(COUNT * sizeof *sum);
  main_thread = pthread_self();
  MPI_Op_create(add, 1, &op);
  for (int round = 1; round < 4; round++) {
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(out, sum, COUNT, MPI_DOUBLE, op, MPI_COMM_WORLD, &requests[2]);
    const double end = now() + 0.05;
    while (now() < end) continue;
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    check_all(round + 1 - rank);
    for (int i = 0; i < COUNT; i++)
      if (sum[i] != 2 * round + 1) fail("wrong sum");
  }
  MPI_Op_free(&op);
  free(sum);
  if (elsewhere) fail("an operation of the program's ran in another thread");
}

/* A receive that is too small fails, and its error handler runs in the program's own thread. */
static int failures;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  if (!pthread_equal(pthread_self(), main_thread)) elsewhere = 1;
  if (*code != MPI_SUCCESS) failures++;
}
static void errors(void) {
  MPI_Request requests[2];
  MPI_Errhandler own;
  main_thread = pthread_self();
  MPI_Comm_create_errhandler(handler, &own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
  for (int round = 0; round < 4; round++) {
    MPI_Irecv(in, COUNT / 2, MPI_DOUBLE, 1 - rank, 11, MPI_COMM_WORLD, &requests[0]);
    MPI_Barrier(MPI_COMM_WORLD); /* first the receive, then what does not fit */
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 11, MPI_COMM_WORLD, &requests[1]);
    const double end = now() + 0.03;
    while (now() < end) continue;
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (failures != round) fail("an error before its wait");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (failures != round + 1) fail("no error");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&own);
  if (elsewhere) fail("an error handler of the program's ran in another thread");
}

/* The last use of an object that was freed runs its delete callback in the program's own thread. */
static int on_delete(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  if (!pthread_equal(pthread_self(), main_thread)) elsewhere = 1;
  return MPI_SUCCESS;
}
static void attributes(void) {
  int key;
  main_thread = pthread_self();
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
  for (int round = 1; round < 4; round++) {
    MPI_Request requests[2];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, NULL);
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 12, comm, &requests[0]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 12, comm, &requests[1]);
    MPI_Comm_free(&comm);
    const double end = now() + 0.03;
    while (now() < end) continue;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_all(round + 1 - rank);
  }
  MPI_Comm_free_keyval(&key);
  if (elsewhere) fail("a callback of the program's ran in another thread");
}

/* Calls that no library needs to protect, hundreds of thousands, while the thread may want in. */
static void types(void) {
  MPI_Request requests[2];
  for (int round = 1; round < 40; round++) {
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 10, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 10, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 200; i++) {
      MPI_Datatype type;
      MPI_Group group;
      MPI_Info info;
      MPI_Type_vector(3, 1, 2, MPI_INT, &type);
      MPI_Type_commit(&type);
      MPI_Type_free(&type);
      MPI_Comm_group(MPI_COMM_WORLD, &group);
      MPI_Group_free(&group);
      MPI_Info_create(&info);
      MPI_Info_free(&info);
      if (i % 10 == 0) usleep(60);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_all(round + 1 - rank);
  }
}

static void forks(void) {
  for (int round = 0; round < 5; round++) {
    message(round);
    const pid_t child = fork();
    if (child == 0) {
      int flag = 0;
      MPI_Initialized(&flag);
      _exit(flag ? 7 : 8);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7)
      fail("a child does not end");
  }
}

/* Rank 1 computes until its memory has what rank 0 wrote: over the network that needs somebody who
 * is in the library on rank 1. Several windows, one after another and at once. */
static void exposed(void) {
  for (int round = 1; round <= 6; round++) {
    double *mine, *other, got = -1, one = round;
    MPI_Win win, second;
    MPI_Win_allocate(4096, sizeof *mine, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    MPI_Win_allocate(4096, sizeof *other, MPI_INFO_NULL, MPI_COMM_WORLD, &other, &second);
    mine[0] = mine[1] = mine[2] = other[0] = 0;
    if (round % 2 == 0) MPI_Win_free(&second);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      MPI_Accumulate(&one, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, win);
      MPI_Fetch_and_op(&one, &got, MPI_DOUBLE, 1, 1, MPI_SUM, win);
      MPI_Win_flush(1, win);
      if (got != 0) fail("fetched something else");
      MPI_Put(&one, 1, MPI_DOUBLE, 1, 2, 1, MPI_DOUBLE, win);
      MPI_Win_unlock(1, win);
    } else {
      compute_until(&mine[0], round);
      compute_until(&mine[1], round);
      compute_until(&mine[2], round);
    }
    MPI_Win_free(&win);
    if (round % 2 != 0) MPI_Win_free(&second);
  }
}

/* Rank 1 goes on computing for 100 ms after rank 0 has begun to wait. Said by plain stores, since a
 * call of MPI would move the messages. */
static void watched(void) {
  volatile int* waits;
  MPI_Aint size;
  int unit;
  MPI_Win win;
  MPI_Win_allocate_shared(rank == 0 ? sizeof(int) : 0, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                          (void*)&waits, &win);
  MPI_Win_shared_query(win, 0, &size, &unit, (void*)&waits);
  if (rank == 0) *waits = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 1; round <= 3; round++) {
    MPI_Request requests[2];
    for (int i = 0; i < COUNT; i++) out[i] = round + rank;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 7, MPI_COMM_WORLD, &requests[1]);
    usleep(2000);
    if (rank == 0) *waits = round;
    while (*waits != round) usleep(100);
    if (rank == 1) usleep(100000);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check_all(round + 1 - rank);
  }
  MPI_Win_free(&win);
}

static int level_is(int expected) {
  int level = -1;
  MPI_Query_thread(&level);
  return level == expected;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "message";
  if (strcmp(what, "exit") == 0) {
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    if (provided != MPI_THREAD_FUNNELED || !level_is(provided)) fail("another thread level");
  } else if (argc > 2 && strcmp(argv[2], "multiple") == 0) {
    int provided = -1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE || !level_is(provided)) fail("another thread level");
  } else {
    MPI_Init(&argc, &argv);
    if (!level_is(MPI_THREAD_SINGLE)) fail("another thread level");
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  out = malloc(COUNT * sizeof *out);
  in = malloc(COUNT * sizeof *in);
  if (strcmp(what, "message") == 0)
    for (int round = 0; round < 10; round++) message(round);
  if (strcmp(what, "persistent") == 0) persistent();
  if (strcmp(what, "allreduce") == 0) allreduce();
  if (strcmp(what, "user_op") == 0) user_op();
  if (strcmp(what, "errors") == 0) errors();
  if (strcmp(what, "attributes") == 0) attributes();
  if (strcmp(what, "types") == 0) types();
  if (strcmp(what, "fork") == 0) forks();
  if (strcmp(what, "exposed") == 0) exposed();
  if (strcmp(what, "exit") == 0) message(1);
  if (strcmp(what, "watched") == 0) watched();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%s: right\n", what);
  MPI_Finalize();
  free(out);
  free(in);
  return 0;
}
