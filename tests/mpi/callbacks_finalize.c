/* What a program may do in the delete callbacks of MPI_COMM_SELF's attributes, which MPI_Finalize
 * calls first: everything. */
#include "rma_check.h"

#define MANY 700 /* receives: beyond the depth at which Hob takes over */
static MPI_Request many[MANY], persistent, fetched;
static int buffers[MANY], received, value, *memory;
static MPI_Win window;
static int order;

static int last(MPI_Comm comm, int key, void* attribute, void* state) {
  (void)comm, (void)key, (void)attribute, (void)state;
  int cancelled = 0;
  for (int i = 0; i < MANY; ++i) {
    MPI_Status status;
    int flag = 0;
    MPI_Cancel(&many[i]);
    MPI_Wait(&many[i], &status);
    MPI_Test_cancelled(&status, &flag);
    cancelled += flag;
  }
  expect(cancelled == MANY, "%d of %d receives were cancelled", cancelled, MANY);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
  expect(received == (my_rank + ranks - 1) % ranks + 30, "received %d", received);
  MPI_Request_free(&persistent);
  MPI_Wait(&fetched, MPI_STATUS_IGNORE);
  expect(value == 70 + (my_rank + 1) % ranks, "fetched %d", value);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  expect(++order == 2, "the attribute that was set first goes last");
  return MPI_SUCCESS;
}

static int first(MPI_Comm comm, int key, void* attribute, void* state) {
  (void)comm, (void)key, (void)attribute, (void)state;
  expect(++order == 1, "the attribute that was set last goes first");
  return MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int next = (my_rank + 1) % ranks;
  int one, two;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last, &one, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, first, &two, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, one, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, two, NULL);
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = 70 + my_rank;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < MANY; ++i)
    MPI_Irecv(&buffers[i], 1, MPI_INT, MPI_ANY_SOURCE, 100 + i, MPI_COMM_WORLD, &many[i]);
  for (int i = 0; i < 4; ++i) {
    MPI_Get(&value, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_flush(next, window);
  }
  MPI_Recv_init(&received, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &persistent);
  MPI_Start(&persistent);
  const int sent = my_rank + 30;
  MPI_Send(&sent, 1, MPI_INT, next, 5, MPI_COMM_WORLD);
  value = 0;
  MPI_Rget(&value, 1, MPI_INT, next, 0, 1, MPI_INT, window, &fetched);
  MPI_Finalize();
  expect(order == 2, "%d callbacks ran", order);
  printf("%d: %d failures\n", my_rank, failures);
  return failures != 0;
}
