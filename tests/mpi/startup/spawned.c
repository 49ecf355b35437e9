/* A job that spawns two more ranks of itself, merges, and uses a window and messages over all four.
 * 2 ranks. FIELD_NO_WINDOW=1: messages only. FIELD_NAMED=1: from named sources (MPICH 5 hangs
 * without Hob where a receive from any source has senders in shared memory and of another world).
 * MPICH over libfabric's tcp loses what comes unexpected beyond 64 messages. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  watch(60);
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    char* arguments[] = {"child", 0};
    MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &all);
  } else {
    inter = parent;
    MPI_Intercomm_merge(inter, 1, &all);
  }
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  int remote = 0;
  MPI_Comm_remote_size(inter, &remote);
  CHECK(remote == 2 && size == 4, "%d remote, %d in all", remote, size);
  MPI_Win win = MPI_WIN_NULL;
  if (!getenv("FIELD_NO_WINDOW")) {
    int* memory;
    MPI_Win_allocate(100 * sizeof(int), sizeof(int), MPI_INFO_NULL, all, &memory, &win);
    for (int i = 0; i < 100; ++i) memory[i] = 100 * rank + i;
    MPI_Barrier(all);
    for (int t = 0; t < size; ++t) {
      MPI_Win_lock(MPI_LOCK_SHARED, t, 0, win);
      for (int i = 0; i < 20; ++i) {
        int got = -1;
        MPI_Get(&got, 1, MPI_INT, t, i % 7, 1, MPI_INT, win);
        MPI_Win_flush(t, win);
        CHECK(got == 100 * t + i % 7, "%d", got);
      }
      MPI_Win_unlock(t, win);
    }
  }
  int in[60], n = 60;
  MPI_Request requests[60];
  const int source = getenv("FIELD_NAMED") ? (rank + size - 1) % size : MPI_ANY_SOURCE;
  for (int i = 0; i < n; ++i) MPI_Irecv(&in[i], 1, MPI_INT, source, i, all, &requests[i]);
  for (int i = 0; i < n; ++i) MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, i, all);
  MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < n; ++i) CHECK(in[i] == (rank + size - 1) % size, "%d", in[i]);
  if (win != MPI_WIN_NULL) MPI_Win_free(&win);
  int wrong = 0;
  MPI_Allreduce(&bad, &wrong, 1, MPI_INT, MPI_SUM, all);
  if (rank == 0) {
    puts(wrong ? "FAIL" : "PASS");
    fflush(stdout);
  }
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  (void)verdict;
  return wrong != 0;
}
