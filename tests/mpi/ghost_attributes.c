// Attributes and an error handler on MPI_COMM_WORLD: the callbacks see the handle that the program
// knows and a world that works, when the communicator is duplicated, when an attribute is deleted,
// and in MPI_Finalize, which deletes the rest.
#include "ghost_check.h"

static int copies = 0, deletes = 0, failures = 0;

static void look_at(MPI_Comm comm) {
  int rank = -1, size = -1, sum = 0, one = 1;
  CHECK(comm == MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(rank >= 0 && rank < size && sum == size);
}

static int copy(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)keyval, (void)out;
  CHECK(extra == &copies && in == &deletes);
  look_at(comm);
  ++copies;
  *flag = 0;
  return MPI_SUCCESS;
}

static int delete (MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)keyval;
  CHECK(extra == &copies && value == &deletes);
  look_at(comm);
  ++deletes;
  return MPI_SUCCESS;
}

static void failed(MPI_Comm* comm, int* code, ...) {
  (void)code;
  look_at(*comm);
  ++failures;
}

static void window_failed(MPI_Win* win, int* code, ...) {
  (void)win;
  int class = MPI_SUCCESS;
  MPI_Error_class(*code, &class);
  CHECK(class == MPI_ERR_RANK);
  ++failures;
}

// After a handler, some libraries return success and others the error: ghosts do as the library.
static void check_error_of_window(int library_returned) {
  MPI_Win win;
  MPI_Errhandler handler;
  int* base = NULL;
  int class = MPI_SUCCESS, wanted = MPI_SUCCESS;
  MPI_Error_class(library_returned, &wanted);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_create_errhandler(window_failed, &handler);
  MPI_Win_set_errhandler(win, handler);
  MPI_Error_class(MPI_Win_lock(MPI_LOCK_SHARED, 9999, 0, win), &class);
  CHECK(failures == 3);
  CHECK(class == wanted);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Error_class(MPI_Win_lock(MPI_LOCK_SHARED, 9999, 0, win), &class);
  CHECK(class == MPI_ERR_RANK);
  MPI_Errhandler_free(&handler);
  MPI_Win_free(&win);
}

static void check_error_handler(void) {
  MPI_Errhandler handler;
  int nothing = 0;
  MPI_Comm_create_errhandler(failed, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  const int returned = MPI_Send(&nothing, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
  CHECK(failures == 1);
  MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
  CHECK(failures == 2);
  check_error_of_window(returned);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

static MPI_Win window = MPI_WIN_NULL;
static int order = 0, *memory = NULL;

// MPI_Finalize deletes these first, the last that was set at first; ghosts serve the window still.
static int last_use(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  int rank = 0, size = 0, seven = 7;
  CHECK(++order == *(int*)value);
  if (order == 1) return MPI_SUCCESS;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Accumulate(&seven, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(*memory == 7);
  MPI_Win_free(&window);
  return MPI_SUCCESS;
}

static void leave_a_window_open(void) {
  static int first = 1, second = 2;
  int key = 0, other = 0, gone = 0;
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_use, &key, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, last_use, &other, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &gone, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, &second);
  MPI_Comm_set_attr(MPI_COMM_SELF, gone, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, other, &first);
  MPI_Comm_delete_attr(MPI_COMM_SELF, gone);
  MPI_Comm_free_keyval(&gone);
  MPI_Comm_free_keyval(&key);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, first = 0, second = 0, copied = 0, flag = 0;
  void* value = NULL;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(copy, delete, &first, &copies);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &second, &copies);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &copied, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, first, &deletes);
  MPI_Comm_set_attr(MPI_COMM_WORLD, second, &deletes);
  MPI_Comm_set_attr(MPI_COMM_WORLD, copied, &copies);
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  CHECK(copies == 1);
  MPI_Comm_get_attr(dup, first, &value, &flag);
  CHECK(!flag);
  MPI_Comm_get_attr(dup, copied, &value, &flag);
  CHECK(flag && value == &copies);
  MPI_Comm_free(&dup);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, second);
  CHECK(deletes == 1);
  check_error_handler();
  leave_a_window_open();
  MPI_Finalize();
  CHECK(order == 2);
  const int wanted = argc > 1 ? atoi(argv[1]) : 2;
  if (deletes != wanted) fprintf(stderr, "rank %d: %d deletes\n", rank, deletes);
  if (rank == 0 && check_failures == 0 && deletes == wanted) printf("No Errors\n");
  return check_failures != 0 || deletes != wanted;
}
