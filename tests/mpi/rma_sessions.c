/* Gets of a program that has only sessions: no MPI_Init, no MPI_COMM_WORLD. With an argument, a
 * second session comes after the first has ended. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { CELLS = 256, ROUNDS = 5, HITS = 20000 };

static int failures;
static int rank, size;

static void expect(int good, const char* what, int got, int wanted) {
  if (good || failures++ > 20) return;
  printf("FAILED rank %d: %s: got %d, not %d\n", rank, what, got, wanted);
}

static void get_and_check(MPI_Win win, int from, int base, const char* what) {
  int got[8];
  memset(got, 0xff, sizeof got);
  MPI_Get(got, 8, MPI_INT, size - 1, from, 8, MPI_INT, win);
  MPI_Win_flush(size - 1, win);
  for (int i = 0; i < 8; ++i) expect(got[i] == base + from + i, what, got[i], base + from + i);
}

static void work(MPI_Comm comm) {
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  MPI_Win_lock_all(0, win);
  for (int round = 1; round <= ROUNDS; ++round) {
    const int base = 1000 * round;
    for (int i = 0; rank == size - 1 && i < CELLS; ++i) memory[i] = base + i;
    MPI_Win_sync(win);
    MPI_Barrier(comm);
    if (rank == 0) {
      /* Long enough to live on hits alone for a while. */
      for (int i = 0; i < HITS; ++i) get_and_check(win, 8 * (i % 8), base, "cached");
      MPI_Request request;
      int got = -1;
      MPI_Rget(&got, 1, MPI_INT, size - 1, 100, 1, MPI_INT, win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      expect(got == base + 100, "rget", got, base + 100);
    }
    MPI_Barrier(comm);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void session(const char* name) {
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  work(comm);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) printf("%s: %s\n", name, all == 0 ? "passed" : "failed");
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  failures = all;
}

int main(int argc, char** argv) {
  (void)argv;
  session("first");
  if (argc > 1) session("second");
  return failures != 0;
}
