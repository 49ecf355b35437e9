/* Fetching more than was asked for: what the program sees must be what it sees without. Rank 0
 * reads, the others show memory of unequal sizes. Where Hob fetches blocks of 1 KiB around every
 * miss (HOB_READAHEAD=1K, and HOB_POLL_MS so long that nothing is fetched again), the gets that
 * were given to the library are counted, too. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { WORDS = 1024, TAIL = 5, BATCH = 20 };

static int counting;
static MPI_Win win;
static int* memory;

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (counting) HOB_Counter(name, &count);
  return count;
}

static int words_of(int rank) { return WORDS + rank * TAIL; }
static int value(int rank, int version, int word) {
  return rank * 10000000 + version * 100000 + word;
}

static void fill(int version) {
  for (int word = 0; word < words_of(my_rank); word++) memory[word] = value(my_rank, version, word);
}

static int get_one(int rank, int word) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, rank, word, 1, MPI_INT, win);
  MPI_Win_flush(rank, win);
  return got;
}

static void check(const char* what, int rank, int word, int version) {
  const int got = get_one(rank, word);
  expect(got == value(rank, version, word), "%s: word %d of rank %d: %d, not %d", what, word, rank,
         got, value(rank, version, word));
}

static void given(const char* what, unsigned long long before, unsigned long long most) {
  const unsigned long long now = counted("native_gets");
  expect(!counting || now - before <= most, "%s: %llu gets given to the library, at most %llu",
         what, now - before, most);
}

static void given_each(const char* what, unsigned long long before, unsigned long long least) {
  const unsigned long long now = counted("native_gets");
  expect(!counting || now - before >= least, "%s: %llu gets given to the library, at least %llu",
         what, now - before, least);
}

/* The blocks at the ends of unequal memory hold what is there, and no more. */
static void whole_memory(void) {
  for (int rank = 1; rank < ranks; rank++) {
    const unsigned long long before = counted("native_gets");
    for (int word = words_of(rank) - 1; word >= 0; word--) check("backwards", rank, word, 0);
    given("backwards", before, (unsigned long long)words_of(rank) * 4 / 1024 + 2);
  }
}

/* Gets between two blocks, and many before one flush. */
static void between_blocks(void) {
  int got[8][8];
  MPI_Win_sync(win); /* forget */
  for (int round = 0; round < 2; round++) {
    memset(got, 0xee, sizeof got);
    for (int i = 0; i < 8; i++) MPI_Get(got[i], 8, MPI_INT, 1, 252 + 64 * i % 512, 8, MPI_INT, win);
    MPI_Win_flush(1, win);
    for (int i = 0; i < 8; i++)
      for (int k = 0; k < 8; k++)
        expect(got[i][k] == value(1, 0, 252 + 64 * i % 512 + k), "between: %d %d: %d", i, k,
               got[i][k]);
  }
}

/* Own writes under way: the block could hold what they overwrite. */
static void own_writes(void) {
  int mine = -5;
  MPI_Win_sync(win);
  check("before", 1, 10, 0);
  const unsigned long long before = counted("native_gets");
  const unsigned long long blocks = counted("ahead_gets");
  MPI_Put(&mine, 1, MPI_INT, 1, 12, 1, MPI_INT, win);
  int beside = -1;
  MPI_Get(&beside, 1, MPI_INT, 1, WORDS - 1, 1, MPI_INT, win);
  expect(counted("ahead_gets") == blocks, "fetched ahead while a put is under way");
  MPI_Win_flush(1, win);
  expect(beside == value(1, 0, WORDS - 1), "beside a put: %d", beside);
  check("after a put", 1, 11, 0);
  expect(get_one(1, 12) == mine, "own write: %d", get_one(1, 12));
  check("beside it", 1, 13, 0);
  given_each("own writes", before, 2);
  mine = value(1, 0, 12);
  MPI_Put(&mine, 1, MPI_INT, 1, 12, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  check("after the put", 1, 12, 0);
}

/* A get that is under way while its block is overwritten by this process elsewhere. */
static void written_while_pending(void) {
  int first = -1, mine = -7;
  MPI_Win_sync(win);
  MPI_Get(&first, 1, MPI_INT, 1, 20, 1, MPI_INT, win);
  MPI_Put(&mine, 1, MPI_INT, 1, 25, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  expect(first == value(1, 0, 20), "pending: %d", first);
  expect(get_one(1, 25) == mine, "pending, written: %d", get_one(1, 25));
  mine = value(1, 0, 25);
  MPI_Put(&mine, 1, MPI_INT, 1, 25, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
}

/* Requests bring their bytes when they complete, and leave the buffer alone afterwards. */
static void requests(void) {
  MPI_Request request;
  int got = -1;
  MPI_Win_sync(win);
  check("a block", 1, 40, 0);
  for (int word = 40; word < 300; word += 13) {
    MPI_Rget(&got, 1, MPI_INT, 1, word, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(got == value(1, 0, word), "request: word %d: %d", word, got);
    got = -3;
    MPI_Win_flush(1, win);
    expect(got == -3, "request: the buffer was written after the wait");
  }
}

static void wait_for(int form, int n, MPI_Request* list) {
  int places[BATCH], done = 0, flag = 0, left = n;
  switch (form) {
    case 0:
      for (int i = 0; i < n; i++) MPI_Wait(&list[i], MPI_STATUS_IGNORE);
      break;
    case 1:
      for (int i = n - 1; i >= 0; i--)
        for (flag = 0; !flag;) MPI_Test(&list[i], &flag, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
      break;
    case 3:
      for (; left > 0; left--) MPI_Waitany(n, list, &done, MPI_STATUS_IGNORE);
      break;
    case 4:
      for (; left > 0; left -= done) MPI_Waitsome(n, list, &done, places, MPI_STATUSES_IGNORE);
      break;
    case 5:
      while (!flag) MPI_Testall(n, list, &flag, MPI_STATUSES_IGNORE);
      break;
    case 6:
      for (; left > 0; left -= flag) MPI_Testany(n, list, &done, &flag, MPI_STATUS_IGNORE);
      break;
    case 7:
      for (; left > 0; left -= done > 0 ? done : 0)
        MPI_Testsome(n, list, &done, places, MPI_STATUSES_IGNORE);
      break;
    case 8: /* asked for, then waited for */
      for (int i = 0; i < n; i++)
        for (flag = 0; !flag;) MPI_Request_get_status(list[i], &flag, MPI_STATUS_IGNORE);
      MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
      break;
    case 9: /* complete by the flush, waited for later */
      MPI_Win_flush(1, win);
      MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
      break;
  }
  for (int i = 0; i < n; i++) expect(list[i] == MPI_REQUEST_NULL, "form %d: request %d", form, i);
}

/* Requests alone: blocks are fetched, and each request completes with its bytes, however the
 * program waits, and also where the block is under way or the bytes lie in two of them. */
static void requests_alone(void) {
  MPI_Request list[BATCH];
  int got[BATCH][2];
  for (int form = 0; form <= 9; form++)
    for (int n = 1; n <= BATCH; n += BATCH - 1) {
      MPI_Win_sync(win);
      const unsigned long long before = counted("native_gets");
      const unsigned long long acquires = counted("acquires");
      for (int word = 3; word + 7 * n < WORDS; word += 7 * n) {
        for (int i = 0; i < n; i++) {
          got[i][0] = got[i][1] = -1;
          MPI_Rget(got[i], 2, MPI_INT, 1, word + 7 * i, 2, MPI_INT, win, &list[i]);
        }
        wait_for(form, n, list);
        for (int i = 0; i < n; i++) {
          for (int k = 0; k < 2; k++)
            expect(got[i][k] == value(1, 0, word + 7 * i + k), "form %d, %d requests, word %d: %d",
                   form, n, word + 7 * i + k, got[i][k]);
          got[i][0] = got[i][1] = -3;
        }
        if (form % 2 == 0) MPI_Win_flush_all(win);
        for (int i = 0; i < n; i++) expect(got[i][0] == -3, "form %d: written later", form);
      }
      given("requests alone", before, WORDS * 4 / 1024 + 1);
      expect(counted("acquires") == acquires, "form %d: acquires", form);
    }
}

/* A request that is waited for after its epoch, and one of a plain get's block. */
static void requests_and_epochs(void) {
  MPI_Request list[2];
  int got[3] = {-1, -1, -1};
  MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  MPI_Rget(&got[0], 1, MPI_INT, 1, 300, 1, MPI_INT, win, &list[0]);
  MPI_Get(&got[2], 1, MPI_INT, 1, 700, 1, MPI_INT, win);
  MPI_Rget(&got[1], 1, MPI_INT, 1, 701, 1, MPI_INT, win, &list[1]);
  MPI_Wait(&list[1], MPI_STATUS_IGNORE);
  expect(got[1] == value(1, 0, 701), "beside a plain get: %d", got[1]);
  MPI_Win_unlock(1, win);
  expect(got[2] == value(1, 0, 700), "plain: %d", got[2]);
  MPI_Wait(&list[0], MPI_STATUS_IGNORE);
  expect(got[0] == value(1, 0, 300), "after its epoch: %d", got[0]);
}

/* What was fetched ahead ends with an acquire, as everything does. */
static void versions(void) {
  for (int version = 0; version < 4; version++) {
    if (my_rank == 0) {
      MPI_Win_lock_all(0, win);
      for (int word = version; word < WORDS; word += 37) check("version", 1, word, version);
      MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank != 0) {
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
      fill(version + 1 < 4 ? version + 1 : 0);
      MPI_Win_unlock(my_rank, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* The same with fences, where each one is an acquire. */
static void fences(void) {
  for (int version = 0; version < 3; version++) {
    int got[3] = {-1, -1, -1};
    MPI_Win_fence(0, win);
    if (my_rank == 0)
      for (int i = 0; i < 3; i++) MPI_Get(&got[i], 1, MPI_INT, 1, 100 * i + 3, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (my_rank == 0)
      for (int i = 0; i < 3; i++)
        expect(got[i] == value(1, version, 100 * i + 3), "fence: %d: %d", i, got[i]);
    if (my_rank != 0) fill(version + 1 < 3 ? version + 1 : 0);
  }
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* Post, start, complete, wait: what one epoch fetched ahead is not seen in the next. */
static void epochs_of_pairs(void) {
  MPI_Group world, others;
  const int zero = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  if (my_rank == 0)
    MPI_Group_excl(world, 1, &zero, &others);
  else
    MPI_Group_incl(world, 1, &zero, &others);
  for (int version = 0; version < 4; version++) {
    if (my_rank == 0) {
      int got[4];
      MPI_Win_start(others, 0, win);
      for (int i = 0; i < 4; i++) MPI_Get(&got[i], 1, MPI_INT, 1, 64 * i + 7, 1, MPI_INT, win);
      MPI_Win_complete(win);
      for (int i = 0; i < 4; i++)
        expect(got[i] == value(1, version, 64 * i + 7), "pairs: version %d, %d: %d", version, i,
               got[i]);
    } else {
      MPI_Win_post(others, 0, win);
      MPI_Win_wait(win);
      fill(version + 1 < 4 ? version + 1 : 0);
    }
  }
  MPI_Group_free(&others);
  MPI_Group_free(&world);
}

/* Memory that comes and goes is never read beyond what was asked for. */
static void dynamic(void) {
  MPI_Win window;
  MPI_Aint where = 0;
  int* attached = malloc(64 * sizeof(int));
  for (int i = 0; i < 64; i++) attached[i] = i;
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_attach(window, attached, 64 * sizeof(int));
  MPI_Get_address(attached, &where);
  MPI_Bcast(&where, 1, MPI_AINT, 1, MPI_COMM_WORLD);
  if (my_rank == 0) {
    const unsigned long long before = counted("ahead_gets");
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    for (int i = 0; i < 64; i++) {
      int got = -1;
      MPI_Get(&got, 1, MPI_INT, 1, where + 4 * i, 1, MPI_INT, window);
      MPI_Win_flush(1, window);
      expect(got == i, "dynamic: %d: %d", i, got);
    }
    MPI_Win_unlock(1, window);
    expect(counted("ahead_gets") == before, "fetched ahead in a dynamic window");
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(window, attached);
  MPI_Win_free(&window);
  free(attached);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* poll = getenv("HOB_POLL_MS");
  const char* size = getenv("HOB_READAHEAD");
  counting = HOB_Counter && poll && atof(poll) > 1000 && size && strcmp(size, "1K") == 0;
  MPI_Alloc_mem((MPI_Aint)sizeof(int) * words_of(my_rank), MPI_INFO_NULL, &memory);
  fill(0);
  MPI_Win_create(memory, (MPI_Aint)sizeof(int) * words_of(my_rank), sizeof(int), MPI_INFO_NULL,
                 MPI_COMM_WORLD, &win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    whole_memory();
    between_blocks();
    own_writes();
    written_while_pending();
    requests();
    requests_alone();
    MPI_Win_unlock_all(win);
    requests_and_epochs();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  versions();
  fences();
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank != 0) fill(0);
  MPI_Barrier(MPI_COMM_WORLD);
  epochs_of_pairs();
  dynamic();
  /* What would not outlive its epoch is not fetched ahead. */
  const char* mode = getenv("HOB_CACHE");
  if (HOB_Counter && mode && strcmp(mode, "strict") == 0) {
    for (int i = 0; i < 2; i++) {
      unsigned long long count = 1;
      HOB_Counter(i ? "ahead_gets" : "ahead_bytes", &count);
      expect(count == 0, "fetched ahead in mode strict: %llu", count);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  MPI_Free_mem(memory);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (my_rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  return all != 0;
}
