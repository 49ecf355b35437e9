/* Faults of MPI libraries that src/mpi/workarounds/ is for, or that tests meet, each as a program
 * that shows it without Hob. The argument names the fault. Where the fault is there, the program
 * hangs, crashes or says "FAULT"; else it says "right". library_faults.py starts them, on the
 * networks where they show. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, faults;

/* MPICH over UCX: connections are closed in MPI_Finalize, and a process whose peer is already in
 * the process manager's barrier waits for ever. */
static void finalize_ucx(void) {
  long *memory, one = 1;
  MPI_Win win;
  MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  *memory = 0;
  MPI_Win_fence(0, win);
  for (int i = 0; i < 100; i++)
    MPI_Accumulate(&one, 1, MPI_LONG, (rank + i) % ranks, 0, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  usleep(20000 * (unsigned)rank);
}

/* MPICH over libfabric's tcp: a put that was flushed is not at its target yet, where a third
 * process looks. */
static void put_flush(void) {
  enum { ROUNDS = 400, PLACES = 16 };
  long *memory, token = 0;
  MPI_Win win;
  MPI_Win_allocate(PLACES * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  memset(memory, 0, PLACES * sizeof(long));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (long round = 1; round <= ROUNDS; round++) {
    const int place = (int)(round % PLACES);
    if (rank == 0) {
      MPI_Put(&round, 1, MPI_LONG, 1, place, 1, MPI_LONG, win);
      MPI_Win_flush(1, win);
      MPI_Send(&round, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_LONG, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
      long value = -1;
      MPI_Recv(&token, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Get(&value, 1, MPI_LONG, 1, place, 1, MPI_LONG, win);
      MPI_Win_flush(1, win);
      faults += value != round;
      MPI_Send(&value, 1, MPI_LONG, 0, 0, MPI_COMM_WORLD);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* MPICH, one-sided operations as messages: two gets of more than one piece of 16 KiB before one
 * flush. */
static void long_replies(void) {
  enum { BYTES = 16345, ROUNDS = 100 };
  static char to[2][BYTES];
  char* memory;
  MPI_Win win;
  MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, rank + 1, BYTES);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int round = 0; rank == 0 && round < ROUNDS; round++) {
    memset(to, 0, sizeof to);
    for (int i = 0; i < 2; i++) MPI_Get(to[i], BYTES, MPI_BYTE, 1, 0, BYTES, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    for (int i = 0; i < BYTES; i++) faults += to[0][i] != 2 || to[1][i] != 2;
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* MPICH over UCX: a receive from any source that is posted when UCX has its message already, in a
 * process that shares its node with others. */
static void any_source(void) {
  enum { MOST = 16 };
  int value = 7, flag = 0, got[MOST];
  const int messages = 2 * (ranks - 1);
  MPI_Request requests[MOST];
  MPI_Status statuses[MOST];
  if (messages > MOST) MPI_Abort(MPI_COMM_WORLD, 2);
  if (rank != 0)
    for (int i = 0; i < 2; i++) MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int i = 0; i < 100; i++)
    MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  for (int i = 0; i < messages; i++)
    MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &requests[i]);
  MPI_Waitall(messages, requests, statuses);
}

/* MPICH: with post-start-complete-wait of groups that change, ranks that are in no group of a round
 * are ahead of the others, and after some hundred rounds all wait in MPI_Win_start and MPI_Win_wait
 * for ever. The oldest round that is not complete can always go on, whatever the groups are. */
static void post_start(void) {
  enum { ROUNDS = 3000, MOST = 8 };
  int *memory, got[MOST];
  MPI_Win win;
  MPI_Group world;
  unsigned drawn = 1;
  MPI_Win_allocate(ROUNDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (ranks > MOST) return;
  for (int round = 0; round < ROUNDS; round++) {
    MPI_Group groups[2]; /* origins, targets */
    int is_in[2] = {0, 0}, count[2], members[2][MOST];
    for (int g = 0; g < 2; g++) {
      drawn = drawn * 1103515245u + 12345u;
      const unsigned set = 1 + (drawn >> 16) % ((1u << ranks) - 1);
      count[g] = 0;
      for (int r = 0; r < ranks; r++)
        if (set >> r & 1) members[g][count[g]++] = r;
      is_in[g] = (int)(set >> rank & 1);
      MPI_Group_incl(world, count[g], members[g], &groups[g]);
    }
    if (is_in[1]) MPI_Win_post(groups[0], 0, win);
    if (is_in[0]) {
      MPI_Win_start(groups[1], 0, win);
      for (int i = 0; i < count[1]; i++)
        MPI_Get(&got[i], 1, MPI_INT, members[1][i], round, 1, MPI_INT, win);
      MPI_Win_complete(win);
    }
    if (is_in[1]) MPI_Win_wait(win);
    MPI_Group_free(&groups[0]);
    MPI_Group_free(&groups[1]);
  }
  MPI_Group_free(&world);
  MPI_Win_free(&win);
}

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
/* Open MPI 5: no partitioned transfer moves before every process of the launch has made a
 * partitioned request. The last rank makes none: it waits for word of the transfer's end. */
static void partitioned(void) {
  int value = rank;
  MPI_Request request;
  if (rank == ranks - 1) {
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return;
  }
  if (rank == 1) {
    MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
  } else {
    MPI_Precv_init(&value, 1, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, ranks - 1, 1, MPI_COMM_WORLD);
}

/* Open MPI 5: the announcement of a partitioned transfer is a message that the program's own probe
 * finds. */
static void announcement(void) {
  int value = 3, flag = 0;
  MPI_Status status;
  MPI_Request request;
  if (rank == 1) {
    MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Pready(0, request);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < 1000 && !flag; i++)
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    faults += flag;
    MPI_Precv_init(&value, 1, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  }
  if (rank < 2) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

/* MPICH: after MPI_Finalize, the first communicator of a session wants all processes of the launch,
 * although its group is this process alone. The last rank opens no session until the others say, by
 * a file, that they have. */
__attribute__((unused)) static int sessions(const char* file) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Finalize();
  if (rank == ranks - 1) {
    while (access(file, F_OK) != 0) usleep(10000);
    return 0;
  }
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  MPI_Comm_create_from_group(group, "self", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  fclose(fopen(file, "w"));
  puts("right");
  fflush(stdout);
  _exit(0); /* MPI_Session_finalize may be collective */
}
#endif

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*show)(void);
  } all[] = {
    {"finalize_ucx", finalize_ucx},
    {"put_flush", put_flush},
    {"long_replies", long_replies},
    {"any_source", any_source},
    {"post_start", post_start},
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
    {"partitioned", partitioned},
    {"announcement", announcement},
#endif
  };
  if (argc < 2) return 2;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) puts("begun");
  fflush(stdout);
#if MPI_VERSION >= 4
  if (strcmp(argv[1], "sessions") == 0) return argc > 2 ? sessions(argv[2]) : 2;
#endif
  int known = 0;
  for (unsigned i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(argv[1], all[i].name) == 0) known = 1, all[i].show();
  if (!known) {
    puts("no such fault here");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int sum = 0;
  MPI_Allreduce(&faults, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == 0) puts(sum ? "FAULT" : "right");
  return 0;
}
