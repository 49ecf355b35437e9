// A program of sessions: its process sets do not show the ghosts, and its windows have them.
// argv[1]: ranks that it must see. argv[2]: sessions, one after the other; "both": MPI_Init beside
// one; "after": two after MPI_Finalize.
#include <strings.h>

#include "ghost_check.h"

static int rank = -1, size = -1;

#undef CHECK
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition) && check_failures++ < 10)                                       \
      fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__, __LINE__, #condition); \
  } while (0)

static int session(int expected) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  int sets = 0, world = 0;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  for (int i = 0; i < sets; ++i) {
    char name[256] = "", count[64] = "";
    int length = sizeof name, flag = 0;
    MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
    MPI_Info info;
    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get(info, "mpi_size", sizeof count - 1, count, &flag);
    CHECK(flag && atoi(count) >= 1 && atoi(count) <= expected);
    if (strcasecmp(name, "mpi://WORLD") == 0) {
      ++world;
      CHECK(atoi(count) == expected);
    }
    MPI_Info_free(&info);
  }
  CHECK(world == 1);

  MPI_Group group;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Group_size(group, &size);
  MPI_Group_rank(group, &rank);
  CHECK(size == expected && rank >= 0 && rank < size);
  MPI_Comm comm;
  MPI_Comm_create_from_group(group, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Group_from_session_pset(session, "mpi://SELF", &group);
  int alone = 0;
  MPI_Group_size(group, &alone);
  CHECK(alone == 1);
  MPI_Group_free(&group);

  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  CHECK(sum == size * (size - 1) / 2);
  long *base, one = 1;
  MPI_Win win;
  MPI_Win_allocate(64, 8, MPI_INFO_NULL, comm, &base, &win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  base[0] = 0;
  MPI_Win_unlock(rank, win);
  MPI_Barrier(comm);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 20; ++i)
    for (int t = 0; t < size; ++t)
      MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(comm);
  MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
  CHECK(base[0] == 20L * size);
  MPI_Win_unlock(rank, win);
  MPI_Win_free(&win);
  int failures = 0;
  MPI_Allreduce(&check_failures, &failures, 1, MPI_INT, MPI_SUM, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return failures;
}

int main(int argc, char** argv) {
  const int expected = atoi(argv[1]);
  const int both = argc > 2 && strcmp(argv[2], "both") == 0;
  const int after = argc > 2 && strcmp(argv[2], "after") == 0;
  int failures = 0;
  if (both) {
    MPI_Init(NULL, NULL);
    int seen = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &seen);
    CHECK(seen == expected);
  }
  if (after) {
    MPI_Init(NULL, NULL);
    MPI_Finalize();
  }
  for (int i = 0; i < (both ? 1 : after ? 2 : atoi(argv[2])); ++i) failures += session(expected);
  if (both) MPI_Finalize();
  if (rank == 0 && failures == 0) printf("No Errors\n");
  return failures != 0;
}
