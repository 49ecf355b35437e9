// A world with ghosts starts another one, which is as large as was asked for; the two talk, and
// make windows together and alone. argv[1] (parents): how many ranks the program has.
#include "ghost_check.h"

enum { children = 2 };

static void window_over(MPI_Comm comm) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  long* base;
  MPI_Win win;
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, &base, &win);
  base[0] = -1;
  MPI_Win_fence(0, win);
  const long value = 50 + rank;
  MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 0, 1, MPI_LONG, win);
  MPI_Win_fence(0, win);
  CHECK(base[0] == 50 + (rank + size - 1) % size);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, remote;
  MPI_Comm parent, inter, all;
  MPI_Comm_get_parent(&parent);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (parent == MPI_COMM_NULL) {
    CHECK(size == atoi(argv[1]));
    int codes[children] = {-1, -1};
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                   codes);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &remote);
    CHECK(remote == children);
  } else {
    CHECK(size == children);
    inter = parent;
  }
  MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &all);
  int rank, one = 1, sum = 0, parents = parent == MPI_COMM_NULL;
  MPI_Allreduce(MPI_IN_PLACE, &parents, 1, MPI_INT, MPI_SUM, all);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_rank(all, &rank);
  CHECK(sum == parents + children);
  window_over(all);             // reaches processes that have no ghosts
  window_over(MPI_COMM_WORLD);  // either world's own
  int failures = 0;
  MPI_Allreduce(&check_failures, &failures, 1, MPI_INT, MPI_SUM, all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
  MPI_Finalize();
  if (rank == 0 && failures == 0) printf("No Errors\n");
  return failures != 0;
}
