/* Programs that take their rank and size from the launcher's variables (PMI_RANK, PMI_SIZE,
 * OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE), to meet outside MPI: do they agree with MPI? 2
 * ranks. */
#include "check.h"

static void compare(const char* name, int mine) {
  const char* value = getenv(name);
  if (value) CHECK(atoi(value) == mine, "%s=%s, MPI says %d", name, value, mine);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(30);
  compare("PMI_RANK", rank);
  compare("PMI_SIZE", size);
  compare("OMPI_COMM_WORLD_RANK", rank);
  compare("OMPI_COMM_WORLD_SIZE", size);
  MPI_Comm node;
  int local = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &local);
  compare("OMPI_COMM_WORLD_LOCAL_SIZE", local);
  MPI_Comm_free(&node);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
