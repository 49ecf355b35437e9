/* Calls where Hob has nothing to gain, for tests/prices: each one at full speed until Hob is at
 * rest, then every so often one of them between two marks. Rank 0 is counted. Its messages are to
 * itself, so that no count depends on another process; the other ranks take part in what is
 * collective.
 *
 *   prices [threads|hits]    threads: under MPI_THREAD_MULTIPLE
 *                            hits: gets that Hob serves, where it does not leave near targets alone
 */
#include <fcntl.h>
#include <mpi.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../prices/marker.h"

/* Between two samples so many calls that is odd, and a power of two of samples: what is done every
 * 2, 4, ... calls has its exact share of the samples, wherever it began. Of what ranks do together
 * there are few: where they share cores with others, each takes milliseconds. */
enum { STRIDE = 127, FEW = 16, WARM_UP_TOGETHER = 48 };
enum { PLACES = 1 << 16, HIT_PLACES = 61 };

static int warm_up = 16000, samples = 64;
static int me, ranks, near;
static MPI_Comm world;
static long here, there, sum;
static MPI_Request requests[4];
static long buffers[4];
static MPI_Win window, fenced;

static void nothing(void) {}

/* Where other ranks wait that have no part in what is measured: neither in MPI nor on a core. */
static sem_t* turn;
static void make_turn(void) {
  char name[64] = "";
  if (me == 0) {
    snprintf(name, sizeof name, "/hob-prices-%d", (int)getpid());
    turn = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
  }
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, world);
  if (me != 0) turn = sem_open(name, 0);
  if (turn == SEM_FAILED) MPI_Abort(world, 2);
  MPI_Barrier(world);
  if (me == 0) sem_unlink(name);
}

/* Messages of 8 bytes to this rank itself. */

static void irecv(void) { MPI_Irecv(&there, 8, MPI_BYTE, me, 1, world, &requests[0]); }
static void isend(void) { MPI_Isend(&here, 8, MPI_BYTE, me, 1, world, &requests[1]); }
static void send(void) { MPI_Send(&here, 8, MPI_BYTE, me, 1, world); }
static void receive(void) { MPI_Recv(&there, 8, MPI_BYTE, me, 1, world, MPI_STATUS_IGNORE); }
static void send_and_receive(void) {
  MPI_Sendrecv(&here, 8, MPI_BYTE, me, 3, &there, 8, MPI_BYTE, me, 3, world, MPI_STATUS_IGNORE);
}
static void start_pending(void) {
  MPI_Irecv(&buffers[2], 8, MPI_BYTE, me, 2, world, &requests[2]);
  requests[3] = MPI_REQUEST_NULL;
}
static void test_pending(void) {
  int flag;
  MPI_Test(&requests[2], &flag, MPI_STATUS_IGNORE);
}
static void testany_pending(void) {
  int index, flag;
  MPI_Testany(2, &requests[2], &index, &flag, MPI_STATUS_IGNORE);
}
/* Messages of a size that overlap watches, while one is under way all the time that is only polled.
 */
static char large[4][1 << 16];
static MPI_Request polled = MPI_REQUEST_NULL;
static void irecv_large(void) {
  const int bytes = sizeof large[0];
  if (polled == MPI_REQUEST_NULL) MPI_Irecv(large[0], bytes, MPI_BYTE, me, 6, world, &polled);
  MPI_Irecv(large[1], bytes, MPI_BYTE, me, 7, world, &requests[0]);
}
static void isend_large(void) {
  MPI_Isend(large[2], sizeof large[2], MPI_BYTE, me, 7, world, &requests[1]);
}
static void poll_large(void) {
  for (int flag = 0; !flag;) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  int flag;
  MPI_Test(&polled, &flag, MPI_STATUS_IGNORE);
}
static void end_pending(void) {
  MPI_Send(&here, 8, MPI_BYTE, me, 2, world);
  MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
  if (polled == MPI_REQUEST_NULL) return;
  MPI_Send(large[3], sizeof large[3], MPI_BYTE, me, 6, world);
  MPI_Wait(&polled, MPI_STATUS_IGNORE);
}
static void wait_receive(void) { MPI_Wait(&requests[0], MPI_STATUS_IGNORE); }
static void wait_send(void) { MPI_Wait(&requests[1], MPI_STATUS_IGNORE); }
static void wait_both(void) { MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); }
static void irecv_and_send(void) {
  irecv();
  send();
}
static void isend_and_wait(void) {
  isend();
  wait_both();
}
static void test(void) {
  int flag;
  MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
}
static void start_four(void) {
  for (int i = 0; i < 2; ++i) {
    MPI_Irecv(&buffers[i], 8, MPI_BYTE, me, i, world, &requests[i]);
    MPI_Isend(&buffers[2 + i], 8, MPI_BYTE, me, i, world, &requests[2 + i]);
  }
}
static MPI_Request persistent[2]; /* a receive and its send */
static int is_persistent;
static void make_persistent(void) {
  if (is_persistent) return;
  is_persistent = 1;
  MPI_Recv_init(&there, 8, MPI_BYTE, me, 4, world, &persistent[0]);
  MPI_Send_init(&here, 8, MPI_BYTE, me, 4, world, &persistent[1]);
}
static void start_persistent(void) { MPI_Startall(2, persistent); }
static void make_and_start(void) {
  make_persistent();
  start_persistent();
}
static void wait_persistent(void) { MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE); }
static void wait_four(void) { MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); }
static void probe(void) {
  int flag;
  MPI_Iprobe(me, 2, world, &flag, MPI_STATUS_IGNORE);
}

static void barrier(void) { MPI_Barrier(world); }
static void allreduce(void) { MPI_Allreduce(&here, &sum, 1, MPI_LONG, MPI_SUM, world); }

/* One-sided operations on 8 bytes, and their completion. Gets never return to a place while a copy
 * of it could be of use, but for those of the same place. */

static MPI_Aint next_place(void) {
  static unsigned place;
  return 8 * (MPI_Aint)((place += 40503) % PLACES);
}
static void get(int target, MPI_Aint place) {
  MPI_Get(&there, 8, MPI_BYTE, target, place, 8, MPI_BYTE, window);
  MPI_Win_flush(target, window);
}
static void put(int target) {
  MPI_Put(&here, 8, MPI_BYTE, target, 0, 8, MPI_BYTE, window);
  MPI_Win_flush(target, window);
}
static void rget(int target) {
  MPI_Rget(&there, 8, MPI_BYTE, target, next_place(), 8, MPI_BYTE, window, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
}
static void rput_own(void) {
  MPI_Rput(&here, 8, MPI_BYTE, me, 0, 8, MPI_BYTE, window, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
}
static void get_own(void) { get(me, next_place()); }
static void get_near(void) { get(near, next_place()); }
static void get_again(void) { get(near, 64); }
static void put_own(void) { put(me); }
static void put_near(void) { put(near); }
static void rget_own(void) { rget(me); }
static void rget_near(void) { rget(near); }
static void accumulate(void) {
  MPI_Accumulate(&here, 1, MPI_LONG, near, 0, 1, MPI_LONG, MPI_SUM, window);
  MPI_Win_flush(near, window);
}
static void fetch_and_op(void) {
  MPI_Fetch_and_op(&here, &there, MPI_LONG, near, 0, MPI_SUM, window);
  MPI_Win_flush(near, window);
}
static void fence(void) { MPI_Win_fence(0, fenced); }

static void make_windows(void) {
  void* memory;
  MPI_Win_allocate(8 * PLACES, 1, MPI_INFO_NULL, world, &memory, &window);
  memset(memory, 0, 8 * PLACES);
  MPI_Win_lock_all(0, window);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, world, &memory, &fenced);
  MPI_Win_fence(0, fenced);
}
static void free_windows(void) {
  MPI_Win_fence(0, fenced);
  MPI_Win_free(&fenced);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

/* Gets of the same places in turn, so that none is served often in a row, as one that polls is: of
 * places that are entries of their own, and of neighbours. */
static void hit(MPI_Aint stride) {
  static unsigned turn_of;
  MPI_Get(&there, 8, MPI_BYTE, near, stride * (MPI_Aint)(turn_of++ % HIT_PLACES), 8, MPI_BYTE,
          window);
}
static void hit_apart(void) { hit(8 * PLACES / HIT_PLACES); }
static void hit_together(void) { hit(8); }
static void flush(void) { MPI_Win_flush(near, window); }
static void rget_hit(void) {
  static unsigned turn_of;
  MPI_Rget(&there, 8, MPI_BYTE, near, 8 * PLACES / HIT_PLACES * (MPI_Aint)(turn_of++ % HIT_PLACES),
           8, MPI_BYTE, window, requests);
  MPI_Wait(requests, MPI_STATUS_IGNORE);
}

typedef void Part(void);
typedef struct {
  const char* name;
  Part *before, *counted, *after;
  int together; /* all ranks do it */
} Operation;

/* A receive that is pending all the time, of the first ones, all of which Hob watches; with several
 * threads, until they were polled in vain some times... */
static const Operation polls[] = {
    {"Test, not complete, watched", nothing, test_pending, nothing, 0},
    {"Testany of 2, not complete, watched", nothing, testany_pending, nothing, 0},
    {"Isend of 64 KiB, one is polled", irecv_large, isend_large, poll_large, 0},
};

/* ... in a program that has no window... */
static const Operation messages[] = {
    {"Isend", irecv, isend, wait_both, 0},
    {"Irecv", nothing, irecv, isend_and_wait, 0},
    {"Send", irecv, send, wait_receive, 0},
    {"Recv", isend, receive, wait_send, 0},
    {"Sendrecv", nothing, send_and_receive, nothing, 0},
    {"Wait", irecv_and_send, wait_receive, nothing, 0},
    {"Waitall of 4", start_four, wait_four, nothing, 0},
    {"Test, complete", irecv_and_send, test, wait_receive, 0}, /* it may not be, now and then */
    {"Test, not complete", irecv, test, isend_and_wait, 0},
    {"Startall of 2", make_persistent, start_persistent, wait_persistent, 0},
    {"Waitall of 2, persistent", make_and_start, wait_persistent, nothing, 0},
    {"Iprobe, nothing there", nothing, probe, nothing, 0},
    {"Barrier", nothing, barrier, nothing, 1},
    {"Allreduce", nothing, allreduce, nothing, 1},
};

/* ... and in one that has used windows. */
static const Operation one_sided[] = {
    {"Put + Win_flush, own rank", nothing, put_own, nothing, 0},
    {"Put + Win_flush, near", nothing, put_near, nothing, 0},
    {"Get + Win_flush, own rank", nothing, get_own, nothing, 0},
    {"Get + Win_flush, near", nothing, get_near, nothing, 0},
    {"Get + Win_flush, near, same place", nothing, get_again, nothing, 0},
    {"Rget + Wait, own rank", nothing, rget_own, nothing, 0},
    {"Rget + Wait, near", nothing, rget_near, nothing, 0},
    {"Accumulate + Win_flush, near", nothing, accumulate, nothing, 0},
    {"Fetch_and_op + Win_flush, near", nothing, fetch_and_op, nothing, 0},
    {"Win_fence, nothing in it", nothing, fence, nothing, 1},
    {"Isend, windows", irecv, isend, wait_both, 0},
    {"Irecv, windows", nothing, irecv, isend_and_wait, 0},
    {"Waitall of 4, windows", start_four, wait_four, nothing, 0},
    {"Barrier, windows", nothing, barrier, nothing, 1},
    {"Allreduce, windows", nothing, allreduce, nothing, 1},
};

/* ... and on the own rank of windows that have a cache. */
static const Operation own_rank[] = {
    {"Put + Win_flush, own rank", nothing, put_own, nothing, 0},
    {"Get + Win_flush, own rank", nothing, get_own, nothing, 0},
    {"Rput + Wait, own rank", nothing, rput_own, nothing, 0},
    {"Rget + Wait, own rank", nothing, rget_own, nothing, 0},
};

/* ... and in one whose gets are served. */
static const Operation served[] = {
    {"Get, hit", nothing, hit_apart, flush, 0},
    {"Win_flush after a hit", hit_apart, flush, nothing, 0},
    {"Get, hit among neighbours", nothing, hit_together, flush, 0},
    {"Rget + Wait, hit", nothing, rget_hit, nothing, 0},
};

static void run(const Operation* operation, int times) {
  for (int i = 0; i < times; ++i) {
    operation->before();
    operation->counted();
    operation->after();
  }
}

static void sample(const Operation* operation, int begin) {
  if (!operation->together) run(operation, STRIDE - 1);
  operation->before();
  mark(begin, operation->name);
  operation->counted();
  mark(HOB_COUNT_END, operation->name);
  operation->after();
}

static void measure(const Operation* operations, size_t many) {
  use_clock_of_counter(1);
  for (const Operation* it = operations; it != operations + many; ++it) {
    if (me != 0 && !it->together) {
      sem_wait(turn);
      continue;
    }
    run(it, it->together ? WARM_UP_TOGETHER : warm_up);
    for (int i = 0; i < (it->together ? FEW : samples); ++i) sample(it, HOB_COUNT_BEGIN);
    sample(it, HOB_COUNT_BEGIN_LIBRARY_TOO);
    for (int i = 1; i < ranks && !it->together; ++i) sem_post(turn);
  }
  use_clock_of_counter(0);
}

int main(int argc, char** argv) {
  const int threads = argc > 1 && strcmp(argv[1], "threads") == 0;
  const int cached = threads && argc > 2 && strcmp(argv[2], "cached") == 0;
  const int hits = argc > 1 && strcmp(argv[1], "hits") == 0;
  const int wanted = threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
  if (threads) warm_up = 6000, samples = FEW; /* there is much more in each, and nothing rests */
  if (cached || hits)
    setenv("HOB_CACHE_BYPASS", "off", 1); /* windows have caches on one node, too */
  int provided;
  MPI_Init_thread(&argc, &argv, wanted, &provided);
  world = MPI_COMM_WORLD;
  MPI_Comm_rank(world, &me);
  MPI_Comm_size(world, &ranks);
  near = (me + 1) % ranks;
  make_turn();
  /* What Hob measures once, it measures by the processor's clock: here, and when a window is made.
   */
  irecv();
  isend_and_wait();
  if (!cached && !hits) {
    start_pending();
    measure(polls, sizeof polls / sizeof polls[0]);
    end_pending();
    measure(messages, sizeof messages / sizeof messages[0]);
    for (int i = 0; is_persistent && i < 2; ++i) MPI_Request_free(&persistent[i]);
  }
  make_windows();
  if (cached)
    measure(own_rank, sizeof own_rank / sizeof own_rank[0]);
  else if (hits)
    measure(served, sizeof served / sizeof served[0]);
  else
    measure(one_sided, sizeof one_sided / sizeof one_sided[0]);
  free_windows();
  MPI_Finalize();
  return provided >= wanted ? 0 : 1;
}
