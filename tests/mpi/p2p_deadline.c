/* A receive is posted; then its process sits in a blocking MPI call; only then does the peer send
 * to that receive, synchronously, before it does its part of the call. MPI promises that the send
 * completes. One case for each kind of blocking call, each with a deadline. */
#include "p2p_check.h"

enum { kTag = 7, kGo = 11, kAid = 12, kBig = 200000 };

static int posted;          /* what the posted receive takes */
static MPI_Request request; /* the posted receive */
static MPI_Comm comm;       /* a communicator of the case's own, ranks 0 and 1 */
static char* big_out;
static char* big_in;
static char file_name[64];

static void pause_ms(int ms) { usleep((useconds_t)ms * 1000); }

/* Each case: what rank 0 does while the receive is pending, and what rank 1 does after its Ssend.
 */
struct deadline_case {
  const char* name;
  void (*blocked)(void);
  void (*peer)(void);
  void (*before)(void); /* both ranks, before the receive is posted; may be null */
  void (*after)(void);  /* both ranks, at the end; may be null */
};

static int a, b, recv2[2], send2[2];
static MPI_Request other;
static MPI_Comm made;
static MPI_Info no_hints;
static MPI_Win win;
static MPI_File file;
static int window_memory[16];

static void barrier(void) { MPI_Barrier(comm); }
static void bcast_0(void) { MPI_Bcast(&a, 1, MPI_INT, 1, comm); }
static void reduce(void) { MPI_Reduce(&a, &b, 1, MPI_INT, MPI_SUM, 0, comm); }
static void allreduce(void) { MPI_Allreduce(&a, &b, 1, MPI_INT, MPI_SUM, comm); }
static void gather(void) { MPI_Gather(&a, 1, MPI_INT, recv2, 1, MPI_INT, 0, comm); }
static void gatherv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Gatherv(&a, 1, MPI_INT, recv2, counts, displs, MPI_INT, 0, comm);
}
static void scatter(void) { MPI_Scatter(send2, 1, MPI_INT, &b, 1, MPI_INT, 1, comm); }
static void scatterv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Scatterv(send2, counts, displs, MPI_INT, &b, 1, MPI_INT, 1, comm);
}
static void allgather(void) { MPI_Allgather(&a, 1, MPI_INT, recv2, 1, MPI_INT, comm); }
static void allgatherv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Allgatherv(&a, 1, MPI_INT, recv2, counts, displs, MPI_INT, comm);
}
static void alltoall(void) { MPI_Alltoall(send2, 1, MPI_INT, recv2, 1, MPI_INT, comm); }
static void alltoallv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Alltoallv(send2, counts, displs, MPI_INT, recv2, counts, displs, MPI_INT, comm);
}
static void alltoallw(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 4};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Alltoallw(send2, counts, displs, types, recv2, counts, displs, types, comm);
}
static void reduce_scatter(void) {
  int counts[2] = {1, 1};
  MPI_Reduce_scatter(send2, &b, counts, MPI_INT, MPI_SUM, comm);
}
static void reduce_scatter_block(void) {
  MPI_Reduce_scatter_block(send2, &b, 1, MPI_INT, MPI_SUM, comm);
}
static MPI_Comm swapped; /* rank 0 of the case is last here, so that it waits in a scan */
static void swap_before(void) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_split(comm, 0, 1 - rank, &swapped);
}
static void swap_after(void) { MPI_Comm_free(&swapped); }
static void scan(void) { MPI_Scan(&a, &b, 1, MPI_INT, MPI_SUM, swapped); }
static void exscan(void) { MPI_Exscan(&a, &b, 1, MPI_INT, MPI_SUM, swapped); }
static MPI_Comm ring;
static void ring_before(void) {
  int dims[1] = {2}, periods[1] = {1};
  MPI_Cart_create(comm, 1, dims, periods, 0, &ring);
}
static void ring_after(void) { MPI_Comm_free(&ring); }
static void neighbor_allgather(void) {
  MPI_Neighbor_allgather(&a, 1, MPI_INT, recv2, 1, MPI_INT, ring);
}
static void neighbor_alltoall(void) {
  MPI_Neighbor_alltoall(send2, 1, MPI_INT, recv2, 1, MPI_INT, ring);
}
static void neighbor_allgatherv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Neighbor_allgatherv(&a, 1, MPI_INT, recv2, counts, displs, MPI_INT, ring);
}
static void neighbor_alltoallv(void) {
  int counts[2] = {1, 1}, displs[2] = {0, 1};
  MPI_Neighbor_alltoallv(send2, counts, displs, MPI_INT, recv2, counts, displs, MPI_INT, ring);
}
static void neighbor_alltoallw(void) {
  int counts[2] = {1, 1};
  MPI_Aint displs[2] = {0, 4};
  MPI_Datatype types[2] = {MPI_INT, MPI_INT};
  MPI_Neighbor_alltoallw(send2, counts, displs, types, recv2, counts, displs, types, ring);
}
#if MPI_VERSION >= 4
static void persistent_barrier(void) {
  MPI_Barrier_init(comm, MPI_INFO_NULL, &other);
  MPI_Start(&other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Request_free(&other);
}
#endif
static void ibarrier_wait(void) {
  MPI_Ibarrier(comm, &other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
}
static void large_allreduce(void) { MPI_Allreduce(big_out, big_in, kBig, MPI_CHAR, MPI_MAX, comm); }

static void comm_dup(void) { MPI_Comm_dup(comm, &made); }
static void comm_split(void) { MPI_Comm_split(comm, 0, 0, &made); }
static void comm_split_type(void) {
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
}
static void comm_create(void) {
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  MPI_Comm_create(comm, group, &made);
  MPI_Group_free(&group);
}
static void comm_create_group(void) {
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  MPI_Comm_create_group(comm, group, 5, &made);
  MPI_Group_free(&group);
}
static void comm_dup_with_info(void) { MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made); }
static void comm_set_info(void) { MPI_Comm_set_info(comm, no_hints); }
static void cart_sub(void) {
  int keep[1] = {1};
  MPI_Cart_sub(ring, keep, &made);
}
static void cart_sub_after(void) {
  MPI_Comm_free(&made);
  ring_after();
}
static void dist_graph_general(void) {
  int rank, peer, degree = 1;
  MPI_Comm_rank(comm, &rank);
  peer = 1 - rank;
  MPI_Dist_graph_create(comm, 1, &rank, &degree, &peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
}
#if MPI_VERSION >= 4
static void comm_create_from_group(void) {
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  MPI_Comm_create_from_group(group, "hob", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
}
static void intercomm_create_from_groups(void) {
  MPI_Group group, mine, theirs;
  int rank, peer;
  MPI_Comm_group(comm, &group);
  MPI_Comm_rank(comm, &rank);
  peer = 1 - rank;
  MPI_Group_incl(group, 1, &rank, &mine);
  MPI_Group_incl(group, 1, &peer, &theirs);
  MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "hob", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                   &made);
  MPI_Group_free(&group);
  MPI_Group_free(&mine);
  MPI_Group_free(&theirs);
}
#endif
static const char* program;
static void comm_spawn(void) {
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 1, comm, &made, MPI_ERRCODES_IGNORE);
}
static void spawn_after(void) { MPI_Comm_disconnect(&made); }
static void comm_idup(void) {
  MPI_Comm_idup(comm, &made, &other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
}
static void cart_create(void) {
  int dims[1] = {2}, periods[1] = {0};
  MPI_Cart_create(comm, 1, dims, periods, 1, &made);
}
static void graph_create(void) {
  int index[2] = {1, 2}, edges[2] = {1, 0};
  MPI_Graph_create(comm, 2, index, edges, 0, &made);
}
static void dist_graph(void) {
  int rank, peer;
  MPI_Comm_rank(comm, &rank);
  peer = 1 - rank;
  MPI_Dist_graph_create_adjacent(comm, 1, &peer, MPI_UNWEIGHTED, 1, &peer, MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &made);
}
/* The peer communicator is another one: a leader's message with that tag could match an ANY_TAG
 * receive. */
static void intercomm_create(void) {
  MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - world_rank, 44, &made);
}
static void free_made(void) { MPI_Comm_free(&made); }
static MPI_Comm inter;
static void inter_before(void) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, 1 - rank, 45, &inter);
}
static void intercomm_merge(void) { MPI_Intercomm_merge(inter, 0, &made); }
static void inter_after(void) {
  MPI_Comm_free(&made);
  MPI_Comm_free(&inter);
}
static void inter_barrier(void) { MPI_Barrier(inter); }
static void inter_free(void) { MPI_Comm_free(&inter); }
static void disconnect_before(void) { MPI_Comm_dup(comm, &made); }
static void comm_disconnect(void) { MPI_Comm_disconnect(&made); }
static void comm_free(void) { MPI_Comm_free(&made); }

static void recv(void) { MPI_Recv(&a, 1, MPI_INT, 1, kAid, comm, MPI_STATUS_IGNORE); }
static void recv_world(void) {
  MPI_Recv(&a, 1, MPI_INT, 1, kAid, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void send_aid(void) { MPI_Send(&b, 1, MPI_INT, 0, kAid, comm); }
static void send_aid_world(void) { MPI_Send(&b, 1, MPI_INT, 0, kAid, MPI_COMM_WORLD); }
static void recv_any(void) {
  MPI_Recv(&a, 1, MPI_INT, MPI_ANY_SOURCE, kAid, comm, MPI_STATUS_IGNORE);
}
static void send_big(void) { MPI_Send(big_out, kBig * 10, MPI_CHAR, 1, kAid, comm); }
static void recv_big(void) {
  MPI_Recv(big_in, kBig * 10, MPI_CHAR, 0, kAid, comm, MPI_STATUS_IGNORE);
}
static void ssend(void) { MPI_Ssend(&a, 1, MPI_INT, 1, kAid, comm); }
static void ssend_world(void) { MPI_Ssend(&a, 1, MPI_INT, 1, kAid, MPI_COMM_WORLD); }
static void recv_from_0(void) { MPI_Recv(&a, 1, MPI_INT, 0, kAid, comm, MPI_STATUS_IGNORE); }
static void recv_from_0_world(void) {
  MPI_Recv(&a, 1, MPI_INT, 0, kAid, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void issend_wait(void) {
  MPI_Issend(&a, 1, MPI_INT, 1, kAid, comm, &other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
}
static void irecv_waitall(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Irecv(&a, 1, MPI_INT, 1, kAid, comm, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
static void irecv_waitany(void) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int index;
  MPI_Irecv(&a, 1, MPI_INT, 1, kAid, comm, &requests[1]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
}
static void irecv_waitsome(void) {
  MPI_Request requests[1];
  int index[1], count;
  MPI_Irecv(&a, 1, MPI_INT, 1, kAid, comm, &requests[0]);
  MPI_Waitsome(1, requests, &count, index, MPI_STATUSES_IGNORE);
}
static void irecv_testloop(void) {
  int flag = 0;
  MPI_Irecv(&a, 1, MPI_INT, 1, kAid, comm, &other);
  while (!flag) MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
}
static void issend_testloop(void) {
  int flag = 0;
  MPI_Issend(&a, 1, MPI_INT, 1, kAid, comm, &other);
  while (!flag) MPI_Test(&other, &flag, MPI_STATUS_IGNORE);
}
static void get_status_loop(void) {
  int flag = 0;
  MPI_Irecv(&a, 1, MPI_INT, 1, kAid, comm, &other);
  while (!flag) MPI_Request_get_status(other, &flag, MPI_STATUS_IGNORE);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
}
static void iprobe_loop(void) {
  int flag = 0;
  while (!flag) MPI_Iprobe(1, kAid, comm, &flag, MPI_STATUS_IGNORE);
  recv();
}
static void iprobe_loop_world(void) {
  int flag = 0;
  while (!flag) MPI_Iprobe(1, kAid, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  recv_world();
}
static void probe(void) {
  MPI_Probe(1, kAid, comm, MPI_STATUS_IGNORE);
  recv();
}
static void mprobe(void) {
  MPI_Message message;
  MPI_Mprobe(1, kAid, comm, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(&a, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}
static void sendrecv(void) {
  MPI_Sendrecv(&a, 1, MPI_INT, 1, kAid, &b, 1, MPI_INT, 1, kAid, comm, MPI_STATUS_IGNORE);
}
static void sendrecv_peer(void) {
  MPI_Sendrecv(&a, 1, MPI_INT, 0, kAid, &b, 1, MPI_INT, 0, kAid, comm, MPI_STATUS_IGNORE);
}
static void sendrecv_replace(void) {
  MPI_Sendrecv_replace(&a, 1, MPI_INT, 1, kAid, 1, kAid, comm, MPI_STATUS_IGNORE);
}
static void sendrecv_replace_peer(void) {
  MPI_Sendrecv_replace(&a, 1, MPI_INT, 0, kAid, 0, kAid, comm, MPI_STATUS_IGNORE);
}
static void buffer_detach(void) {
  int size = 2 * kBig + MPI_BSEND_OVERHEAD;
  char* space = malloc((size_t)size);
  MPI_Buffer_attach(space, size);
  MPI_Bsend(big_out, 2 * kBig, MPI_CHAR, 1, kAid, comm);
  MPI_Buffer_detach(&space, &size);
  free(space);
}
static void persistent_wait(void) {
  MPI_Recv_init(&a, 1, MPI_INT, 1, kAid, comm, &other);
  MPI_Start(&other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Request_free(&other);
}

static void win_create(void) {
  MPI_Win_create(window_memory, sizeof window_memory, 4, MPI_INFO_NULL, comm, &win);
}
static void win_free(void) { MPI_Win_free(&win); }
static void win_allocate(void) {
  void* base;
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, comm, &base, &win);
}
static void win_allocate_shared(void) {
  void* base;
  MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, comm, &base, &win);
}
static void win_create_dynamic(void) { MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win); }
static void win_fence(void) { MPI_Win_fence(0, win); }
static void fence_before(void) {
  win_create();
  win_fence();
}
static void fence_after(void) {
  win_fence();
  win_free();
}
static void pscw(int origin) {
  MPI_Group all, peer;
  int other_rank = 1;
  if (!origin) other_rank = 0;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &other_rank, &peer);
  if (origin) {
    MPI_Win_start(peer, 0, win);
    MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
  } else {
    MPI_Win_post(peer, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&peer);
}
static void win_start(void) { pscw(1); }
static void win_start_peer(void) { pscw(0); }
static void exposure(int target, int poll) {
  MPI_Group all, peer;
  int other_rank = target ? 1 : 0;
  MPI_Comm_group(comm, &all);
  MPI_Group_incl(all, 1, &other_rank, &peer);
  if (target) {
    MPI_Win_post(peer, 0, win);
    if (poll) {
      int flag = 0;
      while (!flag) MPI_Win_test(win, &flag);
    } else {
      MPI_Win_wait(win);
    }
  } else {
    MPI_Win_start(peer, 0, win);
    MPI_Put(&a, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&peer);
}
static void win_wait(void) { exposure(1, 0); }
static void win_test(void) { exposure(1, 1); }
static void win_wait_peer(void) { exposure(0, 0); }
/* Rank 1 holds the lock while it sends. */
static void lock_before(void) {
  int rank;
  win_create();
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Barrier(comm);
}
static void win_lock(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_unlock(1, win);
}
static void win_lock_peer(void) { MPI_Win_unlock(1, win); }
static void win_lock_all(void) {
  MPI_Win_lock_all(0, win);
  MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  MPI_Win_unlock_all(win);
}
static void rput_wait(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Rput(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &other);
  MPI_Wait(&other, MPI_STATUS_IGNORE);
  MPI_Win_unlock(1, win);
}

static void flush_all(void) {
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
  MPI_Put(&a, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_flush_local(1, win);
  MPI_Win_flush_local_all(win);
  MPI_Win_flush_all(win);
  MPI_Win_unlock(1, win);
}
static void win_set_info(void) { MPI_Win_set_info(win, no_hints); }

static void file_open(void) {
  MPI_File_open(comm, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                MPI_INFO_NULL, &file);
}
static void file_close(void) { MPI_File_close(&file); }
static MPI_Offset file_place(void) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return (MPI_Offset)rank * kBig;
}
/* Both ranks; the call of rank 0 may wait for that of rank 1, or not: the library's choice. */
#define FILE_CASE(name, call) \
  static void file_##name(void) { call; }
#define BIG_OUT big_out, kBig, MPI_CHAR
#define BIG_IN big_in, kBig, MPI_CHAR
FILE_CASE(write, MPI_File_write(file, BIG_OUT, MPI_STATUS_IGNORE))
FILE_CASE(read, MPI_File_read(file, BIG_IN, MPI_STATUS_IGNORE))
FILE_CASE(write_all, MPI_File_write_all(file, BIG_OUT, MPI_STATUS_IGNORE))
FILE_CASE(read_all, MPI_File_read_all(file, BIG_IN, MPI_STATUS_IGNORE))
FILE_CASE(write_at, MPI_File_write_at(file, file_place(), BIG_OUT, MPI_STATUS_IGNORE))
FILE_CASE(read_at, MPI_File_read_at(file, file_place(), BIG_IN, MPI_STATUS_IGNORE))
FILE_CASE(write_at_all, MPI_File_write_at_all(file, file_place(), BIG_OUT, MPI_STATUS_IGNORE))
FILE_CASE(read_at_all, MPI_File_read_at_all(file, 0, big_in, 100, MPI_CHAR, MPI_STATUS_IGNORE))
FILE_CASE(write_shared, MPI_File_write_shared(file, big_out, 100, MPI_CHAR, MPI_STATUS_IGNORE))
FILE_CASE(read_shared, MPI_File_read_shared(file, big_in, 100, MPI_CHAR, MPI_STATUS_IGNORE))
FILE_CASE(write_ordered, MPI_File_write_ordered(file, big_out, 100, MPI_CHAR, MPI_STATUS_IGNORE))
FILE_CASE(read_ordered, MPI_File_read_ordered(file, big_in, 100, MPI_CHAR, MPI_STATUS_IGNORE))
FILE_CASE(split_write_all, MPI_File_write_all_begin(file, BIG_OUT);
          MPI_File_write_all_end(file, big_out, MPI_STATUS_IGNORE))
FILE_CASE(split_read_all, MPI_File_read_all_begin(file, BIG_IN);
          MPI_File_read_all_end(file, big_in, MPI_STATUS_IGNORE))
FILE_CASE(split_write_at_all, MPI_File_write_at_all_begin(file, file_place(), BIG_OUT);
          MPI_File_write_at_all_end(file, big_out, MPI_STATUS_IGNORE))
FILE_CASE(split_read_at_all, MPI_File_read_at_all_begin(file, file_place(), BIG_IN);
          MPI_File_read_at_all_end(file, big_in, MPI_STATUS_IGNORE))
FILE_CASE(split_write_ordered, MPI_File_write_ordered_begin(file, big_out, 100, MPI_CHAR);
          MPI_File_write_ordered_end(file, big_out, MPI_STATUS_IGNORE))
FILE_CASE(split_read_ordered, MPI_File_read_ordered_begin(file, big_in, 100, MPI_CHAR);
          MPI_File_read_ordered_end(file, big_in, MPI_STATUS_IGNORE))
FILE_CASE(seek_shared, MPI_File_seek_shared(file, 8, MPI_SEEK_SET))
FILE_CASE(set_size, MPI_File_set_size(file, 1000))
FILE_CASE(preallocate, MPI_File_preallocate(file, 1000))
FILE_CASE(set_atomicity, MPI_File_set_atomicity(file, 1))
FILE_CASE(set_info, MPI_File_set_info(file, no_hints))
FILE_CASE(sync, MPI_File_sync(file))
FILE_CASE(set_view, MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL))

static const struct deadline_case all_cases[] = {
    {"barrier", barrier, barrier, 0, 0},
    {"bcast", bcast_0, bcast_0, 0, 0},
    {"reduce", reduce, reduce, 0, 0},
    {"allreduce", allreduce, allreduce, 0, 0},
    {"large_allreduce", large_allreduce, large_allreduce, 0, 0},
    {"gather", gather, gather, 0, 0},
    {"gatherv", gatherv, gatherv, 0, 0},
    {"scatter", scatter, scatter, 0, 0},
    {"scatterv", scatterv, scatterv, 0, 0},
    {"allgather", allgather, allgather, 0, 0},
    {"allgatherv", allgatherv, allgatherv, 0, 0},
    {"alltoall", alltoall, alltoall, 0, 0},
    {"alltoallv", alltoallv, alltoallv, 0, 0},
    {"alltoallw", alltoallw, alltoallw, 0, 0},
    {"reduce_scatter", reduce_scatter, reduce_scatter, 0, 0},
    {"reduce_scatter_block", reduce_scatter_block, reduce_scatter_block, 0, 0},
    {"scan", scan, scan, swap_before, swap_after},
    {"exscan", exscan, exscan, swap_before, swap_after},
    {"neighbor_allgather", neighbor_allgather, neighbor_allgather, ring_before, ring_after},
    {"neighbor_alltoall", neighbor_alltoall, neighbor_alltoall, ring_before, ring_after},
    {"neighbor_allgatherv", neighbor_allgatherv, neighbor_allgatherv, ring_before, ring_after},
    {"neighbor_alltoallv", neighbor_alltoallv, neighbor_alltoallv, ring_before, ring_after},
    {"neighbor_alltoallw", neighbor_alltoallw, neighbor_alltoallw, ring_before, ring_after},
#if MPI_VERSION >= 4
    {"persistent_barrier", persistent_barrier, persistent_barrier, 0, 0},
#endif
    {"ibarrier_wait", ibarrier_wait, ibarrier_wait, 0, 0},
    {"comm_dup", comm_dup, comm_dup, 0, free_made},
    {"comm_dup_with_info", comm_dup_with_info, comm_dup_with_info, 0, free_made},
    {"comm_set_info", comm_set_info, comm_set_info, 0, 0},
    {"cart_sub", cart_sub, cart_sub, ring_before, cart_sub_after},
    {"dist_graph_create", dist_graph_general, dist_graph_general, 0, free_made},
#if MPI_VERSION >= 4
    {"comm_create_from_group", comm_create_from_group, comm_create_from_group, 0, free_made},
    {"intercomm_create_from_groups", intercomm_create_from_groups, intercomm_create_from_groups, 0,
     free_made},
#endif
    {"comm_spawn", comm_spawn, comm_spawn, 0, spawn_after},
    {"comm_idup", comm_idup, comm_idup, 0, free_made},
    {"comm_split", comm_split, comm_split, 0, free_made},
    {"comm_split_type", comm_split_type, comm_split_type, 0, free_made},
    {"comm_create", comm_create, comm_create, 0, free_made},
    {"comm_create_group", comm_create_group, comm_create_group, 0, free_made},
    {"cart_create", cart_create, cart_create, 0, free_made},
    {"graph_create", graph_create, graph_create, 0, free_made},
    {"dist_graph_create_adjacent", dist_graph, dist_graph, 0, free_made},
    {"intercomm_create", intercomm_create, intercomm_create, 0, free_made},
    {"intercomm_merge", intercomm_merge, intercomm_merge, inter_before, inter_after},
    {"intercomm_barrier", inter_barrier, inter_barrier, inter_before, inter_free},
    {"comm_free", comm_free, comm_free, disconnect_before, 0},
    {"comm_disconnect", comm_disconnect, comm_disconnect, disconnect_before, 0},
    {"recv", recv, send_aid, 0, 0},
    {"recv_other_communicator", recv_world, send_aid_world, 0, 0},
    {"recv_any_source", recv_any, send_aid, 0, 0},
    {"send_large", send_big, recv_big, 0, 0},
    {"ssend", ssend, recv_from_0, 0, 0},
    {"ssend_other_communicator", ssend_world, recv_from_0_world, 0, 0},
    {"issend_wait", issend_wait, recv_from_0, 0, 0},
    {"waitall", irecv_waitall, send_aid, 0, 0},
    {"waitany", irecv_waitany, send_aid, 0, 0},
    {"waitsome", irecv_waitsome, send_aid, 0, 0},
    {"test_loop", irecv_testloop, send_aid, 0, 0},
    {"test_loop_on_send", issend_testloop, recv_from_0, 0, 0},
    {"get_status_loop", get_status_loop, send_aid, 0, 0},
    {"iprobe_loop", iprobe_loop, send_aid, 0, 0},
    {"iprobe_loop_other_communicator", iprobe_loop_world, send_aid_world, 0, 0},
    {"probe", probe, send_aid, 0, 0},
    {"mprobe", mprobe, send_aid, 0, 0},
    {"sendrecv", sendrecv, sendrecv_peer, 0, 0},
    {"sendrecv_replace", sendrecv_replace, sendrecv_replace_peer, 0, 0},
    {"buffer_detach", buffer_detach, recv_big, 0, 0},
    {"persistent_wait", persistent_wait, send_aid, 0, 0},
    {"win_create", win_create, win_create, 0, win_free},
    {"win_allocate", win_allocate, win_allocate, 0, win_free},
    {"win_allocate_shared", win_allocate_shared, win_allocate_shared, 0, win_free},
    {"win_create_dynamic", win_create_dynamic, win_create_dynamic, 0, win_free},
    {"win_free", win_free, win_free, win_create, 0},
    {"win_fence", win_fence, win_fence, fence_before, fence_after},
    {"win_start_complete", win_start, win_start_peer, win_create, win_free},
    {"win_wait", win_wait, win_wait_peer, win_create, win_free},
    {"win_test_loop", win_test, win_wait_peer, win_create, win_free},
    {"win_lock", win_lock, win_lock_peer, lock_before, win_free},
    {"win_lock_all_flush", win_lock_all, win_lock_peer, lock_before, win_free},
    {"win_flush_all", flush_all, win_lock_peer, lock_before, win_free},
    {"win_set_info", win_set_info, win_set_info, win_create, win_free},
    {"rput_wait", rput_wait, win_lock_peer, lock_before, win_free},
    {"file_open", file_open, file_open, 0, file_close},
    {"file_write", file_write, file_write, file_open, file_close},
    {"file_read", file_read, file_read, file_open, file_close},
    {"file_write_all", file_write_all, file_write_all, file_open, file_close},
    {"file_read_all", file_read_all, file_read_all, file_open, file_close},
    {"file_write_at", file_write_at, file_write_at, file_open, file_close},
    {"file_read_at", file_read_at, file_read_at, file_open, file_close},
    {"file_write_at_all", file_write_at_all, file_write_at_all, file_open, file_close},
    {"file_read_at_all", file_read_at_all, file_read_at_all, file_open, file_close},
    {"file_write_shared", file_write_shared, file_write_shared, file_open, file_close},
    {"file_read_shared", file_read_shared, file_read_shared, file_open, file_close},
    {"file_write_ordered", file_write_ordered, file_write_ordered, file_open, file_close},
    {"file_read_ordered", file_read_ordered, file_read_ordered, file_open, file_close},
    {"file_split_write_all", file_split_write_all, file_split_write_all, file_open, file_close},
    {"file_split_read_all", file_split_read_all, file_split_read_all, file_open, file_close},
    {"file_split_write_at_all", file_split_write_at_all, file_split_write_at_all, file_open,
     file_close},
    {"file_split_read_at_all", file_split_read_at_all, file_split_read_at_all, file_open,
     file_close},
    {"file_split_write_ordered", file_split_write_ordered, file_split_write_ordered, file_open,
     file_close},
    {"file_split_read_ordered", file_split_read_ordered, file_split_read_ordered, file_open,
     file_close},
    {"file_seek_shared", file_seek_shared, file_seek_shared, file_open, file_close},
    {"file_set_size", file_set_size, file_set_size, file_open, file_close},
    {"file_preallocate", file_preallocate, file_preallocate, file_open, file_close},
    {"file_set_atomicity", file_set_atomicity, file_set_atomicity, file_open, file_close},
    {"file_set_info", file_set_info, file_set_info, file_open, file_close},
    {"file_sync", file_sync, file_sync, file_open, file_close},
    {"file_set_view", file_set_view, file_set_view, file_open, file_close},
    {"file_close", file_close, file_close, file_open, 0},
};

static void run(const struct deadline_case* c, int wildcard) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  MPI_Barrier(comm);
  if (c->before) c->before();
  if (rank == 0) {
    posted = -1;
    MPI_Irecv(&posted, 1, MPI_INT, wildcard ? MPI_ANY_SOURCE : 1, wildcard ? MPI_ANY_TAG : kTag,
              comm, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 1, kGo, comm);
    c->blocked();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQ(posted, 1234);
  } else {
    int value = 1234;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, kGo, comm, MPI_STATUS_IGNORE);
    pause_ms(5);
    MPI_Ssend(&value, 1, MPI_INT, 0, kTag, comm);
    c->peer();
  }
  if (c->after) c->after();
}

int main(int argc, char** argv) {
  long mine[2], total[2];
  int ran = 0;
  MPI_Comm parent;
#ifdef MANY_THREADS
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#else
  MPI_Init(&argc, &argv);
#endif
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) { /* of the case comm_spawn */
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  program = argv[0];
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  MPI_Info_create(&no_hints);
  big_out = calloc(10, kBig);
  big_in = calloc(10, kBig);
  signal(SIGALRM, on_deadline);
  snprintf(file_name, sizeof file_name, "/tmp/hob_p2p_deadline.%d", (int)getpid());
  MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank / 2, world_rank, &comm);
  if (world_rank < 2) {
    for (size_t i = 0; i < sizeof all_cases / sizeof all_cases[0]; i++) {
      if (!selected(argc, argv, all_cases[i].name)) continue;
      case_name = all_cases[i].name;
      alarm(kHangSeconds);
      for (int wildcard = 0; wildcard < 2; wildcard++) run(&all_cases[i], wildcard);
      ran++;
    }
  }
  case_name = "end";
  alarm(kHangSeconds);
  mine[0] = failures;
  mine[1] = checks;
  MPI_Allreduce(mine, total, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (world_rank == 0) printf("%d cases, %ld checks, %ld failures\n", ran, total[1], total[0]);
  fflush(stdout);
  MPI_Info_free(&no_hints);
  MPI_Comm_free(&comm);
  free(big_out);
  free(big_in);
  MPI_Finalize();
  return total[0] != 0 || total[1] == 0;
}
