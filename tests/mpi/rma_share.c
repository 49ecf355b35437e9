/* Ranks of one node read the same memory of another node, while it changes and while it does not.
 * What is printed is what MPI determines. Where Hob shares (HOB_CACHE_SHARE=on, and HOB_POLL_MS so
 * long that nothing is fetched again), the gets that were given to the library are counted, too. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));
extern int HOB_Invalidate(MPI_Win win) __attribute__((weak));

enum { BLOCKS = 64, WORDS = 25, ROUNDS = 8 };

static int target; /* a rank of the other node, the same for all of this one */
static int* of;    /* the lowest rank on each rank's node */
static int place;  /* of this rank on its node */
static int node_ranks;
static int second;   /* 1 on the node without rank 0 */
static int user;     /* mode user: nothing but HOB_Invalidate ends what was fetched */
static int counting; /* Hob shares, and can say what it did */
static int blocks;   /* and fetches blocks of 1 KiB, ten of ours and a bit */
static int* memory;
static MPI_Win win;
static MPI_Comm node;

static int value(int version, int block, int word) {
  return version * 1000000 + block * 1000 + word;
}

static void fill(int version) {
  for (int block = 0; block < BLOCKS; block++)
    for (int word = 0; word < WORDS; word++)
      memory[block * WORDS + word] = value(version, block, word);
}

static void get(int block, int* to, int words) {
  memset(to, 0xee, sizeof(int) * (size_t)words);
  MPI_Get(to, words, MPI_INT, target, block * WORDS, words, MPI_INT, win);
  MPI_Win_flush(target, win);
}

static void check(const char* what, int block, int version) {
  int got[WORDS];
  get(block, got, WORDS);
  for (int word = 0; word < WORDS; word++)
    if (got[word] != value(version, block, word)) {
      expect(0, "%s: block %d, word %d: %d, not %d", what, block, word, got[word],
             value(version, block, word));
      return;
    }
}

static unsigned long long counted(const char* name) {
  unsigned long long count = 0;
  if (counting) HOB_Counter(name, &count);
  return count;
}

/* What every process must have done before anything is shared with it. */
static void begin_sharing(int version) {
  check("first", 2 * place, version);
  check("second", 2 * place + 1, version);
}

/* In turn, the ranks of a node, without a call from which any could learn: `cell` of the outside
 * memory counts them. Others wait inside MPI, so that gets from them advance. */
static int cell_of(int round) { return 16 + 2 * round + second; }
static void my_turn(int round) {
  reach(600 + my_rank, round + 1); /* what is fetched before that is not for this rank */
  for (int r = 0; r < ranks; r++) await_in_mpi(600 + r, round + 1);
  await_in_mpi(cell_of(round), place);
}
static void next_turn(int round) { reach(cell_of(round), place + 1); }

/* What one rank fetched, the next ones need not. */
static void read_in_turn(int version) {
  MPI_Win_lock_all(0, win);
  begin_sharing(version);
  my_turn(2 * version);
  const unsigned long long native = counted("native_gets"), shared = counted("shared_hits");
  for (int block = 20; block < 40; block++) check("in turn", block, version);
  /* The beginning of a block, which is here since there was free room for it, and blocks that
   * nobody fetched. */
  int word;
  get(20, &word, 1);
  expect(word == value(version, 20, 0), "beginning");
  for (int block = 40; block < 44; block++)
    if (node_ranks < 8) check("own", block + 4 * (place % 4), version);
  if (counting && blocks) {
    /* Three trips: [2000, 2100) lies in two blocks, and two more are new. The others find them all.
     */
    expect(counted("native_gets") == native + (place == 0 ? 3 : 0), "blocks: %llu gets",
           counted("native_gets") - native);
    expect(counted("shared_hits") == shared + (place == 0 ? 0 : 24), "blocks: %llu shared hits",
           counted("shared_hits") - shared);
  } else if (counting && place > 0) {
    expect(counted("native_gets") == native + 4, "%llu gets instead of 4",
           counted("native_gets") - native);
    expect(counted("shared_hits") == shared + 20, "%llu shared hits",
           counted("shared_hits") - shared);
  }
  if (counting && !blocks && place == 0)
    expect(counted("native_gets") == native + 24, "first: %llu gets",
           counted("native_gets") - native);
  next_turn(2 * version);
  await_in_mpi(cell_of(2 * version), node_ranks);
  MPI_Win_unlock_all(win);
}

static void change(int version) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  fill(version);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (user && HOB_Invalidate) HOB_Invalidate(win);
}

/* An own write is seen in spite of what others fetched before it, also where it is not the whole
 * of what is read; and an accumulate. */
static void write_between(int version) {
  MPI_Win_lock_all(0, win);
  begin_sharing(version);
  my_turn(2 * version + 1);
  const int mine = 50 + place, whole[WORDS] = {0};
  for (int block = 50; block < 50 + node_ranks && block < BLOCKS; block++)
    if (block >= mine) check("before the write", block, version);
  int one = 5, got[WORDS];
  MPI_Put(&one, 1, MPI_INT, target, mine * WORDS + 3, 1, MPI_INT, win);
  MPI_Win_flush(target, win);
  get(mine, got, WORDS);
  for (int word = 0; word < WORDS; word++)
    expect(got[word] == (word == 3 ? 5 : value(version, mine, word)), "put: word %d: %d", word,
           got[word]);
  MPI_Accumulate(&one, 1, MPI_INT, target, mine * WORDS + 3, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_flush(target, win);
  get(mine, got, WORDS);
  expect(got[3] == 10, "accumulate: %d", got[3]);
  MPI_Put(whole, WORDS, MPI_INT, target, mine * WORDS, WORDS, MPI_INT, win);
  MPI_Win_flush(target, win);
  get(mine, got, WORDS);
  expect(got[WORDS - 1] == 0, "whole put: %d", got[WORDS - 1]);
  next_turn(2 * version + 1);
  await_in_mpi(cell_of(2 * version + 1), node_ranks);
  MPI_Win_unlock_all(win);
}

/* Until the cell is reached, which it may be only after what this rank does next: so many rounds.
 */
static void rounds_in_mpi(int cell) {
  int flag;
  for (int i = 0; i < 2000 && outside[cell] < 1; i++) {
    MPI_Iprobe(MPI_ANY_SOURCE, 30001, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

/* A counter under an exclusive lock. A rank may be told that it has the lock before it has: what
 * the holder reads meanwhile must not be served to it. */
static void count_under_lock(int rounds) {
  int* counter = memory + BLOCKS * WORDS;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  *counter = 0;
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (user) return;
  const int base = 200 + 300 * second;
  for (int round = 0; round < rounds && place < 2; round++) {
    const int first = place == round % 2, cells = base + 4 * round;
    int got = -1, more;
    if (!first) await_in_mpi(cells, 1);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    if (first) {
      get(first, &more, 1); /* has the lock now */
      reach(cells, 1);
      rounds_in_mpi(cells + 1);
    } else {
      reach(cells + 1, 1);
      await_in_mpi(cells + 2, 1);
    }
    get(BLOCKS, &got, 1);
    if (!first) reach(cells + 3, 1);
    expect(got == 2 * round + !first, "counter: %d, not %d", got, 2 * round + !first);
    more = got + 1;
    if (first) {
      reach(cells + 2, 1);
      rounds_in_mpi(cells + 3);
    }
    MPI_Put(&more, 1, MPI_INT, target, BLOCKS * WORDS, 1, MPI_INT, win);
    MPI_Win_unlock(target, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static int first_of_second(void) {
  int r = 0;
  while (of[r] == of[0]) r++;
  return r;
}

/* MPI promises nothing to programs that poll with plain gets, but they work with most libraries:
 * all ranks of a node wait for one flag, and then read what it announces. */
static void poll_together(int version) {
  change(version);
  MPI_Win_lock_all(0, win);
  if (!second) {
    for (int again = 0; again < 3; again++)
      for (int block = 0; block < 10; block++) check("before the flag", block, version);
    reach(700 + my_rank, version);
    int flag = 0;
    while (flag != 1) {
      get(63, &flag, 1);
      reach(800 + my_rank, outside[800 + my_rank] + 1);
    }
    for (int block = 0; block < 10; block++) check("behind the flag", block, version + 1);
  } else if (my_rank == first_of_second()) { /* the target of all of them */
    for (int r = 0; r < ranks; r++)
      if (of[r] == of[0]) await_in_mpi(700 + r, version);
    for (int r = 0; r < ranks; r++)
      if (of[r] == of[0]) await_in_mpi(800 + r, outside[800 + r] + 200);
    fill(version + 1);
    MPI_Win_sync(win);
    memory[63 * WORDS] = 1;
    MPI_Win_sync(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  user = argc > 1 && strcmp(argv[1], "user") == 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, my_rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &place);
  MPI_Comm_size(node, &node_ranks);
  int lowest = my_rank, nodes = 0;
  MPI_Bcast(&lowest, 1, MPI_INT, 0, node);
  second = lowest != 0;
  of = (int*)malloc(sizeof(int) * (size_t)ranks);
  MPI_Allgather(&lowest, 1, MPI_INT, of, 1, MPI_INT, MPI_COMM_WORLD);
  target = 0;
  for (int r = ranks - 1; r >= 0; r--) {
    if (of[r] != lowest) target = r;
    nodes += of[r] == r;
  }
  const char* share = getenv("HOB_CACHE_SHARE");
  const char* ahead = getenv("HOB_READAHEAD");
  blocks = ahead && strcmp(ahead, "1K") == 0;
  counting = HOB_Counter && share && strcmp(share, "on") == 0 && getenv("HOB_POLL_MS") &&
             nodes == 2 && node_ranks > 1;

  MPI_Win_allocate((BLOCKS * WORDS + 1) * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &memory, &win);
  for (int version = 0; version < ROUNDS; version++) {
    change(version);
    read_in_turn(version);
    if (version % 2 == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (user && HOB_Invalidate) HOB_Invalidate(win);
      write_between(version);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int fewest;
  MPI_Allreduce(&node_ranks, &fewest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (nodes == 2 && fewest > 1) count_under_lock(6);
  for (int round = 0; round < 4 && !user && !counting && nodes == 2; round++)
    poll_together(20 + 2 * round);
  MPI_Win_free(&win);
  MPI_Comm_free(&node);
  free(of);
  if (getenv("HOB_CACHE_SHARE") && !counting && my_rank == 0 && getenv("HOB_POLL_MS"))
    expect(ranks < 4, "nothing was counted");
  return finish();
}
