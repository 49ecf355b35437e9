/* Functions of the program's that the library calls and that leave by longjmp: error handlers of
 * windows and communicators, and an attribute's delete function. What was issued before is complete
 * after the next flush, and what others wrote is seen, as if the call had returned. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { kLongs = 100, kBursts = 5, kNobody = 99 };

static jmp_buf back;
static int rank, left;

static void leave(void) {
  ++left;
  longjmp(back, 1);
}
static void leave_window(MPI_Win* win, int* code, ...) {
  (void)win, (void)code;
  leave();
}
static void leave_comm(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  leave();
}
static int leave_attribute(MPI_Comm comm, int key, void* value, void* state) {
  static int before;
  (void)comm, (void)key, (void)value, (void)state;
  if (before++ == 0) leave(); /* the library asks again when MPI ends */
  return MPI_SUCCESS;
}

/* Bursts of puts to the first half of the other's memory and of gets from the second. */
static void bursts(MPI_Win win) {
  static long out[kLongs], in[kLongs], there[kLongs];
  volatile int puts = 0, gets = 0; /* longjmp leaves others undefined */
  for (volatile int k = 0; k < kBursts; ++k) {
    for (int i = 0; i < kLongs; ++i) {
      out[i] = k + 1;
      in[i] = 0;
    }
    for (int i = 0; i < kLongs; ++i) MPI_Put(&out[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win);
    for (int i = 0; i < kLongs; ++i) MPI_Get(&in[i], 1, MPI_LONG, 1, kLongs + i, 1, MPI_LONG, win);
    if (k >= 3 && setjmp(back) == 0) {
      if (k == 3)
        MPI_Put(out, 1, MPI_LONG, kNobody, 0, 1, MPI_LONG, win);
      else
        MPI_Get(out, 1, MPI_LONG, kNobody, 0, 1, MPI_LONG, win);
    }
    MPI_Win_flush(1, win);
    for (int i = 0; i < kLongs; ++i) gets += in[i] != 5;
  }
  MPI_Get(there, kLongs, MPI_LONG, 1, 0, kLongs, MPI_LONG, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < kLongs; ++i) puts += there[i] != kBursts;
  printf("%d puts and %d gets are lost\n", puts, gets);
}

static long read_first(MPI_Win win) {
  long value = -1;
  MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
  MPI_Win_flush(1, win);
  return value;
}

/* What rank 1 writes before a barrier is new after it, whatever rank 0 has left before. */
static void next_value(MPI_Win win, long value, const char* what) {
  if (rank == 0) read_first(win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win);
    MPI_Win_flush(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("after %s: %ld\n", what, read_first(win));
}

/* A message that is longer than its buffer, and the one after it. */
static void truncated(MPI_Comm comm) {
  int values[4] = {1, 2, 3, 4}, got[4] = {0};
  if (rank == 1) {
    MPI_Send(values, 4, MPI_INT, 0, 1, comm);
    MPI_Send(values + 2, 1, MPI_INT, 0, 1, comm);
  } else {
    if (setjmp(back) == 0) MPI_Recv(got, 2, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
    MPI_Recv(got, 4, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
    printf("the message after one that is too long: %d\n", got[0]);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  long* memory;
  MPI_Win win;
  MPI_Win_allocate(2 * kLongs * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &memory,
                   &win);
  for (int i = 0; i < 2 * kLongs; ++i) memory[i] = i < kLongs ? 0 : 5;
  MPI_Errhandler of_window, of_comm;
  MPI_Win_create_errhandler(leave_window, &of_window);
  MPI_Comm_create_errhandler(leave_comm, &of_comm);
  MPI_Win_set_errhandler(win, of_window);
  MPI_Comm_set_errhandler(comm, of_comm);
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, leave_attribute, &key, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (rank == 0) bursts(win);
  next_value(win, 10, "an error of a window");
  if (rank == 0 && setjmp(back) == 0) MPI_Send(memory, 1, MPI_LONG, kNobody, 0, comm);
  next_value(win, 11, "an error of a communicator");
  if (rank == 0 && setjmp(back) == 0) MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
  next_value(win, 12, "a call of an error handler");
  if (rank == 0) {
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    if (setjmp(back) == 0) MPI_Comm_delete_attr(MPI_COMM_SELF, key);
  }
  next_value(win, 13, "the end of an attribute");
  truncated(comm);
  next_value(win, 14, "a message that is too long");
  MPI_Win_unlock_all(win);
  if (rank == 0) printf("left %d times\n", left);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_free(&win);
  MPI_Errhandler_free(&of_window);
  MPI_Errhandler_free(&of_comm);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
