/* When a process may have learned of a write, it must see it; until then a cached copy may serve.
 *
 * One row for every call. Rank 0 gets a value (a cache keeps it); rank 1 then stores a new one,
 * which rank 0 is told outside MPI only, so that no MPI call orders the two; then an acquire: rank
 * 0 completes the row's call, which depends on rank 1, and must get the new value; not an acquire:
 * rank 0 makes the row's call and gets again; MPI leaves the value open. With
 *   --expect-kept it must be the old one: the copy survived.
 */
#include <dlfcn.h>

#include "rma_check.h"

static MPI_Win data;  /* rank 1's value is read; lock_all is open on rank 0 */
static MPI_Win other; /* where the calls happen that need a window */
static long* data_memory;
static long* other_memory;
static MPI_Comm grid;
static long serial;       /* of the row; flags count up with it */
static MPI_Request early; /* posted before rank 1 writes */
static int token;
static int tokens[64];

static long fetched;
static MPI_Status status;
static MPI_Message message;
static int flag;
static int index_of;

static long read_data(int at) {
  long value = -1;
  MPI_Get(&value, 1, MPI_LONG, 1, at, 1, MPI_LONG, data);
  MPI_Win_flush(1, data);
  return value;
}

/* Rank 1's part of most rows. */
static void w_send(void) { MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD); }
static void w_recv(void) { MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status); }
static void w_nothing(void) {}
static void w_flag(void) {
  const long value = serial;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, other);
  MPI_Accumulate(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_REPLACE, other);
  MPI_Win_unlock(1, other);
}
static void w_flag_there(void) {
  const long value = serial;
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, other);
  MPI_Accumulate(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_REPLACE, other);
  MPI_Win_unlock(0, other);
}

/* Two-sided. */
static void o_recv(void) { MPI_Recv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status); }
static void o_any_source(void) {
  MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void post(void) { MPI_Irecv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &early); }
static void o_wait(void) { MPI_Wait(&early, &status); }
static void o_waitany(void) { MPI_Waitany(1, &early, &index_of, &status); }
static void o_waitall(void) { MPI_Waitall(1, &early, MPI_STATUSES_IGNORE); }
static void o_waitsome(void) { MPI_Waitsome(1, &early, &flag, &index_of, MPI_STATUSES_IGNORE); }
static void o_test(void) {
  for (flag = 0; !flag;) MPI_Test(&early, &flag, &status);
}
static void o_testany(void) {
  for (flag = 0; !flag;) MPI_Testany(1, &early, &index_of, &flag, &status);
}
static void o_testall(void) {
  for (flag = 0; !flag;) MPI_Testall(1, &early, &flag, MPI_STATUSES_IGNORE);
}
static void o_testsome(void) {
  for (flag = 0; !flag;) MPI_Testsome(1, &early, &flag, &index_of, MPI_STATUSES_IGNORE);
}
static void o_status(void) {
  for (flag = 0; !flag;) MPI_Request_get_status(early, &flag, &status);
}
static void after_wait(void) { MPI_Wait(&early, MPI_STATUS_IGNORE); }
static void o_probe(void) { MPI_Probe(1, 5, MPI_COMM_WORLD, &status); }
static void o_iprobe(void) {
  for (flag = 0; !flag;) MPI_Iprobe(1, 5, MPI_COMM_WORLD, &flag, &status);
}
static void o_mprobe(void) { MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, &status); }
static void o_improbe(void) {
  for (flag = 0; !flag;) MPI_Improbe(1, 5, MPI_COMM_WORLD, &flag, &message, &status);
}
static void after_mrecv(void) { MPI_Mrecv(&token, 1, MPI_INT, &message, &status); }
static void o_mrecv(void) {
  MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(&token, 1, MPI_INT, &message, &status);
}
static void o_imrecv(void) {
  MPI_Mprobe(1, 5, MPI_COMM_WORLD, &message, &status);
  MPI_Imrecv(&token, 1, MPI_INT, &message, &early);
  MPI_Wait(&early, &status);
}
static void o_sendrecv(void) {
  MPI_Sendrecv(&token, 1, MPI_INT, 1, 5, &tokens[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
}
static void o_sendrecv_replace(void) {
  MPI_Sendrecv_replace(&token, 1, MPI_INT, 1, 5, 1, 5, MPI_COMM_WORLD, &status);
}
static void pre_persistent(void) {
  MPI_Recv_init(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &early);
  MPI_Start(&early);
}
static void after_free(void) { MPI_Request_free(&early); }
static void o_ssend(void) { MPI_Ssend(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD); }
static void pre_issend(void) { MPI_Issend(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &early); }

/* Collectives. */
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(&token, 1, MPI_INT, 1, MPI_COMM_WORLD); }
static void reduce(void) { MPI_Reduce(&token, &tokens[0], 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(void) {
  MPI_Allreduce(&token, &tokens[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void gather(void) { MPI_Gather(&token, 1, MPI_INT, tokens, 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void scatter(void) {
  MPI_Scatter(tokens, 1, MPI_INT, &token, 1, MPI_INT, 1, MPI_COMM_WORLD);
}
static void allgather(void) {
  MPI_Allgather(&token, 1, MPI_INT, tokens, 1, MPI_INT, MPI_COMM_WORLD);
}
static void alltoall(void) {
  MPI_Alltoall(tokens, 1, MPI_INT, tokens + 32, 1, MPI_INT, MPI_COMM_WORLD);
}
static void reduce_scatter(void) {
  MPI_Reduce_scatter_block(tokens, tokens + 32, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}
static void neighbour(void) {
  MPI_Neighbor_allgather(&token, 1, MPI_INT, tokens, 1, MPI_INT, grid);
}
static void pre_ibarrier(void) { MPI_Ibarrier(MPI_COMM_WORLD, &early); }
static void w_ibarrier(void) {
  MPI_Ibarrier(MPI_COMM_WORLD, &early);
  MPI_Wait(&early, &status);
}
static void ibcast(void) {
  MPI_Ibcast(&token, 1, MPI_INT, 1, MPI_COMM_WORLD, &early);
  MPI_Wait(&early, &status);
}
static void iallreduce(void) {
  MPI_Iallreduce(&token, &tokens[0], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &early);
  for (flag = 0; !flag;) MPI_Test(&early, &flag, MPI_STATUS_IGNORE);
}
static void comm_dup(void) {
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_free(&copy);
}
static void comm_split(void) {
  MPI_Comm copy;
  MPI_Comm_split(MPI_COMM_WORLD, 0, my_rank, &copy);
  MPI_Comm_free(&copy);
}
static void new_window(void) {
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* One-sided synchronisation, on another window. */
static void fence(void) {
  MPI_Win_fence(0, other);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, other);
}
static void pair_group(MPI_Group* group) {
  MPI_Group all;
  const int peer = 1 - my_rank;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &peer, group);
  MPI_Group_free(&all);
}
static void w_post(void) {
  MPI_Group group;
  pair_group(&group);
  MPI_Win_post(group, 0, other);
  MPI_Group_free(&group);
  MPI_Win_wait(other);
}
static void o_start(void) {
  MPI_Group group;
  long value;
  pair_group(&group);
  MPI_Win_start(group, 0, other);
  MPI_Get(&value, 1, MPI_LONG, 1, 3, 1, MPI_LONG, other);
  MPI_Win_complete(other);
  MPI_Group_free(&group);
}
static void pre_post(void) {
  MPI_Group group;
  pair_group(&group);
  MPI_Win_post(group, 0, other);
  MPI_Group_free(&group);
}
static void w_start(void) {
  MPI_Group group;
  pair_group(&group);
  MPI_Win_start(group, 0, other);
  MPI_Win_complete(other);
  MPI_Group_free(&group);
}
static void o_win_wait(void) { MPI_Win_wait(other); }
static void o_win_test(void) {
  for (flag = 0; !flag;) MPI_Win_test(other, &flag);
}
static void o_lock(void) {
  for (long value = -1; value != serial;) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other);
    MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, other);
    MPI_Win_unlock(1, other);
  }
}
static void o_lock_exclusive(void) {
  for (long value = -1; value != serial;) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, other);
    MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, other);
    MPI_Win_unlock(1, other);
  }
}
static void o_lock_all(void) {
  for (long value = -1; value != serial;) {
    MPI_Win_lock_all(0, other);
    MPI_Get(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, other);
    MPI_Win_unlock_all(other);
  }
}
static void pre_shared(void) { MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other); }
static void after_unlock(void) { MPI_Win_unlock(1, other); }
static void w_flag_shared(void) {
  const long value = serial;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other);
  MPI_Accumulate(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_REPLACE, other);
  MPI_Win_unlock(1, other);
}
static void o_fetch_and_op(void) {
  const long none = 0;
  for (long value = -1; value != serial;) {
    MPI_Fetch_and_op(&none, &value, MPI_LONG, 1, 0, MPI_NO_OP, other);
    MPI_Win_flush(1, other);
  }
}
#if defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION == 4
#define NO_COMPARE_AND_SWAP /* crashes in that library's emulation of it on shared memory */
#else
static void o_compare_and_swap(void) {
  const long never = -5;
  for (long value = -1; value != serial;) {
    MPI_Compare_and_swap(&never, &never, &value, MPI_LONG, 1, 0, other);
    MPI_Win_flush(1, other);
  }
}
#endif
static void o_get_accumulate(void) {
  const long none = 0;
  for (long value = -1; value != serial;) {
    MPI_Get_accumulate(&none, 1, MPI_LONG, &value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, other);
    MPI_Win_flush(1, other);
  }
}
static void o_get_accumulate_no_op(void) {
  for (long value = -1; value != serial;) {
    MPI_Get_accumulate(NULL, 0, MPI_LONG, &value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_NO_OP, other);
    MPI_Win_flush(1, other);
  }
}
static void o_own_no_op(void) { /* a flag in the process's own memory */
  for (long value = -1; value != serial;) {
    MPI_Get_accumulate(NULL, 0, MPI_LONG, &value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_NO_OP, other);
    MPI_Win_flush(0, other);
    MPI_Iprobe(1, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}
static void o_own_fetch_and_op(void) {
  const long none = 0;
  for (long value = -1; value != serial;) {
    MPI_Fetch_and_op(&none, &value, MPI_LONG, 0, 1, MPI_NO_OP, other);
    MPI_Win_flush_all(other);
    MPI_Iprobe(1, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  }
}
static void o_rget_accumulate(void) {
  const long none = 0;
  for (long value = -1; value != serial;) {
    MPI_Rget_accumulate(&none, 1, MPI_LONG, &value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM, other,
                        &early);
    MPI_Wait(&early, MPI_STATUS_IGNORE);
  }
}
static void w_flag_and_tell(void) {
  w_flag_shared();
  reach(3, (int)serial);
}
/* What the atomic read arrives with the end of the epoch. */
static void fetch_flag(void) {
  const long none = 0;
  await(3, (int)serial);
  MPI_Fetch_and_op(&none, &fetched, MPI_LONG, 1, 0, MPI_NO_OP, other);
}
static void o_arrives_by_unlock(void) {
  fetch_flag();
  MPI_Win_unlock(1, other);
  expect(fetched == serial, "the flag is %ld, not %ld", fetched, serial);
}
static void pre_lock_all(void) { MPI_Win_lock_all(0, other); }
static void o_arrives_by_unlock_all(void) {
  fetch_flag();
  MPI_Win_unlock_all(other);
  expect(fetched == serial, "the flag is %ld, not %ld", fetched, serial);
}
static void file(void) {
  MPI_File handle;
  MPI_File_open(MPI_COMM_WORLD, "/tmp/hob-rma-acquires",
                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &handle);
  MPI_File_close(&handle);
}

/* What survives the failure of others, where the library has it: MPICH has the functions, and ends
 * in an assertion over its device ch4. */
typedef int Agree(MPI_Comm, int*);
typedef int Iagree(MPI_Comm, int*, MPI_Request*);
typedef int Shrink(MPI_Comm, MPI_Comm*);
static int agreed = 1;
static MPI_Comm survivors = MPI_COMM_NULL;
static void* extension(const char* name) {
#ifdef OPEN_MPI
  return dlsym(RTLD_DEFAULT, name);
#else
  (void)name;
  return NULL;
#endif
}
static void agree(void) {
  Agree* const call = (Agree*)extension("MPIX_Comm_agree");
  if (call)
    call(MPI_COMM_WORLD, &agreed);
  else
    barrier();
}
static void iagree(void) {
  Iagree* const call = (Iagree*)extension("MPIX_Comm_iagree");
  if (!call) {
    barrier();
    return;
  }
  call(MPI_COMM_WORLD, &agreed, &early);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
}
static void shrink(void) {
  Shrink* const call = (Shrink*)extension("MPIX_Comm_shrink");
  if (call)
    call(MPI_COMM_WORLD, &survivors);
  else
    barrier();
}

static void pre_shared_own(void) { MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, other); }
static void o_win_sync(void) {
  while (*(volatile long*)&other_memory[1] != serial) {
    MPI_Win_sync(other);
    MPI_Iprobe(1, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
  MPI_Win_sync(other);
}
static void after_unlock_own(void) { MPI_Win_unlock(0, other); }

/* Not acquires. */
static void n_get(void) { (void)read_data(5); }
static void n_put(void) {
  const long value = 4;
  MPI_Put(&value, 1, MPI_LONG, 1, 6, 1, MPI_LONG, data);
  MPI_Win_flush(1, data);
}
static void n_accumulate(void) {
  const long value = 4;
  MPI_Accumulate(&value, 1, MPI_LONG, 1, 6, 1, MPI_LONG, MPI_SUM, data);
  MPI_Win_flush(1, data);
}
static void n_rget(void) {
  long value;
  MPI_Rget(&value, 1, MPI_LONG, 1, 5, 1, MPI_LONG, data, &early);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
}
static void n_rput(void) {
  const long value = 4;
  MPI_Rput(&value, 1, MPI_LONG, 1, 6, 1, MPI_LONG, data, &early);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  MPI_Win_flush(1, data);
}
static void n_raccumulate(void) {
  const long value = 4;
  MPI_Raccumulate(&value, 1, MPI_LONG, 1, 6, 1, MPI_LONG, MPI_SUM, data, &early);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  MPI_Win_flush(1, data);
}
static void n_flush(void) { MPI_Win_flush(1, data); }
static void n_flush_all(void) { MPI_Win_flush_all(data); }
static void n_flush_local(void) { MPI_Win_flush_local(1, data); }
static void n_flush_local_all(void) { MPI_Win_flush_local_all(data); }
static void n_unlock(void) { MPI_Win_unlock(1, other); }
static void pre_shared_get(void) {
  static long value;
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, other);
  MPI_Get(&value, 1, MPI_LONG, 1, 3, 1, MPI_LONG, other);
}
static void n_unlock_all(void) { MPI_Win_unlock_all(other); }
static void pre_lock_all_get(void) {
  static long value;
  MPI_Win_lock_all(0, other);
  MPI_Get(&value, 1, MPI_LONG, 1, 3, 1, MPI_LONG, other);
}
static void n_win_test_false(void) {
  MPI_Win_test(other, &flag);
  expect(!flag, "MPI_Win_test was true before anybody had access");
}
static void w_start_when_told(void) {
  await_in_mpi(4, (int)serial);
  w_start();
}
static void after_win_test(void) {
  reach(4, (int)serial);
  MPI_Win_wait(other);
}
static void n_ibarrier(void) { MPI_Ibarrier(MPI_COMM_WORLD, &early); }
static void pre_receive(void) { MPI_Recv_init(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &early); }
static void n_start(void) { MPI_Start(&early); }
static void n_attributes(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_WORLD, key, &token);
  MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
  MPI_Comm_free_keyval(&key);
}
static void n_test_false(void) { MPI_Test(&early, &flag, MPI_STATUS_IGNORE); }
static void n_testany_false(void) { MPI_Testany(1, &early, &index_of, &flag, MPI_STATUS_IGNORE); }
static void n_testall_false(void) { MPI_Testall(1, &early, &flag, MPI_STATUSES_IGNORE); }
static void n_testsome_false(void) {
  MPI_Testsome(1, &early, &flag, &index_of, MPI_STATUSES_IGNORE);
}
static void n_status_false(void) { MPI_Request_get_status(early, &flag, MPI_STATUS_IGNORE); }
static void n_iprobe_false(void) { MPI_Iprobe(1, 78, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); }
static void n_improbe_false(void) {
  MPI_Improbe(1, 78, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
}

/* Requests that are null or inactive, empty arrays, nobody at the other end. */
static MPI_Request nobody[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
static int places[3];
static void n_wait_null(void) { MPI_Wait(nobody, MPI_STATUS_IGNORE); }
static void n_test_null(void) { MPI_Test(nobody, &flag, MPI_STATUS_IGNORE); }
static void n_waitall_null(void) { MPI_Waitall(3, nobody, MPI_STATUSES_IGNORE); }
static void n_waitall_none(void) { MPI_Waitall(0, nobody, MPI_STATUSES_IGNORE); }
static void n_testall_null(void) { MPI_Testall(3, nobody, &flag, MPI_STATUSES_IGNORE); }
static void n_testall_none(void) { MPI_Testall(0, nobody, &flag, MPI_STATUSES_IGNORE); }
static void n_waitany_null(void) { MPI_Waitany(3, nobody, &index_of, MPI_STATUS_IGNORE); }
static void n_testany_null(void) { MPI_Testany(3, nobody, &index_of, &flag, MPI_STATUS_IGNORE); }
static void n_testany_none(void) { MPI_Testany(0, nobody, &index_of, &flag, MPI_STATUS_IGNORE); }
static void n_waitsome_null(void) { MPI_Waitsome(3, nobody, &flag, places, MPI_STATUSES_IGNORE); }
static void n_testsome_null(void) { MPI_Testsome(3, nobody, &flag, places, MPI_STATUSES_IGNORE); }
static void n_status_null(void) {
  MPI_Request_get_status(MPI_REQUEST_NULL, &flag, MPI_STATUS_IGNORE);
}
static void pre_inactive(void) {
  MPI_Send_init(&token, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &early);
  MPI_Start(&early);
  MPI_Wait(&early, MPI_STATUS_IGNORE);
}
static void n_wait_inactive(void) {
  MPI_Request list[] = {MPI_REQUEST_NULL, early};
  MPI_Wait(&early, MPI_STATUS_IGNORE);
  MPI_Test(&early, &flag, MPI_STATUS_IGNORE);
  MPI_Request_get_status(early, &flag, MPI_STATUS_IGNORE);
  MPI_Waitall(2, list, MPI_STATUSES_IGNORE);
  MPI_Testall(2, list, &flag, MPI_STATUSES_IGNORE);
  MPI_Waitany(2, list, &index_of, MPI_STATUS_IGNORE);
  MPI_Testsome(2, list, &flag, places, MPI_STATUSES_IGNORE);
}
static void n_nobody(void) {
  MPI_Message message;
  MPI_Recv(&token, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&token, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD);
  MPI_Sendrecv(&token, 1, MPI_INT, MPI_PROC_NULL, 5, places, 1, MPI_INT, MPI_PROC_NULL, 5,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Iprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  MPI_Mprobe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
}
/* A get with a request is complete; the receive beside it is not. */
static void n_waitany_get(void) {
  MPI_Request list[] = {early, MPI_REQUEST_NULL};
  MPI_Rget(tokens, 1, MPI_INT, 1, 6, 1, MPI_INT, data, &list[1]);
  MPI_Waitany(2, list, &index_of, MPI_STATUS_IGNORE);
  expect(index_of == 1, "waitany: %d", index_of);
}
static void n_irecv(void) { post(); }
static void n_isend(void) { MPI_Isend(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &early); }
static void n_types(void) {
  MPI_Datatype type;
  int size;
  MPI_Type_vector(3, 2, 4, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Type_size(type, &size);
  MPI_Type_free(&type);
}
static void n_groups(void) {
  MPI_Group group;
  int size;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  MPI_Group_size(group, &size);
  MPI_Group_free(&group);
  MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_SELF, &size);
}
static void n_queries(void) {
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Aint address;
  void* value;
  MPI_Get_processor_name(name, &flag);
  MPI_Get_address(&token, &address);
  MPI_Win_get_attr(data, MPI_WIN_BASE, &value, &flag);
  (void)MPI_Wtime();
  MPI_Initialized(&flag);
  MPI_Comm_rank(MPI_COMM_WORLD, &flag);
}
static void n_pack(void) {
  char buffer[64];
  int position = 0;
  MPI_Pack(&token, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
  position = 0;
  MPI_Unpack(buffer, sizeof buffer, &position, &tokens[0], 1, MPI_INT, MPI_COMM_WORLD);
}
static void n_memory(void) {
  void* memory;
  MPI_Info info;
  MPI_Alloc_mem(64, MPI_INFO_NULL, &memory);
  MPI_Free_mem(memory);
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_free(&info);
}

/* No acquire, but the request of a put is not told from one of a receive: the copy may go. */
enum { EITHER = 2 };

struct Row {
  const char* name;
  int acquire;          /* 1, 0 or EITHER */
  void (*before)(void); /* rank 0, before it gets */
  void (*origin)(void); /* rank 0, after rank 1 has written */
  void (*writer)(void); /* rank 1, after its write; runs beside `origin` */
  void (*after)(void);  /* rank 0, after it looked */
};

static const struct Row rows[] = {
    {"recv", 1, 0, o_recv, w_send, 0},
    {"recv from any source", 1, 0, o_any_source, w_send, 0},
    {"wait", 1, post, o_wait, w_send, 0},
    {"waitany", 1, post, o_waitany, w_send, 0},
    {"waitall", 1, post, o_waitall, w_send, 0},
    {"waitsome", 1, post, o_waitsome, w_send, 0},
    {"test", 1, post, o_test, w_send, 0},
    {"testany", 1, post, o_testany, w_send, 0},
    {"testall", 1, post, o_testall, w_send, 0},
    {"testsome", 1, post, o_testsome, w_send, 0},
    {"request_get_status", 1, post, o_status, w_send, after_wait},
    {"probe", 1, 0, o_probe, w_send, o_recv},
    {"iprobe", 1, 0, o_iprobe, w_send, o_recv},
    {"mprobe", 1, 0, o_mprobe, w_send, after_mrecv},
    {"improbe", 1, 0, o_improbe, w_send, after_mrecv},
    {"mrecv", 1, 0, o_mrecv, w_send, 0},
    {"imrecv and wait", 1, 0, o_imrecv, w_send, 0},
    {"sendrecv", 1, 0, o_sendrecv, 0, 0},
    {"sendrecv_replace", 1, 0, o_sendrecv_replace, 0, 0},
    {"persistent receive", 1, pre_persistent, o_wait, w_send, after_free},
    {"ssend", 1, 0, o_ssend, w_recv, 0},
    {"issend and wait", 1, pre_issend, o_wait, w_recv, 0},
    {"barrier", 1, 0, barrier, barrier, 0},
    {"bcast", 1, 0, bcast, bcast, 0},
    {"reduce", 1, 0, reduce, reduce, 0},
    {"allreduce", 1, 0, allreduce, allreduce, 0},
    {"gather", 1, 0, gather, gather, 0},
    {"scatter", 1, 0, scatter, scatter, 0},
    {"allgather", 1, 0, allgather, allgather, 0},
    {"alltoall", 1, 0, alltoall, alltoall, 0},
    {"reduce_scatter_block", 1, 0, reduce_scatter, reduce_scatter, 0},
    {"neighbor_allgather", 1, 0, neighbour, neighbour, 0},
    {"ibarrier and wait", 1, pre_ibarrier, o_wait, w_ibarrier, 0},
    {"ibarrier and test", 1, pre_ibarrier, o_test, w_ibarrier, 0},
    {"ibarrier and waitall", 1, pre_ibarrier, o_waitall, w_ibarrier, 0},
    {"ibcast", 1, 0, ibcast, ibcast, 0},
    {"iallreduce", 1, 0, iallreduce, iallreduce, 0},
    {"comm_dup", 1, 0, comm_dup, comm_dup, 0},
    {"comm_split", 1, 0, comm_split, comm_split, 0},
    {"win_create", 1, 0, new_window, new_window, 0},
    {"win_fence", 1, 0, fence, fence, 0},
    {"win_start and complete", 1, 0, o_start, w_post, 0},
    {"win_wait", 1, pre_post, o_win_wait, w_start, 0},
    {"win_test", 1, pre_post, o_win_test, w_start, 0},
    {"win_lock shared", 1, 0, o_lock, w_flag, 0},
    {"win_lock exclusive", 1, 0, o_lock_exclusive, w_flag, 0},
    {"win_lock_all", 1, 0, o_lock_all, w_flag, 0},
    {"fetch_and_op", 1, pre_shared, o_fetch_and_op, w_flag_shared, after_unlock},
#ifndef NO_COMPARE_AND_SWAP
    {"compare_and_swap", 1, pre_shared, o_compare_and_swap, w_flag_shared, after_unlock},
#endif
    {"get_accumulate", 1, pre_shared, o_get_accumulate, w_flag_shared, after_unlock},
    {"get_accumulate no_op", 1, pre_shared, o_get_accumulate_no_op, w_flag_shared, after_unlock},
    {"get_accumulate no_op, own memory", 1, pre_shared_own, o_own_no_op, w_flag_there,
     after_unlock_own},
    {"fetch_and_op, own memory", 1, pre_shared_own, o_own_fetch_and_op, w_flag_there,
     after_unlock_own},
    {"rget_accumulate", 1, pre_shared, o_rget_accumulate, w_flag_shared, after_unlock},
    {"fetch_and_op, by unlock", 1, pre_shared, o_arrives_by_unlock, w_flag_and_tell, 0},
    {"fetch_and_op, by unlock_all", 1, pre_lock_all, o_arrives_by_unlock_all, w_flag_and_tell, 0},
    {"file_open and file_close", 1, 0, file, file, 0},
    {"comm_agree", 1, 0, agree, agree, 0},
    {"comm_iagree and wait", 1, 0, iagree, iagree, 0},
    {"comm_shrink", 1, 0, shrink, shrink, 0},
    {"win_sync", 1, pre_shared_own, o_win_sync, w_flag_there, after_unlock_own},

    {"get and flush", 0, 0, n_get, w_nothing, 0},
    {"put and flush", 0, 0, n_put, w_nothing, 0},
    {"accumulate and flush", 0, 0, n_accumulate, w_nothing, 0},
    {"rget and wait", 0, 0, n_rget, w_nothing, 0},
    {"rput and wait", EITHER, 0, n_rput, w_nothing, 0},
    {"raccumulate and wait", EITHER, 0, n_raccumulate, w_nothing, 0},
    {"flush", 0, 0, n_flush, w_nothing, 0},
    {"flush_all", 0, 0, n_flush_all, w_nothing, 0},
    {"flush_local", 0, 0, n_flush_local, w_nothing, 0},
    {"flush_local_all", 0, 0, n_flush_local_all, w_nothing, 0},
    {"unlock", 0, pre_shared_get, n_unlock, w_nothing, 0},
    {"unlock_all", 0, pre_lock_all_get, n_unlock_all, w_nothing, 0},
    {"win_test, false", 0, pre_post, n_win_test_false, w_start_when_told, after_win_test},
    {"ibarrier, started", 0, 0, n_ibarrier, w_ibarrier, after_wait},
    {"start", 0, pre_receive, n_start, w_nothing, 0},
    {"attributes", 0, 0, n_attributes, w_nothing, 0},
    {"test, false", 0, post, n_test_false, w_nothing, 0},
    {"testany, false", 0, post, n_testany_false, w_nothing, 0},
    {"testall, false", 0, post, n_testall_false, w_nothing, 0},
    {"testsome, none", 0, post, n_testsome_false, w_nothing, 0},
    {"request_get_status, false", 0, post, n_status_false, w_nothing, 0},
    {"wait, null", 0, 0, n_wait_null, w_nothing, 0},
    {"test, null", 0, 0, n_test_null, w_nothing, 0},
    {"waitall, nulls", 0, 0, n_waitall_null, w_nothing, 0},
    {"waitall, none", 0, 0, n_waitall_none, w_nothing, 0},
    {"testall, nulls", 0, 0, n_testall_null, w_nothing, 0},
    {"testall, none", 0, 0, n_testall_none, w_nothing, 0},
    {"waitany, nulls", 0, 0, n_waitany_null, w_nothing, 0},
    {"testany, nulls", 0, 0, n_testany_null, w_nothing, 0},
    {"testany, none", 0, 0, n_testany_none, w_nothing, 0},
    {"waitsome, nulls", 0, 0, n_waitsome_null, w_nothing, 0},
    {"testsome, nulls", 0, 0, n_testsome_null, w_nothing, 0},
    {"request_get_status, null", 0, 0, n_status_null, w_nothing, 0},
    {"waits and tests, inactive", 0, pre_inactive, n_wait_inactive, w_nothing, after_free},
    {"nobody at the other end", 0, 0, n_nobody, w_nothing, 0},
    {"waitany, a get among receives", 0, post, n_waitany_get, w_nothing, 0},
    {"iprobe, false", 0, 0, n_iprobe_false, w_nothing, 0},
    {"improbe, false", 0, 0, n_improbe_false, w_nothing, 0},
    {"irecv", 0, 0, n_irecv, w_nothing, 0},
    {"isend", 0, 0, n_isend, w_nothing, 0},
    {"datatypes", 0, 0, n_types, w_nothing, 0},
    {"groups", 0, 0, n_groups, w_nothing, 0},
    {"queries", 0, 0, n_queries, w_nothing, 0},
    {"pack", 0, 0, n_pack, w_nothing, 0},
    {"memory and info", 0, 0, n_memory, w_nothing, 0},
};

/* Messages that a row left open on purpose. */
static void tidy(const struct Row* row) {
  const int receives = row->acquire == 0 &&
                       (row->before == post || row->origin == n_irecv || row->origin == n_start);
  if (receives) {
    if (my_rank == 1)
      w_send();
    else
      MPI_Wait(&early, MPI_STATUS_IGNORE);
  }
  if (row->origin == n_start && my_rank == 0) MPI_Request_free(&early);
  if (row->origin == n_isend) {
    if (my_rank == 1)
      w_recv();
    else
      MPI_Wait(&early, MPI_STATUS_IGNORE);
  }
}

static void play(const struct Row* row, int expect_kept) {
  const long old_value = serial * 2;
  const long new_value = serial * 2 + 1;
  if (my_rank == 1) {
    MPI_Win_sync(data);
    data_memory[0] = old_value;
    MPI_Win_sync(data);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    if (row->before) row->before();
    long got = read_data(0);
    if (row->origin == n_get || row->origin == n_rget) (void)read_data(5);
    expect(got == old_value, "%s: got %ld before the write of %ld over %ld", row->name, got,
           new_value, old_value);
    reach(0, (int)serial);
    await(1, (int)serial);
    row->origin();
    got = read_data(0);
    if (row->acquire == 1)
      expect(got == new_value, "%s is an acquire, but %ld was got, not %ld", row->name, got,
             new_value);
    else if (row->acquire == 0 && expect_kept)
      expect(got == old_value, "%s is not an acquire, but the cached copy was not used", row->name);
    if (row->after) row->after();
    reach(2, (int)serial);
  } else if (my_rank == 1) {
    await_in_mpi(0, (int)serial);
    data_memory[0] = new_value;
    MPI_Win_sync(data);
    reach(1, (int)serial);
    if (row->writer)
      row->writer();
    else
      MPI_Sendrecv(&token, 1, MPI_INT, 0, 5, &tokens[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &status);
  }
  if (my_rank == 1) await_in_mpi(2, (int)serial);
  if (my_rank < 2) tidy(row);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int expect_kept = argc > 1 && strcmp(argv[1], "--expect-kept") == 0;
  if (ranks != 2) {
    if (my_rank == 0) printf("SKIP: needs 2 ranks\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &data_memory,
                   &data);
  MPI_Win_allocate(8 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &other_memory,
                   &other);
  memset(data_memory, 0, 8 * sizeof(long));
  memset(other_memory, 0, 8 * sizeof(long));
  const int dims = 2;
  const int periods = 1;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &grid);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, data);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    serial = (long)i + 1;
    play(&rows[i], expect_kept);
  }
  MPI_Win_unlock_all(data);
  if (survivors != MPI_COMM_NULL) MPI_Comm_free(&survivors);
  MPI_Comm_free(&grid);
  MPI_Win_free(&other);
  MPI_Win_free(&data);
  return finish();
}
