/* What nobody wrote outlives barriers and their like, and what somebody wrote does not, whoever it
 * was and however: rank 0 reads the others' memory again and again, inside one epoch, and between
 * two collective calls one word changes in each of the ways that there are. Where counters are
 * looked at (HOB_CACHE_VALIDATE=on, and HOB_POLL_HITS so that nothing is fetched again), what was
 * kept is not fetched. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { WORDS = 4096, STEP = 509 };

static int counting; /* with Hob, and the kernel tracks stores */
static MPI_Win win;
static int* memory;
static int expected[WORDS]; /* of every rank but 0, as all ranks know it */

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter(name, &count);
  return count;
}

/* Reads some words of every other rank, twice; at most `most` gets are given to the library. */
static void read_all(const char* what, int most) {
  if (my_rank != 0) return;
  const unsigned long long before = counted("native_gets");
  for (int round = 0; round < 2; round++)
    for (int rank = 1; rank < ranks; rank++)
      for (int word = 0; word < WORDS; word += STEP) {
        int got = -1;
        MPI_Get(&got, 1, MPI_INT, rank, word, 1, MPI_INT, win);
        MPI_Win_flush(rank, win);
        const int wanted = expected[word] + (expected[word] >= 0 ? rank * 1000000 : 0);
        expect(got == wanted, "%s: word %d of rank %d: %d, not %d", what, word, rank, got, wanted);
      }
  const unsigned long long given = counted("native_gets") - before;
  expect(!counting || most < 0 || given <= (unsigned long long)most,
         "%s: %llu gets given to the library, at most %d", what, given, most);
}

enum { READ = (WORDS + STEP - 1) / STEP };

/* The one word that changes in this step: the same on every rank but 0. Negative values do not
 * depend on the rank, others are a million apart. */
static int version;
static int next_word(void) { return version++ * STEP % (READ * STEP); }

static void store(int word) {
  expected[word] = 500000 + version;
  if (my_rank != 0) memory[word] = expected[word] + my_rank * 1000000;
}

static void publish(void) { MPI_Win_sync(win); }

static void barrier(MPI_Comm comm) { MPI_Barrier(comm); }

static void nobody_writes(MPI_Comm comm) {
  read_all("first", -1);
  barrier(comm);
  read_all("second", -1);
  for (int i = 0; i < 5; i++) {
    barrier(comm);
    read_all("nobody wrote", 0);
  }
}

/* The target stores, between two barriers in which it tells nothing else. */
static void own_stores(MPI_Comm comm) {
  for (int i = 0; i < 6; i++) {
    barrier(comm);
    read_all("before a store", -1);
    barrier(comm);
    store(next_word());
    if (my_rank != 0) publish();
    barrier(comm);
    read_all("after a store", -1);
  }
}

/* A message is received into the window, and a system call stores there. */
static void other_stores(MPI_Comm comm) {
  int ends[2];
  for (int i = 0; i < 4; i++) {
    barrier(comm);
    read_all("before a receive", -1);
    barrier(comm);
    const int word = next_word();
    expected[word] = -100 - version;
    if (my_rank != 0 && i % 2 == 0)
      MPI_Sendrecv(&expected[word], 1, MPI_INT, my_rank, 7, &memory[word], 1, MPI_INT, my_rank, 7,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (my_rank != 0 && i % 2 == 1 && pipe(ends) == 0) {
      expect(write(ends[1], &expected[word], sizeof(int)) == sizeof(int), "write");
      expect(read(ends[0], &memory[word], sizeof(int)) == sizeof(int), "read");
      close(ends[0]);
      close(ends[1]);
    }
    if (my_rank != 0) publish();
    barrier(comm);
    read_all("after a receive", -1);
  }
}

/* The last rank writes to all others: complete before the barrier, or only before the next one. */
static void remote_writes(MPI_Comm comm) {
  const int writer = ranks - 1;
  for (int i = 0; i < 8; i++) {
    barrier(comm);
    read_all("before a put", -1);
    barrier(comm);
    const int word = next_word();
    const int value = expected[word] = -1000 - version;
    const int late = i % 2;
    if (my_rank == writer)
      for (int rank = 1; rank < ranks; rank++) {
        if (i % 4 < 2)
          MPI_Put(&value, 1, MPI_INT, rank, word, 1, MPI_INT, win);
        else
          MPI_Accumulate(&value, 1, MPI_INT, rank, word, 1, MPI_INT, MPI_REPLACE, win);
        if (!late) MPI_Win_flush(rank, win);
      }
    if (late) {
      barrier(comm);
      if (my_rank == writer) MPI_Win_flush_all(win);
    }
    barrier(comm);
    read_all("after a put", -1);
    /* A target may have stored it after it said what had changed, inside the barrier. */
    barrier(comm);
    read_all("soon after a put", -1);
    barrier(comm);
    barrier(comm);
    read_all("long after a put", 0);
  }
}

/* Rank 0 writes by itself. */
static void own_puts(MPI_Comm comm) {
  for (int i = 0; i < 3; i++) {
    read_all("before an own put", -1);
    barrier(comm);
    const int word = next_word();
    const int value = expected[word] = -2000 - version;
    if (my_rank == 0) {
      for (int rank = 1; rank < ranks; rank++)
        MPI_Put(&value, 1, MPI_INT, rank, word, 1, MPI_INT, win);
      MPI_Win_flush_all(win);
    }
    barrier(comm);
    read_all("after an own put", -1);
  }
}

/* Targets lock their own memory, and neighbours do: no store to it, wherever the locks are kept. */
static void own_epochs(MPI_Comm comm) {
  for (int i = 0; i < 4; i++) {
    barrier(comm);
    read_all("before epochs of the target's", i < 2 ? -1 : 0);
    if (my_rank != 0) {
      MPI_Win_unlock_all(win);
      MPI_Win_lock_all(0, win);
      for (int rank = 1; rank < ranks; rank++) MPI_Win_flush(rank, win);
    }
    barrier(comm);
    read_all("after epochs of the target's", i < 1 ? -1 : 0);
  }
}

/* All calls in which the members tell each other. */
static void joint_calls(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  int* const in = calloc((size_t)size, sizeof(int));
  int* const out = calloc((size_t)size, sizeof(int));
  int* const ones = calloc((size_t)size, sizeof(int));
  int* const places = calloc((size_t)size, sizeof(int));
  MPI_Datatype* const types = calloc((size_t)size, sizeof(MPI_Datatype));
  for (int i = 0; i < size; i++) {
    ones[i] = 1;
    places[i] = i;
    types[i] = MPI_INT;
  }
  int* const bytes = calloc((size_t)size, sizeof(int));
  for (int i = 0; i < size; i++) bytes[i] = i * (int)sizeof(int);
  for (int round = 0; round < 3; round++)
    for (int call = 0; call < 8; call++) {
      barrier(comm);
      if (round != 1) {
        store(next_word());
        if (my_rank != 0) publish();
      }
      int one = 1, sum = 0;
      switch (call) {
        case 0:
          MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
          break;
        case 1:
          MPI_Allgather(&one, 1, MPI_INT, out, 1, MPI_INT, comm);
          break;
        case 2:
          MPI_Allgatherv(&one, 1, MPI_INT, out, ones, places, MPI_INT, comm);
          break;
        case 3:
          MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm);
          break;
        case 4:
          MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, comm);
          break;
        case 5:
          MPI_Alltoallw(in, ones, bytes, types, out, ones, bytes, types, comm);
          break;
        case 6:
          MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, comm);
          break;
        default:
          MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, comm);
          break;
      }
      expect(call != 0 || sum == size, "allreduce: %d", sum);
      read_all("after a joint call", round == 1 && call > 1 ? 0 : -1);
    }
  free(in);
  free(out);
  free(ones);
  free(places);
  free(types);
  free(bytes);
}

/* Acquires of other kinds end copies as ever. */
static void other_acquires(void) {
  MPI_Comm pair;
  MPI_Comm_split(MPI_COMM_WORLD, my_rank <= 1 ? 0 : MPI_UNDEFINED, my_rank, &pair);
  for (int i = 0; i < 4; i++) {
    barrier(MPI_COMM_WORLD);
    read_all("before a message", -1);
    barrier(MPI_COMM_WORLD);
    const int word = next_word();
    store(word);
    if (my_rank != 0) publish();
    if (my_rank > 1) {
      MPI_Send(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    } else if (my_rank == 1 && i % 2 == 0) {
      MPI_Send(&word, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    } else if (my_rank == 0) {
      int got;
      for (int rank = i % 2 == 0 ? 1 : 2; rank < ranks; rank++)
        MPI_Recv(&got, 1, MPI_INT, rank, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (pair != MPI_COMM_NULL && i % 2 == 1) MPI_Barrier(pair);
    read_all("after a message", -1);
  }
  if (pair != MPI_COMM_NULL) MPI_Comm_free(&pair);
}

/* Another window over the same memory: what is written through it is seen through the first. */
static void aliased(MPI_Comm comm) {
  MPI_Win other;
  const MPI_Aint bytes = my_rank == 0 ? 0 : WORDS * (MPI_Aint)sizeof(int);
  MPI_Win_create(my_rank == 0 ? NULL : memory, bytes, sizeof(int), MPI_INFO_NULL, comm, &other);
  MPI_Win_lock_all(0, other);
  for (int i = 0; i < 4; i++) {
    barrier(comm);
    read_all("before a put elsewhere", -1);
    barrier(comm);
    const int word = next_word();
    const int value = expected[word] = -3000 - version;
    if (my_rank == ranks - 1)
      for (int rank = 1; rank < ranks; rank++)
        MPI_Put(&value, 1, MPI_INT, rank, word, 1, MPI_INT, other);
    if (my_rank == ranks - 1) MPI_Win_flush_all(other);
    barrier(comm);
    read_all("after a put elsewhere", -1);
  }
  MPI_Win_unlock_all(other);
  MPI_Win_free(&other);
}

/* A neighbour that was told where the memory is stores there. */
static void neighbours(MPI_Comm comm) {
  for (int i = 0; i < 3; i++) {
    barrier(comm);
    read_all("before a neighbour's store", -1);
    barrier(comm);
    MPI_Aint size = 0;
    int unit = 0;
    int* theirs = NULL;
    int stored = 0;
    const int word = next_word();
    if (my_rank == ranks - 1 &&
        MPI_Win_shared_query(win, 1, &size, &unit, &theirs) == MPI_SUCCESS && theirs && size > 0) {
      theirs[word] = 500000 + version + 1000000;
      stored = 1;
      publish();
    }
    MPI_Bcast(&stored, 1, MPI_INT, ranks - 1, MPI_COMM_WORLD);
    if (stored) {
      expected[word] = 500000 + version;
      if (my_rank > 1) memory[word] = expected[word] + my_rank * 1000000;
      if (my_rank > 1) publish();
    }
    barrier(comm);
    read_all("after a neighbour's store", -1);
  }
}

/* A window with other data on its pages: rma_edges.c. */
static int* whole_pages(void) {
  void* pages = NULL;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = WORDS * sizeof(int);
  if (posix_memalign(&pages, page, (bytes + page - 1) / page * page) != 0)
    MPI_Abort(MPI_COMM_WORLD, 2);
  return pages;
}

static void fill(void) {
  for (int word = 0; word < WORDS; word++) {
    expected[word] = word;
    if (my_rank != 0) memory[word] = word + my_rank * 1000000;
  }
}

enum memory_of { OWN, ALLOCATED, ALLOC_MEM };

/* One window, made over `comm` (the program frees that at once if it is not the world), whose
 * members meet in `meeting`. */
static void with_window(enum memory_of kind, MPI_Comm comm, MPI_Comm meeting) {
  const MPI_Aint bytes = my_rank == 0 ? 0 : WORDS * (MPI_Aint)sizeof(int);
  int* own = NULL;
  if (kind == ALLOCATED) {
    MPI_Win_allocate(bytes, sizeof(int), MPI_INFO_NULL, comm, &memory, &win);
  } else {
    if (kind == ALLOC_MEM)
      MPI_Alloc_mem(WORDS * (MPI_Aint)sizeof(int), MPI_INFO_NULL, &own);
    else
      own = whole_pages();
    memory = own;
    MPI_Win_create(my_rank == 0 ? NULL : memory, bytes, sizeof(int), MPI_INFO_NULL, comm, &win);
  }
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  fill();
  MPI_Win_lock_all(0, win);
  if (my_rank != 0) publish();
  barrier(meeting);
  barrier(meeting);
  nobody_writes(meeting);
  own_stores(meeting);
  other_stores(meeting);
  remote_writes(meeting);
  own_puts(meeting);
  own_epochs(meeting);
  joint_calls(meeting);
  other_acquires();
  if (kind == ALLOCATED) neighbours(meeting);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  if (kind == ALLOC_MEM)
    MPI_Free_mem(own);
  else
    free(own);
}

/* So many windows that the members tell each other of more than 512 targets. */
static MPI_Win others[257];
static void open_others(void) {
  for (int i = 0; i < 257; i++)
    MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &others[i]);
}
static void close_others(void) {
  for (int i = 0; i < 257; i++) MPI_Win_free(&others[i]);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (ranks < 2) MPI_Abort(MPI_COMM_WORLD, 2);
  const int wanted = HOB_Counter && getenv("HOB_CACHE_VALIDATE") && getenv("HOB_POLL_HITS");
  const int many = argc > 1 && strcmp(argv[1], "many") == 0;
  MPI_Comm copy;
  for (int round = many; round < 2; round++) {
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (many) open_others();
    with_window(OWN, MPI_COMM_WORLD, MPI_COMM_WORLD);
    /* Where stores cannot be tracked, nothing is kept, and nothing was counted. */
    const int tracked = wanted && counted("validations") != 0;
    MPI_Allreduce(&tracked, &counting, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    with_window(ALLOCATED, MPI_COMM_WORLD, copy);
    /* A library may share that memory between processes; with ghosts, Hob does, and knows. */
    const int counts = counting;
    counting = counting && getenv("HOB_GHOST_BINDING");
    with_window(ALLOC_MEM, MPI_COMM_WORLD, copy);
    counting = counts;
    if (many) close_others();
    with_window(OWN, copy, MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
  }
  const MPI_Aint bytes = my_rank == 0 ? 0 : WORDS * (MPI_Aint)sizeof(int);
  memory = whole_pages();
  MPI_Win_create(my_rank == 0 ? NULL : memory, bytes, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &win);
  fill();
  MPI_Win_lock_all(0, win);
  if (my_rank != 0) publish();
  aliased(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  free(memory);
  if (wanted && counting) expect(my_rank != 0 || counted("kept") > 0, "nothing was kept");
  return finish();
}
