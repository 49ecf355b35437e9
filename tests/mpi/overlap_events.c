/* What happens to a program while Hob's thread is inside the MPI library or wants in. Two ranks.
 * Argument, what:
 *   file       MPI-IO is under way: the last bytes of what is read come while nobody calls MPI
 *   file_all   the same, collective
 *   signals    a signal that the program has blocked waits until it lets it in
 *   cancel     receives of which nobody knows whether they have begun to arrive
 *   freed      a send that nobody waits for, and MPI_Finalize at once
 *   spawn      a job that this one starts; large messages between both
 *   tasks      functions of the program's that the library calls (MPIX_Async_start)
 *   datatype   a wrong one is an error of the program's call, and of its communicator's handler
 *   sessions   no MPI_Init, sessions one after another; two words more: the thread level asked for
 *              (MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE, with which messages end while it
 *              computes, or none), and how many sessions
 *   threads    how many threads of Hob's there are: none before a large message and after the end
 *   numbers    the program closes all descriptors that it does not know, but for sockets, and has
 *              files of its own under their numbers
 *   rests      its thread sleeps once all is complete, though the program computes on and has not
 *              waited yet, and serves the next messages
 * Contents are checked, and that functions of the program's run in threads of its own alone. */
#include <dirent.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "overlap_check.h"

enum { COUNT = 1 << 19 };
static double *out, *in;
static MPI_Request requests[2];

static void fill(double value) {
  for (int i = 0; i < COUNT; i++) {
    out[i] = value + i;
    in[i] = -1;
  }
}

static void check(double value) {
  for (int i = 0; i < COUNT; i++)
    if (in[i] != value + i) fail("wrong bytes");
}

static void start(MPI_Comm comm, int peer, int me, int round) {
  fill(1000 * round + me);
  MPI_Irecv(in, COUNT, MPI_DOUBLE, peer, 1, comm, &requests[0]);
  MPI_Isend(out, COUNT, MPI_DOUBLE, peer, 1, comm, &requests[1]);
}

static void finish(int other, int round) {
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  check(1000 * round + other);
}

static int in_hobs_thread(void) {
  char name[16] = "";
  prctl(PR_GET_NAME, name, 0, 0, 0);
  return strncmp(name, "hob", 3) == 0;
}

/* ---- Files */

static char file_name[] = "/tmp/overlap_events_XXXXXX";
static MPI_File open_file(void) {
  MPI_File handle;
  if (rank == 0) close(mkstemp(file_name));
  MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &handle) !=
      MPI_SUCCESS)
    fail("no file");
  return handle;
}
static void close_file(MPI_File handle) {
  MPI_File_close(&handle);
  if (rank == 0) unlink(file_name);
}

static void file(int collective) {
  const MPI_Offset mine = (MPI_Offset)rank * COUNT * (MPI_Offset)sizeof(double);
  const MPI_File handle = open_file();
  for (int round = 1; round <= 3; round++) {
    MPI_Request request;
    fill(round + 10 * rank);
    if (collective)
      MPI_File_iwrite_at_all(handle, mine, out, COUNT, MPI_DOUBLE, &request);
    else
      MPI_File_iwrite_at(handle, mine, out, COUNT, MPI_DOUBLE, &request);
    compute(2e-3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (collective)
      MPI_File_iread_at_all(handle, mine, in, COUNT, MPI_DOUBLE, &request);
    else
      MPI_File_iread_at(handle, mine, in, COUNT, MPI_DOUBLE, &request);
    compute_until(&in[COUNT - 1], round + 10 * rank + COUNT - 1);
    if (round == 2) { /* asked for no longer, and another request may get its handle */
      compute(5e-3);  /* the library may complete a request again each time it is asked for */
      for (int flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(round + 10 * rank);
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute(1e-3);
    finish(1 - rank, round);
  }
  close_file(handle);
}

/* ---- Signals */

static volatile sig_atomic_t handled, elsewhere;
static void on_signal(int number) {
  (void)number;
  handled++;
  elsewhere |= in_hobs_thread();
}

static void signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  signal(SIGUSR1, on_signal);
  for (int round = 1; round <= 8; round++) {
    sigprocmask(SIG_BLOCK, &set, NULL);
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    kill(getpid(), SIGUSR1); /* to whichever thread has not blocked it */
    compute_until(&in[COUNT - 1], 1000 * round + 1 - rank + COUNT - 1);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    finish(1 - rank, round);
    while (handled < round) usleep(100);
  }
  if (elsewhere) fail("a signal handler of the program's ran in a thread of Hob's");
}

/* ---- Cancelled and freed requests */

static void cancel(void) {
  for (int round = 1; round <= 12; round++) {
    MPI_Request never;
    int cancelled = 0;
    MPI_Status status;
    double* nothing = malloc(COUNT * sizeof *nothing);
    MPI_Irecv(nothing, COUNT, MPI_DOUBLE, 1 - rank, 50, MPI_COMM_WORLD, &never);
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute(2e-4 * (round % 4));
    MPI_Cancel(&never);
    if (round % 2 == 0) compute(1e-3);
    MPI_Wait(&never, &status);
    MPI_Test_cancelled(&status, &cancelled);
    if (!cancelled) fail("a receive that nothing matches was not cancelled");
    free(nothing);
    compute(1e-3);
    finish(1 - rank, round);
  }
}

static double* last_sent; /* read until MPI has ended */
static void freed(void) {
  if (rank == 0) {
    last_sent = malloc(COUNT * sizeof *last_sent);
    for (int i = 0; i < COUNT; i++) last_sent[i] = 5 + i;
    MPI_Request request;
    MPI_Isend(last_sent, COUNT, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    start(MPI_COMM_SELF, 0, 7, 1);
    compute(1e-3);
    finish(7, 1);
  } else {
    usleep(20000);
    MPI_Recv(in, COUNT, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(5);
  }
}

/* ---- Other jobs */

static void spawn(char* program, MPI_Comm parent) {
  static char of_child[] = "spawn";
  char* arguments[] = {of_child, NULL};
  MPI_Comm between = parent;
  const int child = parent != MPI_COMM_NULL;
  start(MPI_COMM_WORLD, 1 - rank, rank, 1); /* under way meanwhile */
  if (!child)
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
  compute(1e-3);
  finish(1 - rank, 1);
  for (int round = 2; round <= 5; round++) {
    start(between, rank, rank + 100 * child, round);
    compute(2e-3);
    finish(rank + 100 * !child, round);
  }
  MPI_Comm_disconnect(&between);
}

/* ---- Functions of the program's */

#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 40300000
static int calls;
static int task(MPIX_Async_thing thing) {
  int* left = MPIX_Async_get_state(thing);
  MPI_Info info;
  calls++;
  elsewhere |= gettid() != getpid();
  MPI_Info_create(&info); /* a call of the program's that changes something */
  MPI_Info_free(&info);
  return --*left > 0 ? MPIX_ASYNC_NOPROGRESS : MPIX_ASYNC_DONE;
}
#endif

/* A request of a file is what the thread would ask for, and whoever asks calls the tasks. */
static void tasks(void) {
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 40300000
  const MPI_Offset mine = (MPI_Offset)rank * COUNT * (MPI_Offset)sizeof(double);
  const MPI_File handle = open_file();
  for (int round = 1; round <= 5; round++) {
    MPI_Request request;
    int left = 100;
    fill(round);
    MPI_File_iwrite_at_all(handle, mine, out, COUNT, MPI_DOUBLE, &request);
    MPIX_Async_start(task, &left, MPIX_STREAM_NULL);
    compute(5e-3);
    if (elsewhere) fail("a task of the program's ran in another thread");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Irecv(in, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &request);
    while (left > 0) MPI_Test(&request, &(int){0}, MPI_STATUS_IGNORE);
    MPI_Send(out, 0, MPI_INT, 0, 1, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute(1e-3);
    finish(1 - rank, round);
  }
  close_file(handle);
  if (calls != 500) fail("a task was not called as often as it wants");
#endif
}

/* ---- Threads that the process has */

/* Their number; the sum of how often each of them has gone to sleep, unless NULL. */
static int hobs_threads(long* sleeps) {
  int count = 0;
  DIR* all = opendir("/proc/self/task");
  if (sleeps) *sleeps = 0;
  for (struct dirent* each; all && (each = readdir(all));) {
    char path[300], line[100] = "";
    snprintf(path, sizeof path, "/proc/self/task/%s/status", each->d_name);
    FILE* text = fopen(path, "r");
    if (!text) continue;
    int ours = fgets(line, sizeof line, text) && strncmp(line, "Name:\thob-progress", 18) == 0;
    count += ours;
    for (long more; ours && sleeps && fgets(line, sizeof line, text);)
      if (sscanf(line, "voluntary_ctxt_switches: %ld", &more) == 1) *sleeps += more;
    fclose(text);
  }
  if (all) closedir(all);
  return count;
}

static void threads(int with_hob) {
  int small = rank, other = -1;
  MPI_Irecv(&other, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(&small, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (hobs_threads(NULL) != 0) fail("a thread before there is anything for it");
  for (int round = 1; round <= 3; round++) {
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute_until(&in[COUNT - 1], 1000 * round + 1 - rank + COUNT - 1);
    finish(1 - rank, round);
    if (hobs_threads(NULL) != with_hob) fail("another number of threads");
  }
}

static void rests(int with_hob) {
  for (int round = 1; round <= 3; round++) {
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute_until(&in[COUNT - 1], 1000 * round + 1 - rank + COUNT - 1);
    const double deadline = now() + 60;
    for (long before, after = 100; with_hob && after > 10; after -= before) {
      if (now() > deadline) fail("the thread goes on looking");
      hobs_threads(&before);
      compute(0.1);
      hobs_threads(&after);
    }
    finish(1 - rank, round);
  }
}

/* ---- What is wrong */

static void datatype(void) {
  MPI_Comm comm;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  start(comm, 1 - rank, rank, 1);
  finish(1 - rank, 1);
  for (int under_way = 0; under_way < 2; under_way++) {
    if (under_way) start(comm, 1 - rank, rank, 2);
    if (MPI_Isend(out, 1, MPI_DATATYPE_NULL, 1 - rank, 5, comm, &request) == MPI_SUCCESS)
      fail("no error");
  }
  finish(1 - rank, 2);
  MPI_Comm_free(&comm);
}

/* ---- No MPI_Init */

#if MPI_VERSION >= 4
/* Whether the message has come; the last bytes while nobody calls MPI, if it is `helped`. */
static int exchange(MPI_Comm comm, int round, int helped) {
  const double last = 1000 * round + 1 - rank + COUNT - 1;
  start(comm, 1 - rank, rank, round);
  if (helped) {
    const double deadline = now() + 60;
    while (*(volatile double*)&in[COUNT - 1] != last)
      if (now() > deadline) return 0;
  } else {
    compute(2e-3);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < COUNT; i++)
    if (in[i] != 1000 * round + 1 - rank + i) return 0;
  return 1;
}

/* A program that asks for a thread level is helped where the library says that it gives it. */
static int sessions(const char* level, int times) {
  for (int opened = 0; opened < times; opened++) {
    char given[64] = "";
    int flag = 0;
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info = MPI_INFO_NULL;
    if (level) {
      MPI_Info_create(&info);
      MPI_Info_set(info, "thread_level", level);
    }
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    if (level) MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    MPI_Info_get(info, "thread_level", sizeof given - 1, given, &flag);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "overlap", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Comm_rank(comm, &rank);
    const int helped = level && strcmp(given, level) == 0;
    for (int round = 1; round <= 3; round++)
      if (!exchange(comm, 10 * opened + round, helped)) {
        fprintf(stderr, "%d: session %d, round %d: no message, or a wrong one\n", rank, opened,
                round);
        return 1;
      }
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    if (rank == 0) printf("session with %s: %s\n", given, helped ? "helped" : "right");
  }
  return 0;
}
#endif

/* ---- Descriptors */

enum { DESCRIPTORS = 256 };
static int is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static int is_socket(int fd) {
  struct stat about;
  return fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode);
}

static void some_rounds(int first) {
  for (int round = first; round < first + 5; round++) {
    start(MPI_COMM_WORLD, 1 - rank, rank, round);
    compute(2e-3);
    finish(1 - rank, round);
  }
}

static void numbers(int forced) {
  char known[DESCRIPTORS], taken[DESCRIPTORS];
  /* The library has all that it needs. */
  MPI_Sendrecv(out, COUNT, MPI_DOUBLE, 1 - rank, 1, in, COUNT, MPI_DOUBLE, 1 - rank, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int fd = 0; fd < DESCRIPTORS; fd++) known[fd] = (char)is_open(fd);
  some_rounds(1);
  int found = 0;
  for (int fd = 0; fd < DESCRIPTORS; fd++) {
    taken[fd] = (char)(!known[fd] && is_open(fd) && !is_socket(fd));
    found += taken[fd];
  }
  if (forced && found == 0) fail("Hob has no descriptors");
  const int counter = eventfd(5, EFD_NONBLOCK), ready = eventfd(1, EFD_NONBLOCK);
  const int set = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN | EPOLLET};
  if (epoll_ctl(set, EPOLL_CTL_ADD, ready, &event) != 0) fail("no epoll");
  for (int kind = 0; kind < 2; kind++) {
    const int own = kind == 0 ? counter : set;
    for (int fd = 0; fd < DESCRIPTORS; fd++)
      if (taken[fd] && dup2(own, fd) != fd) fail("no number");
    some_rounds(10 * (kind + 1));
    for (int fd = 0; fd < DESCRIPTORS; fd++)
      if (taken[fd] && !is_open(fd)) fail("a descriptor of the program's was closed");
  }
  unsigned long long count = 0;
  if (read(counter, &count, sizeof count) != sizeof count || count != 5)
    fail("its own eventfd was read or written");
  if (epoll_wait(set, &event, 1, 0) != 1) fail("an event of its own was taken");
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "signals";
  out = malloc(COUNT * sizeof *out);
  in = malloc(COUNT * sizeof *in);
  alarm(300);
#if MPI_VERSION >= 4
  if (strcmp(what, "sessions") == 0)
    return argc == 4 ? sessions(strcmp(argv[2], "none") ? argv[2] : NULL, atoi(argv[3])) : 1;
#endif
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  const int forced = getenv("HOB_OVERLAP") && strcmp(getenv("HOB_OVERLAP"), "on") == 0;
  if (strcmp(what, "file") == 0) file(0);
  if (strcmp(what, "file_all") == 0) file(1);
  if (strcmp(what, "signals") == 0) signals();
  if (strcmp(what, "cancel") == 0) cancel();
  if (strcmp(what, "freed") == 0) freed();
  if (strcmp(what, "spawn") == 0) spawn(argv[0], parent);
  if (strcmp(what, "tasks") == 0) tasks();
  if (strcmp(what, "datatype") == 0) datatype();
  if (strcmp(what, "threads") == 0) threads(forced);
  if (strcmp(what, "numbers") == 0) numbers(forced);
  if (strcmp(what, "rests") == 0) rests(forced);
  if (rank == 0 && parent == MPI_COMM_NULL) printf("%s: right\n", what);
  MPI_Finalize();
  if (hobs_threads(NULL) != 0) {
    fprintf(stderr, "%d: a thread after the end\n", rank);
    return 1;
  }
  free(last_sent);
  free(out);
  free(in);
  return 0;
}
