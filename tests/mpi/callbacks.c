/* Functions of the program's that the library calls from within calls that are local: what they
 * learn of, and what they write, counts as if they were called from outside. Each row: a cached
 * copy is made sure of, the other rank (or the callback) writes, the callback runs, and the next
 * get must be new.
 *
 * A copy is older than any bound of polling only if the program waits; none does. */
#include "rma_check.h"

static MPI_Comm world;
static MPI_Win window;
static int* memory;
static int value; /* what the target's memory holds */

static int get(void) {
  int result = -1;
  MPI_Get(&result, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
  MPI_Win_flush(1, window);
  return result;
}

static void put_next(void) {
  ++value;
  MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
  MPI_Win_flush(1, window);
}

/* The copy of rank 0 is as it was; then rank 1 writes, if `by_target`. */
static void old_copy(int by_target) {
  MPI_Barrier(world);
  if (my_rank == 0) {
    get();
    get();
  }
  if (!by_target) return;
  if (my_rank == 1) {
    int flag;
    while (outside[0] < value + 1) /* until rank 0 has its copy, for which it may need this rank */
      MPI_Iprobe(MPI_ANY_SOURCE, 0, world, &flag, MPI_STATUS_IGNORE);
    put_next();
    reach(1, value);
  } else {
    reach(0, value + 1);
    ++value;
    await(1, value);
  }
}

static void new_value(const char* row) {
  if (my_rank == 0) {
    const int seen = get();
    expect(seen == value, "%s: %d instead of %d", row, seen, value);
  }
  MPI_Barrier(world);
}

static int delete_with_barrier(MPI_Comm comm, int key, void* attribute, void* state) {
  (void)comm, (void)key, (void)attribute;
  expect(state == &value, "an attribute's extra state is another one");
  return MPI_Barrier(world);
}
static int delete_of_window(MPI_Win win, int key, void* attribute, void* state) {
  (void)win, (void)key, (void)attribute, (void)state;
  return MPI_Barrier(world);
}
static int delete_of_type(MPI_Datatype type, int key, void* attribute, void* state) {
  (void)type, (void)key, (void)attribute, (void)state;
  return MPI_Barrier(world);
}
static int copy_with_barrier(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)state;
  *(void**)out = in;
  *flag = 1;
  return MPI_Barrier(world);
}
static void put_on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  if (my_rank == 0)
    put_next();
  else
    ++value;
}
static void barrier_on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  MPI_Barrier(world);
}
static void barrier_on_window_error(MPI_Win* win, int* code, ...) {
  (void)win, (void)code;
  MPI_Barrier(world);
}
static void put_on_window_error(MPI_Win* win, int* code, ...) {
  (void)win, (void)code;
  if (my_rank == 0)
    put_next();
  else
    ++value;
}
static int query(void* state, MPI_Status* status) {
  (void)state;
  MPI_Status_set_elements(status, MPI_INT, 0);
  MPI_Status_set_cancelled(status, 0);
  return MPI_Barrier(world);
}
static int freed(void* state) {
  ++*(int*)state;
  return MPI_SUCCESS;
}
static int cancel_with_barrier(void* state, int complete) {
  (void)state, (void)complete;
  return MPI_Barrier(world);
}

static void attributes(void) {
  int key, window_key, type_key, copied;
  MPI_Comm one, two;
  MPI_Comm_dup(world, &one);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_with_barrier, &key, &value);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_of_window, &window_key, NULL);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &type_key, NULL);
  MPI_Comm_create_keyval(copy_with_barrier, MPI_COMM_NULL_DELETE_FN, &copied, NULL);
  MPI_Comm_set_attr(one, key, NULL);
  old_copy(1);
  MPI_Comm_delete_attr(one, key);
  new_value("MPI_Comm_delete_attr");
  MPI_Comm_set_attr(one, key, NULL);
  old_copy(1);
  MPI_Comm_set_attr(one, key, NULL);
  new_value("MPI_Comm_set_attr over another");
  MPI_Comm_delete_attr(one, key);
  MPI_Win_set_attr(window, window_key, NULL);
  old_copy(1);
  MPI_Win_delete_attr(window, window_key);
  new_value("MPI_Win_delete_attr");
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, type_key, NULL);
  old_copy(1);
  MPI_Type_free(&type);
  new_value("MPI_Type_free");
  MPI_Comm_set_attr(one, copied, &value);
  old_copy(1);
  MPI_Comm_dup(one, &two);
  new_value("MPI_Comm_dup, which copies an attribute");
  int there = 0;
  void* attribute = NULL;
  MPI_Comm_get_attr(two, copied, &attribute, &there);
  expect(there && attribute == &value, "the copied attribute is not there");
  MPI_Comm_free(&two);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_free_keyval(&copied);
  MPI_Win_free_keyval(&window_key);
  MPI_Type_free_keyval(&type_key);
  MPI_Comm_free(&one);
}

static void error_handlers(void) {
  MPI_Comm one;
  MPI_Comm_dup(world, &one);
  MPI_Errhandler puts, barriers, of_window, puts_of_window;
  MPI_Comm_create_errhandler(put_on_error, &puts);
  MPI_Comm_create_errhandler(barrier_on_error, &barriers);
  MPI_Win_create_errhandler(barrier_on_window_error, &of_window);
  MPI_Win_create_errhandler(put_on_window_error, &puts_of_window);
  MPI_Comm_set_errhandler(one, puts);
  old_copy(0);
  MPI_Comm_call_errhandler(one, MPI_ERR_OTHER);
  new_value("MPI_Comm_call_errhandler, whose handler puts");
  MPI_Comm_set_errhandler(one, barriers);
  old_copy(1);
  MPI_Comm_call_errhandler(one, MPI_ERR_OTHER);
  new_value("MPI_Comm_call_errhandler");
  MPI_Win_set_errhandler(window, of_window);
  old_copy(1);
  MPI_Win_call_errhandler(window, MPI_ERR_OTHER);
  new_value("MPI_Win_call_errhandler");
  old_copy(1);
  int unused;
  MPI_Get(&unused, 1, MPI_INT, 9999, 0, 1, MPI_INT, window);
  new_value("an erroneous MPI_Get");
  MPI_Win_set_errhandler(window, puts_of_window);
  old_copy(0);
  MPI_Put(&unused, 1, MPI_INT, 9999, 0, 1, MPI_INT, window);
  new_value("an erroneous MPI_Put, whose handler puts");
  old_copy(0);
  MPI_Get(&unused, 1, MPI_INT, 9999, 0, 1, MPI_INT, window);
  new_value("an erroneous MPI_Get, whose handler puts");
  MPI_Win_set_errhandler(window, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&puts);
  MPI_Errhandler_free(&barriers);
  MPI_Errhandler_free(&of_window);
  MPI_Errhandler_free(&puts_of_window);
  MPI_Comm_free(&one);
}

static void generalized_requests(void) {
  int releases = 0;
  MPI_Request request;
  MPI_Grequest_start(query, freed, cancel_with_barrier, &releases, &request);
  old_copy(1);
  MPI_Cancel(&request);
  new_value("MPI_Cancel of a generalized request");
  MPI_Grequest_complete(request);
  old_copy(1);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  new_value("MPI_Wait for a generalized request");
  expect(releases == 1, "the free function ran %d times", releases);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  open_outside();
  MPI_Comm_dup(MPI_COMM_WORLD, &world);
  MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, world, &memory, &window);
  memory[0] = 0;
  MPI_Barrier(world);
  MPI_Win_lock_all(0, window);
  attributes();
  error_handlers();
  generalized_requests();
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Comm_free(&world);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) printf("%d rows are stale\n", all);
  MPI_Finalize();
  return all != 0;
}
