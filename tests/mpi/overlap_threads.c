/* Several threads inside MPI at once, each with a communicator of its own: large messages and
 * reductions with an operation of the program's are under way while the threads compute or exchange
 * small messages. Contents are checked, and that the operation runs in threads of the program's
 * alone. Two ranks. Arguments: threads, rounds. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COUNT = 1 << 16, SMALL = 20 };
static int rank, rounds = 30;
static atomic_int wrong, elsewhere;
static _Thread_local int of_program;
static MPI_Op op;

static void add(void* a, void* b, int* count, MPI_Datatype* type) {
  (void)type;
  if (!of_program) elsewhere = 1;
  for (int i = 0; i < *count; i++) ((double*)b)[i] += ((double*)a)[i];
}

static void small_messages(MPI_Comm comm, int round) {
  for (int i = 0; i < SMALL; i++) {
    int mine = round + i, other = -1;
    MPI_Request request;
    MPI_Irecv(&other, 1, MPI_INT, 1 - rank, 2, comm, &request);
    MPI_Send(&mine, 1, MPI_INT, 1 - rank, 2, comm);
    if (i % 2 == 0) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    wrong += other != mine;
  }
}

static void* work(void* argument) {
  const MPI_Comm comm = *(MPI_Comm*)argument;
  double* out = malloc(COUNT * sizeof *out);
  double* in = malloc(COUNT * sizeof *in);
  double* sum = malloc(COUNT * sizeof *sum);
  of_program = 1;
  for (int round = 1; round <= rounds; round++) {
    MPI_Request requests[3];
    for (int i = 0; i < COUNT; i++) out[i] = round + rank + i;
    MPI_Irecv(in, COUNT, MPI_DOUBLE, 1 - rank, 1, comm, &requests[0]);
    MPI_Isend(out, COUNT, MPI_DOUBLE, 1 - rank, 1, comm, &requests[1]);
    MPI_Iallreduce(out, sum, COUNT, MPI_DOUBLE, round % 3 == 0 ? op : MPI_SUM, comm, &requests[2]);
    if (round % 2 == 0)
      usleep(3000);
    else
      small_messages(comm, round);
    if (round % 4 == 0) {
      MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    } else {
      for (int left = 3; left > 0; left--) {
        int index = -1;
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        wrong += index < 0 || index > 2;
      }
    }
    for (int i = 0; i < COUNT; i++)
      wrong += in[i] != round + 1 - rank + i || sum[i] != 2 * (round + i) + 1;
  }
  free(out);
  free(in);
  free(sum);
  return NULL;
}

int main(int argc, char** argv) {
  enum { MOST = 16 };
  int threads = argc > 1 ? atoi(argv[1]) : 3, provided = -1;
  MPI_Comm comms[MOST];
  pthread_t ids[MOST];
  if (argc > 2) rounds = atoi(argv[2]);
  if (threads > MOST) threads = MOST;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  of_program = 1;
  if (provided == MPI_THREAD_MULTIPLE) {
    MPI_Op_create(add, 1, &op);
    for (int i = 0; i < threads; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (int i = 0; i < threads; i++) pthread_create(&ids[i], NULL, work, &comms[i]);
    for (int i = 0; i < threads; i++) pthread_join(ids[i], NULL);
    for (int i = 0; i < threads; i++) MPI_Comm_free(&comms[i]);
    MPI_Op_free(&op);
  }
  if (wrong || elsewhere) {
    fprintf(stderr, "%d: %d wrong, operation in another thread: %d\n", rank, (int)wrong,
            (int)elsewhere);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("right\n");
  MPI_Finalize();
  return 0;
}
