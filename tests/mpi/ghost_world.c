// A program cannot tell that some of the processes are missing. argv[1]: ranks that it must see.
#include "ghost_check.h"

static int deleted = 0;
static int on_delete(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}

static int handled = 0;
static void on_error(MPI_Comm* comm, int* code, ...) {
  int size;
  (void)comm, (void)code;
  MPI_Comm_size(MPI_COMM_WORLD, &size);  // inside the library, too, the world is the program's
  handled = size;
}

int main(int argc, char** argv) {
  printf("before MPI_Init\n");
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const int expected = atoi(argv[1]);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == expected);
  CHECK(rank >= 0 && rank < size);

  // Ranks are each there once.
  int* seen = calloc((size_t)size, sizeof *seen);
  MPI_Allgather(&rank, 1, MPI_INT, seen, 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < size; ++r) CHECK(seen[r] == r);
  free(seen);

  // Groups, comparison, duplicates.
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  int n;
  MPI_Group_size(group, &n);
  CHECK(n == expected);
  MPI_Comm dup, made;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  int result;
  MPI_Comm_compare(MPI_COMM_WORLD, dup, &result);
  CHECK(result == MPI_CONGRUENT);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
  CHECK(result == MPI_IDENT);
  MPI_Comm_create(MPI_COMM_WORLD, group, &made);
  MPI_Comm_size(made, &n);
  CHECK(n == expected);
  MPI_Comm_free(&made);
  MPI_Comm_free(&dup);
  MPI_Group_free(&group);

  // Names, attributes, predefined attributes.
  char name[MPI_MAX_OBJECT_NAME];
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
  MPI_Comm_set_name(MPI_COMM_WORLD, "mine");
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &n);
  CHECK(strcmp(name, "mine") == 0);
  int keyval, flag;
  int value = 7, *got = NULL;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &keyval, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &value);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &got, &flag);
  CHECK(flag && got == &value);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval);
  CHECK(deleted == 1);
  MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &got, &flag);
  CHECK(!flag);
  MPI_Comm_free_keyval(&keyval);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag);
  CHECK(flag && *got >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &got, &flag);
  CHECK(flag);

  // Error handlers.
  MPI_Errhandler errhandler, was;
  MPI_Comm_create_errhandler(on_error, &errhandler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &was);
  CHECK(was == MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
  MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
  CHECK(handled == expected);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  // The first rank that the program does not have is an error, ghost or not.
  CHECK(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, was);
  MPI_Errhandler_free(&errhandler);

  // Topologies, splits, intercommunicators, collectives, wildcards.
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Dims_create(size, 2, dims);
  MPI_Comm cart;
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
  CHECK(cart != MPI_COMM_NULL);
  MPI_Comm_free(&cart);
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_size(node, &n);
  CHECK(n >= 1 && n <= expected);
  MPI_Comm_free(&node);
  if (size >= 2) {
    MPI_Comm half, inter, all;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, 5, &inter);
    MPI_Comm_remote_size(inter, &n);
    CHECK(n == (rank % 2 == 0 ? size / 2 : (size + 1) / 2));
    MPI_Intercomm_merge(inter, rank % 2, &all);
    MPI_Comm_size(all, &n);
    CHECK(n == expected);
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == expected * (expected - 1) / 2);
  if (rank == 0) {
    for (int r = 1; r < size; ++r) {
      MPI_Status status;
      int from;
      MPI_Recv(&from, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      CHECK(from == status.MPI_SOURCE && status.MPI_TAG == from + 100);
    }
  } else {
    MPI_Send(&rank, 1, MPI_INT, 0, rank + 100, MPI_COMM_WORLD);
  }
  return check_finish();
}
