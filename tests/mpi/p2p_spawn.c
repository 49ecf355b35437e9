/* The leaders of MPI_Intercomm_create meet on a communicator that was merged from two worlds, where
 * a receive is posted: their messages are not the receive's, and nobody else's. One process, which
 * spawns another. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Comm between, merged, made;
  int child, value = -1;
  MPI_Init(&argc, &argv);
  alarm(200);
  MPI_Comm_get_parent(&between);
  child = between != MPI_COMM_NULL;
  if (!child)
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between,
                   MPI_ERRCODES_IGNORE);
  MPI_Intercomm_merge(between, child, &merged);
  if (!child) {
    MPI_Request request;
    int flag = 0;
    MPI_Irecv(&value, 1, MPI_INT, 1, 5, merged, &request);
    /* long enough for the other leader's message to come */
    for (int i = 0; i < 300; i++) {
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    MPI_Intercomm_create(MPI_COMM_SELF, 0, merged, 1, 9, &made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    printf("received %d\n", value);
  } else {
    value = 42;
    MPI_Intercomm_create(MPI_COMM_SELF, 0, merged, 0, 9, &made);
    MPI_Send(&value, 1, MPI_INT, 0, 5, merged);
  }
  MPI_Comm_free(&made);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return value != 42;
}
