/* What the MPI library stores into a window for the calls of its owner, by each call that fills a
 * buffer, is seen by those who read the window after the next barrier. The owners themselves store
 * nothing, so that with HOB_CACHE_STORES=none only the buffers that they give to the library can
 * tell. What nobody filled is kept: HOB_POLL_HITS and HOB_POLL_MS so that nothing is fetched again,
 * and then counters are looked at. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { CELLS = 64, CELL = 4, WORDS = CELLS * CELL, LONG = 1 << 17, TAG = 5 };

static MPI_Win win;
static int* memory;        /* of every rank but 0 */
static int wanted[WORDS];  /* of every rank but 0, as rank 0 knows it */
static int scratch[WORDS]; /* beside the window */
static int wanted_long;    /* of the LONG words behind the cells */
static int used_cells;
static int values = 1000;

/* The cell that the next call fills, and the value that comes there: alike on all ranks. */
static int* cell;
static int value;

static void next(void) {
  const int at = used_cells++ % CELLS * CELL;
  value = ++values;
  cell = my_rank == 0 ? scratch : memory + at;
  wanted[at] = value;
}

static void check_word(const char* what, int rank, int word, int expected) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, rank, word, 1, MPI_INT, win);
  MPI_Win_flush(rank, win);
  expect(got == expected, "%s: word %d of rank %d: %d, not %d", what, word, rank, got, expected);
}

static void check(const char* what) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int rank = 1; my_rank == 0 && rank < ranks; rank++) {
    for (int word = 0; word < WORDS; word += CELL) check_word(what, rank, word, wanted[word]);
    check_word(what, rank, WORDS, wanted_long);
    check_word(what, rank, WORDS + LONG - 1, wanted_long);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter(name, &count);
  return count;
}

/* Rank 0 reads everything again, and nothing of it has changed. */
static void keeps(const char* what) {
  check(what);
  check(what);
  const unsigned long long before = counted("native_gets");
  check(what);
  const unsigned long long given = counted("native_gets") - before;
  const char* hits = getenv("HOB_POLL_HITS");
  if (HOB_Counter && hits && atoi(hits) >= 100000 && !getenv("HOB_CACHE_SIZE"))
    expect(given == 0, "%s: %llu gets given to the library although nobody wrote", what, given);
}

/* A call of the owners alone: rank 0 makes none from which it could learn, but the barriers. */
#define FILLED(name, ...) \
  do {                    \
    next();               \
    if (my_rank != 0) {   \
      __VA_ARGS__;        \
    }                     \
    check(name);          \
  } while (0)

static MPI_Comm owners; /* all but rank 0 */
static int owner, owners_count;

static void send_to_self(int* sent, void* buffer, int count, MPI_Datatype type) {
  int words = 0;
  MPI_Type_size(type, &words);
  MPI_Sendrecv(sent, count * words / (int)sizeof(int), MPI_INT, 0, TAG, buffer, count, type, 0, TAG,
               MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void messages(void) {
  MPI_Comm self = MPI_COMM_SELF;
  MPI_Request requests[2];
  MPI_Message message;
  FILLED("Sendrecv", send_to_self(&value, cell, 1, MPI_INT));
  FILLED("Recv", MPI_Isend(&value, 1, MPI_INT, 0, TAG, self, requests);
         MPI_Recv(cell, 1, MPI_INT, 0, TAG, self, MPI_STATUS_IGNORE);
         MPI_Wait(requests, MPI_STATUS_IGNORE));
  FILLED("Irecv", MPI_Irecv(cell, 1, MPI_INT, 0, TAG, self, requests);
         MPI_Isend(&value, 1, MPI_INT, 0, TAG, self, requests + 1);
         MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  FILLED("Mrecv", MPI_Isend(&value, 1, MPI_INT, 0, TAG, self, requests);
         MPI_Mprobe(0, TAG, self, &message, MPI_STATUS_IGNORE);
         MPI_Mrecv(cell, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
         MPI_Wait(requests, MPI_STATUS_IGNORE));
  FILLED("Imrecv", MPI_Isend(&value, 1, MPI_INT, 0, TAG, self, requests);
         MPI_Mprobe(0, TAG, self, &message, MPI_STATUS_IGNORE);
         MPI_Imrecv(cell, 1, MPI_INT, &message, requests + 1);
         MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  FILLED("Sendrecv_replace", const int to = (owner + 1) % owners_count,
         from = (owner + owners_count - 1) % owners_count;
         int* const filled = cell; send_to_self(&value, filled, 1, MPI_INT);
         MPI_Sendrecv_replace(filled, 1, MPI_INT, to, TAG, from, TAG, owners, MPI_STATUS_IGNORE));

  /* Received in a later step than the receive was started in. */
  next();
  const int late = (used_cells - 1) % CELLS * CELL;
  wanted[late] = 0;
  if (my_rank != 0) MPI_Irecv(cell, 1, MPI_INT, 0, TAG, self, requests);
  check("a receive that is under way");
  check("a receive that is still under way");
  if (my_rank != 0) {
    MPI_Isend(&value, 1, MPI_INT, 0, TAG, self, requests + 1);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  wanted[late] = value;
  check("a late receive");
}

/* From a neighbour, 512 KiB, which an adapter stores by itself. */
static void long_messages(void) {
  const int to = (owner + 1) % owners_count, from = (owner + owners_count - 1) % owners_count;
  int* const sent = malloc(LONG * sizeof(int));
  for (int i = 0; i < 3; i++) {
    wanted_long = ++values;
    for (int word = 0; word < LONG; word++) sent[word] = wanted_long;
    if (my_rank != 0)
      MPI_Sendrecv(sent, LONG, MPI_INT, to, TAG, memory + WORDS, LONG, MPI_INT, from, TAG, owners,
                   MPI_STATUS_IGNORE);
    check("a long message");
  }
  free(sent);
}

static void types(void) {
  MPI_Datatype apart, before, absolute;
  MPI_Aint address;
  const int displacement = CELL, one = 1;
  MPI_Type_vector(2, 1, 2 * CELL, MPI_INT, &apart);
  MPI_Type_commit(&apart);
  MPI_Type_indexed(1, &one, &displacement, MPI_INT, &before);
  MPI_Type_commit(&before);
  next();
  int both[2] = {value, 0};
  int* const start = cell;
  next();
  wanted[(used_cells - 1) % CELLS * CELL] = 0; /* between the two */
  next();
  both[1] = value;
  if (my_rank != 0) send_to_self(both, start, 1, apart);
  check("a vector");
  FILLED("a displacement", send_to_self(&value, cell - CELL, 1, before));
  next();
  MPI_Get_address(cell, &address);
  MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  if (my_rank != 0) send_to_self(&value, MPI_BOTTOM, 1, absolute);
  check("an absolute address");
  MPI_Type_free(&apart);
  MPI_Type_free(&before);
  MPI_Type_free(&absolute);
}

/* Each of the owners fills its cell; where several words come, the first is looked at. */
static void collectives(void) {
  enum { MOST = 16 };
  const MPI_Comm all = owners;
  int many[MOST], counts[MOST], places[MOST], bytes[MOST];
  MPI_Datatype kinds[MOST];
  MPI_Request request;
  for (int i = 0; i < owners_count; i++) {
    counts[i] = 1;
    places[i] = i;
    bytes[i] = i * (int)sizeof(int);
    kinds[i] = MPI_INT;
  }
#define MANY \
  for (int i = 0; i < owners_count; i++) many[i] = value
  FILLED("Bcast", many[0] = value; int* const buffer = owner == 0 ? many : cell;
         MPI_Bcast(buffer, 1, MPI_INT, 0, all);
         if (owner == 0) send_to_self(&value, cell, 1, MPI_INT));
  FILLED("Ibcast", many[0] = value; int* const buffer = owner == 0 ? many : cell;
         MPI_Ibcast(buffer, 1, MPI_INT, 0, all, &request); MPI_Wait(&request, MPI_STATUS_IGNORE);
         if (owner == 0) send_to_self(&value, cell, 1, MPI_INT));
  FILLED("Allreduce", MPI_Allreduce(&value, cell, 1, MPI_INT, MPI_MAX, all));
  FILLED("Iallreduce", MPI_Iallreduce(&value, cell, 1, MPI_INT, MPI_MAX, all, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE));
  FILLED("Scan", MPI_Scan(&value, cell, 1, MPI_INT, MPI_MAX, all));
  FILLED("Exscan", MPI_Exscan(&value, cell, 1, MPI_INT, MPI_MAX, all);
         if (owner == 0) send_to_self(&value, cell, 1, MPI_INT));
  FILLED("Reduce", int unused; for (int root = 0; root < owners_count; root++)
             MPI_Reduce(&value, owner == root ? cell : &unused, 1, MPI_INT, MPI_MAX, root, all));
  FILLED("Scatter", MANY; MPI_Scatter(many, 1, MPI_INT, cell, 1, MPI_INT, 0, all));
  FILLED("Scatterv", MANY; MPI_Scatterv(many, counts, places, MPI_INT, cell, 1, MPI_INT, 0, all));
  FILLED("Reduce_scatter", MANY; MPI_Reduce_scatter(many, cell, counts, MPI_INT, MPI_MAX, all));
  FILLED("Reduce_scatter_block", MANY;
         MPI_Reduce_scatter_block(many, cell, 1, MPI_INT, MPI_MAX, all));
  if (owners_count <= CELL) {
    FILLED("Allgather", MPI_Allgather(&value, 1, MPI_INT, cell, 1, MPI_INT, all));
    FILLED("Allgatherv", MPI_Allgatherv(&value, 1, MPI_INT, cell, counts, places, MPI_INT, all));
    FILLED("Alltoall", MANY; MPI_Alltoall(many, 1, MPI_INT, cell, 1, MPI_INT, all));
    FILLED("Alltoallv", MANY;
           MPI_Alltoallv(many, counts, places, MPI_INT, cell, counts, places, MPI_INT, all));
    FILLED("Alltoallw", MANY;
           MPI_Alltoallw(many, counts, bytes, kinds, cell, counts, bytes, kinds, all));
    FILLED("Ialltoallv", MANY; MPI_Ialltoallv(many, counts, places, MPI_INT, cell, counts, places,
                                              MPI_INT, all, &request);
           MPI_Wait(&request, MPI_STATUS_IGNORE));
    FILLED("Gather", for (int root = 0; root < owners_count; root++) MPI_Gather(
                         &value, 1, MPI_INT, owner == root ? cell : NULL, 1, MPI_INT, root, all));
    FILLED("Gatherv", for (int root = 0; root < owners_count; root++)
                          MPI_Gatherv(&value, 1, MPI_INT, owner == root ? cell : NULL, counts,
                                      places, MPI_INT, root, all));
  }
  if (my_rank != 0) {
    const int periodic = 1;
    MPI_Comm ring;
    MPI_Cart_create(all, 1, &owners_count, &periodic, 0, &ring);
    next();
    MPI_Neighbor_allgather(&value, 1, MPI_INT, cell, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
  } else {
    next();
  }
  check("Neighbor_allgather");
#undef MANY
}

/* What these fill stays written for good, so they come last. */
static void persistent(void) {
  MPI_Request requests[2];
  next();
  if (my_rank != 0) MPI_Recv_init(cell, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, requests);
  for (int i = 0; i < 3; i++) {
    wanted[(used_cells - 1) % CELLS * CELL] = value = ++values;
    if (my_rank != 0) {
      MPI_Start(requests);
      MPI_Isend(&value, 1, MPI_INT, 0, TAG, MPI_COMM_SELF, requests + 1);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    check("Recv_init");
  }
  if (my_rank != 0) MPI_Request_free(requests);
}

/* The owners get into their windows, and see what they got there in the step after, too. */
static void one_sided(void) {
  MPI_Win other;
  int* own;
  if (my_rank == 0) {
    for (int i = 0; i < 2; i++) FILLED("a result", (void)0);
    return;
  }
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, owners, &own, &other);
  MPI_Win_lock_all(0, other);
  const int neighbour = (owner + 1) % owners_count;
  for (int i = 0; i < 2; i++) {
    next();
    const int nothing = 0;
    MPI_Accumulate(&value, 1, MPI_INT, owner, 0, 1, MPI_INT, MPI_REPLACE, other);
    MPI_Win_flush(owner, other);
    MPI_Barrier(owners);
    if (i == 0)
      MPI_Get(cell, 1, MPI_INT, neighbour, 0, 1, MPI_INT, other);
    else
      MPI_Fetch_and_op(&nothing, cell, MPI_INT, neighbour, 0, MPI_NO_OP, other);
    MPI_Win_flush(neighbour, other);
    MPI_Barrier(owners);
    check("a result");
  }
  MPI_Win_unlock_all(other);
  MPI_Win_free(&other);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const size_t bytes = my_rank == 0 ? 0 : (WORDS + LONG) * sizeof(int);
  MPI_Win_allocate((MPI_Aint)bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, bytes);
  MPI_Comm_split(MPI_COMM_WORLD, my_rank != 0, 0, &owners);
  MPI_Comm_rank(owners, &owner);
  MPI_Comm_size(owners, &owners_count);
  MPI_Win_lock_all(0, win);
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  keeps("at first");
  messages();
  keeps("after messages");
  if (argc == 1) long_messages(); /* any argument: not these, which some libraries do not survive */
  keeps("after long messages");
  types();
  keeps("after types");
  collectives();
  keeps("after collectives");
  persistent();
  one_sided();
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  MPI_Comm_free(&owners);
  return finish();
}
