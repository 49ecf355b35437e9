/* Two programs of one job (MPI_APPNUM): each must keep a rank. Argument: how many ranks it has. */
#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(60);
  int *number, found = 0, programs[2] = {0, 0};
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
  CHECK(found && *number >= 0 && *number < 2, "no MPI_APPNUM");
  if (found) programs[*number] = 1;
  MPI_Allreduce(MPI_IN_PLACE, programs, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(programs[0] > 0 && programs[1] > 0, "%d and %d ranks", programs[0], programs[1]);
  CHECK(size == atoi(argv[1]), "%d ranks", size);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
