/* Large messages and collectives whose calls the overlap thread makes (HOB_OVERLAP_STARTS=always:
 * all that have succeeded once). Two ranks. Argument, what:
 *   order      messages of one sender with one tag arrive in order, whoever starts them
 *   requests   every way to wait for them, to ask, to cancel and to free
 *   objects    communicators and datatypes that are freed while a start waits
 *   collect    collective operations in order, and between messages
 *   beside     a message leaves though the program calls nothing any more
 *   arguments  wrong arguments: the call itself returns the error, as without the thread
 *   handles    of datatypes and communicators that are freed, and given again
 * With "none" after it, no start may have been left to the thread; else some must have been, where
 * Hob is there. */
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "overlap_check.h"

enum { COUNT = 1 << 16, MESSAGES = 6 };
static double *out[MESSAGES], *in[MESSAGES];

static void fill(int round) {
  for (int i = 0; i < MESSAGES; i++)
    for (int j = 0; j < COUNT; j++) {
      out[i][j] = 1e6 * round + 1e5 * rank + 1e4 * i + j % 1000;
      in[i][j] = -1;
    }
}
static void check(int round, int message, int count) {
  for (int j = 0; j < count; j++)
    if (in[message][j] != 1e6 * round + 1e5 * (1 - rank) + 1e4 * message + j % 1000)
      fail("wrong bytes");
}

/* Odd ones are small, one of them sent by a blocking call: none may pass the large ones. */
static void order(void) {
  MPI_Request requests[2 * MESSAGES];
  const int counts[MESSAGES] = {COUNT, 1, COUNT, COUNT, 3, COUNT / 2};
  for (int round = 0; round < 30; round++) {
    fill(round);
    for (int i = 0; i < MESSAGES; i++) {
      if (round % 2 == 0)
        MPI_Irecv(in[i], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < MESSAGES; i++) {
      requests[MESSAGES + i] = MPI_REQUEST_NULL;
      if (i == 4 && round % 3 == 0)
        MPI_Send(out[i], counts[i], MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD);
      else if (i == 2)
        MPI_Issend(out[i], counts[i], MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD,
                   &requests[MESSAGES + i]);
      else
        MPI_Isend(out[i], counts[i], MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD,
                  &requests[MESSAGES + i]);
      if (round % 5 == 1) compute(i * 40e-6);
    }
    if (round % 2 != 0)
      for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(in[i], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[i]);
    compute(round % 4 * 200e-6);
    MPI_Status statuses[2 * MESSAGES];
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int i = 0; i < MESSAGES; i++) {
      int count = -1;
      MPI_Get_count(&statuses[i], MPI_DOUBLE, &count);
      if (count != counts[i]) fail("another message");
      check(round, i, counts[i]);
    }
  }
}

static void requests_of_all_kinds(void) {
  for (int round = 0; round < 40; round++) {
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int done = 0, flag = 0, index = -1, indices[4];
    fill(round);
    for (int i = 0; i < 2; i++)
      MPI_Irecv(in[i], COUNT, MPI_DOUBLE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 2; i++)
      MPI_Isend(out[i], COUNT, MPI_DOUBLE, 1 - rank, i, MPI_COMM_WORLD, &requests[2 + i]);
    if (round % 3 == 0) compute(300e-6);
    switch (round % 8) {
      case 0:
        while (done < 4) {
          MPI_Waitany(4, requests, &index, statuses);
          if (index == MPI_UNDEFINED) fail("none left");
          done++;
        }
        break;
      case 1:
        while (!flag) MPI_Testall(4, requests, &flag, statuses);
        break;
      case 2:
        while (done < 4) {
          MPI_Waitsome(4, requests, &index, indices, statuses);
          done += index;
        }
        break;
      case 3:
        for (int i = 3; i >= 0; i--)
          for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, statuses);
        break;
      case 4:
        for (int i = 3; i >= 0; i--)
          for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, statuses);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        break;
      case 5:
        while (done < 4) {
          MPI_Testany(4, requests, &index, &flag, statuses);
          if (flag && index != MPI_UNDEFINED) done++;
        }
        break;
      case 6: /* complete, since the peer has it, but nobody waits for it */
        MPI_Request_free(&requests[2]);
        if (requests[2] != MPI_REQUEST_NULL) fail("not freed");
        MPI_Waitall(4, requests, statuses);
        MPI_Barrier(MPI_COMM_WORLD);
        break;
      default:
        for (int i = 0; i < 4; i++) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 4; i++)
      if (requests[i] != MPI_REQUEST_NULL) fail("a request that is complete is there");
    for (int i = 0; i < 2; i++) check(round, i, COUNT);
  }
}

static void objects(void) {
  for (int round = 0; round < 20; round++) {
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Request requests[4];
    fill(round);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(COUNT / 4, 2, 4, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    for (int twice = 0; twice < 2; twice++) {
      MPI_Irecv(in[2 * twice], COUNT, MPI_DOUBLE, 1 - rank, 1, comm, &requests[0]);
      MPI_Irecv(in[2 * twice + 1], 1, type, 1 - rank, 2, comm, &requests[1]);
      MPI_Isend(out[2 * twice], COUNT, MPI_DOUBLE, 1 - rank, 1, comm, &requests[2]);
      MPI_Isend(out[2 * twice + 1], 1, type, 1 - rank, 2, comm, &requests[3]);
      if (twice == 0) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    if (round % 2 == 0) compute(300e-6);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
    compute(200e-6);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    check(round, 0, COUNT);
    check(round, 2, COUNT);
    check(round, 3, 2);
    if (in[3][2] != -1) fail("a gap was written to");
  }
}

static void collect(void) {
  for (int round = 0; round < 20; round++) {
    MPI_Request requests[5];
    fill(round);
    MPI_Irecv(in[0], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out[0], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Iallreduce(out[1], in[1], COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[2]);
    if (round % 2 == 0) compute(300e-6);
    MPI_Ibcast(rank == 0 ? out[2] : in[2], COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Ialltoall(out[3], COUNT / 2, MPI_DOUBLE, in[3], COUNT / 2, MPI_DOUBLE, MPI_COMM_WORLD,
                  &requests[4]);
    if (round % 3 == 0) MPI_Barrier(MPI_COMM_WORLD);
    compute(200e-6);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    check(round, 0, COUNT);
    for (int j = 0; j < COUNT; j++)
      if (in[1][j] != 2 * (1e6 * round + 1e4 + j % 1000) + 1e5) fail("wrong sum");
    if (rank == 1) check(round, 2, COUNT);
    const int from = 1 - rank;
    for (int j = 0; j < COUNT / 2; j++)
      if (in[3][from * (COUNT / 2) + j] !=
          1e6 * round + 1e5 * from + 3e4 + (rank * (COUNT / 2) + j) % 1000)
        fail("wrong part");
  }
}

static void beside(void) {
  for (int round = 1; round < 12; round++) {
    MPI_Request requests[2];
    fill(round);
    in[0][COUNT - 1] = -1;
    MPI_Irecv(in[0], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out[0], COUNT, MPI_DOUBLE, 1 - rank, 1, MPI_COMM_WORLD, &requests[1]);
    compute_until(&in[0][COUNT - 1], 1e6 * round + 1e5 * (1 - rank) + (COUNT - 1) % 1000);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    check(round, 0, COUNT);
  }
}

/* The call itself returns the error, and makes no request. */
static void refused(const char* what, int error, MPI_Request request) {
  if (error == MPI_SUCCESS || request != MPI_REQUEST_NULL) {
    fprintf(stderr, "%d: wrong %s: ", rank, what);
    fail("the call did not return the error");
  }
}
static void refused_message(const char* what, const void* buffer, int count, MPI_Datatype type,
                            int to, int tag, MPI_Comm comm) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = MPI_Isend(buffer, count, type, to, tag, comm, &request);
  refused(what, error, request);
}

/* Starts like those that are refused later succeed once, and the next time in the thread. */
static void succeed(MPI_Datatype type, int count, MPI_Comm comm) {
  MPI_Request requests[4];
  for (int round = 0; round < 2; round++) {
    MPI_Irecv(in[0], count, type, 1 - rank, 1, comm, &requests[0]);
    MPI_Isend(out[0], count, type, 1 - rank, 1, comm, &requests[1]);
    MPI_Iallreduce(out[1], in[1], COUNT, MPI_DOUBLE, MPI_SUM, comm, &requests[2]);
    MPI_Iallgather(out[2], COUNT / 2, MPI_DOUBLE, in[2], COUNT / 2, MPI_DOUBLE, comm, &requests[3]);
    compute(1e-3);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  }
}

static void arguments(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  succeed(MPI_DOUBLE, COUNT, world);
  refused_message("tag", out[0], COUNT, MPI_DOUBLE, 1 - rank, -7, world);
  int *highest = NULL, known = 0;
  MPI_Comm_get_attr(world, MPI_TAG_UB, &highest, &known);
  if (known && *highest < INT_MAX)
    refused_message("high tag", out[0], COUNT, MPI_DOUBLE, 1 - rank, *highest + 1, world);
  refused_message("buffer", NULL, COUNT, MPI_DOUBLE, 1 - rank, 1, world);
  refused_message("peer", out[0], COUNT, MPI_DOUBLE, 2, 1, world);
  refused_message("datatype", out[0], COUNT, MPI_DATATYPE_NULL, 1 - rank, 1, world);
  refused_message("count", out[0], -COUNT, MPI_DOUBLE, 1 - rank, 1, world);
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_Iallreduce(out[1], in[1], COUNT, MPI_DOUBLE, MPI_BXOR, world, &request);
  refused("operation", error, request);
  error = MPI_Iallgather(out[2], COUNT / 2, MPI_DOUBLE, in[2], COUNT / 2, MPI_DATATYPE_NULL, world,
                         &request);
  refused("datatype of what is received", error, request);
  MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL);
}

/* Libraries give handles again: what has succeeded with the one before shows nothing. */
static void handles(void) {
  MPI_Datatype type, again;
  MPI_Comm comm, smaller;
  MPI_Type_contiguous(4, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  succeed(type, COUNT / 4, comm);
  MPI_Type_free(&type);
  MPI_Type_contiguous(4, MPI_DOUBLE, &again);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  refused_message("datatype, not committed", out[0], COUNT / 4, again, 1 - rank, 1, comm);
  MPI_Type_free(&again);
  static int calls;
  if (calls++ % 2 == 0)
    MPI_Comm_free(&comm);
  else
    MPI_Comm_disconnect(&comm);
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &smaller);
  MPI_Comm_set_errhandler(smaller, MPI_ERRORS_RETURN);
  if (rank == 0)
    refused_message("peer of a smaller communicator", out[0], COUNT, MPI_DOUBLE, 1, 1, smaller);
  MPI_Comm_free(&smaller);
}

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

/* How many starts the thread has made; -1: Hob is not there. */
static long long started(void) {
  unsigned long long value = 0;
  return HOB_Counter && HOB_Counter("overlap_started", &value) == MPI_SUCCESS ? (long long)value
                                                                              : -1;
}

static void play(const char* what) {
  if (strcmp(what, "order") == 0) order();
  if (strcmp(what, "requests") == 0) requests_of_all_kinds();
  if (strcmp(what, "objects") == 0) objects();
  if (strcmp(what, "collect") == 0) collect();
  if (strcmp(what, "beside") == 0) beside();
  if (strcmp(what, "arguments") == 0) arguments();
  if (strcmp(what, "handles") == 0) handles();
}

/* Whether the thread has made a start in every rank. */
static int all_started(void) {
  int all = started() != 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "order";
  const int none = argc > 2 && strcmp(argv[2], "none") == 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < MESSAGES; i++) {
    out[i] = malloc(COUNT * sizeof(double));
    in[i] = malloc(COUNT * sizeof(double));
  }
  /* On a busy machine the thread may not get a core while the program computes. */
  int all = 0;
  for (int again = 0; !all && again < (none ? 1 : 50); again++) {
    play(what);
    all = all_started();
  }
  if (none && started() > 0) fail("starts were left to the thread");
  if (!none && !all) fail("none was");
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("%s: right\n", what);
  MPI_Finalize();
  for (int i = 0; i < MESSAGES; i++) {
    free(out[i]);
    free(in[i]);
  }
  return 0;
}
