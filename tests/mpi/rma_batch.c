/* Many small operations before a completion: in every kind of epoch, with places that come twice,
 * operations that follow each other on one place, datatypes that end before the flush, buffers that
 * are used again after a local flush, and errors. Prints only what MPI determines. The argument
 * "moves" leaves accumulates and atomics out, "few" all but the handles of datatypes and what is
 * not completed. */
#include "rma_check.h"

enum { WORDS = 4096, MOST = 700 };

static MPI_Win win;
static long* memory;
static long buffer[WORDS];
static int target;

static long initial(int rank, int i) { return 1000L * rank + i; }

static int place(int i, int seed) { return (int)((i * 7919L + seed * 104729L) % WORDS); }

static void reset(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  for (int i = 0; i < WORDS; ++i) memory[i] = initial(my_rank, i);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The four kinds of access epochs. */
enum { LOCK, LOCK_ALL, FENCE, PSCW, EPOCHS };
static MPI_Group everybody;

static void open_epoch(int kind) {
  if (kind == LOCK) MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
  if (kind == LOCK_ALL) MPI_Win_lock_all(0, win);
  if (kind == FENCE) MPI_Win_fence(0, win);
  if (kind == PSCW) {
    MPI_Win_post(everybody, 0, win);
    MPI_Win_start(everybody, 0, win);
  }
}

static void close_epoch(int kind) {
  if (kind == LOCK) MPI_Win_unlock(target, win);
  if (kind == LOCK_ALL) MPI_Win_unlock_all(win);
  if (kind == FENCE) MPI_Win_fence(0, win);
  if (kind == PSCW) {
    MPI_Win_complete(win);
    MPI_Win_wait(win);
  }
}

/* Gets to places in order and scattered, some of them twice. */
static void gets(int kind, int count) {
  reset();
  memset(buffer, 0, sizeof buffer);
  open_epoch(kind);
  for (int i = 0; i < count; ++i)
    MPI_Get(&buffer[i], 1, MPI_LONG, target, place(i, 0), 1, MPI_LONG, win);
  close_epoch(kind);
  for (int i = 0; i < count; ++i)
    expect(buffer[i] == initial(target, place(i, 0)), "epoch %d: get %d of %d in order: %ld", kind,
           i, count, buffer[i]);
  memset(buffer, 0, sizeof buffer);
  open_epoch(kind);
  for (int i = 0; i < count; ++i)
    MPI_Get(&buffer[count - 1 - i], 1, MPI_LONG, target, place(i % (count / 2 + 1), 1), 1, MPI_LONG,
            win);
  close_epoch(kind);
  for (int i = 0; i < count; ++i)
    expect(buffer[count - 1 - i] == initial(target, place(i % (count / 2 + 1), 1)),
           "epoch %d: get %d of %d brought %ld", kind, i, count, buffer[count - 1 - i]);
}

/* Puts, each rank to places of its own; then everybody looks. Sizes differ. */
static void write_words(int kind, int count) {
  reset();
  open_epoch(kind);
  for (int i = 0; i < count; ++i) {
    buffer[2 * i] = 5000000 + i;
    buffer[2 * i + 1] = 6000000 + i;
    MPI_Put(&buffer[2 * i], 1 + i % 2, MPI_LONG, target, 2 * i, 1 + i % 2, MPI_LONG, win);
  }
  close_epoch(kind);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int i = 0; i < count; ++i) {
    expect(memory[2 * i] == 5000000 + i, "epoch %d: put %d left %ld", kind, i, memory[2 * i]);
    const long second = i % 2 ? 6000000 + i : initial(my_rank, 2 * i + 1);
    expect(memory[2 * i + 1] == second, "epoch %d: put %d, second word %ld", kind, i,
           memory[2 * i + 1]);
  }
  MPI_Win_unlock(my_rank, win);
}

/* MPICH 4 returns from this, and from MPI_Win_flush_all, while buffers are still read (plainly, in
 * 64 of 150 runs of this program). */
static void flush_local_all(void) {
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000
  MPI_Win_flush_local(target, win);
#else
  MPI_Win_flush_local_all(win);
#endif
}

/* After a local flush, the buffer of a put or accumulate is the program's again. */
static void local_flush(int atomics) {
  reset();
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      buffer[i] = 100 * round + i;
      const int at = 300 * round + i;
      if (atomics)
        MPI_Accumulate(&buffer[i], 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win);
      else
        MPI_Put(&buffer[i], 1, MPI_LONG, target, at, 1, MPI_LONG, win);
    }
    if (round == 1)
      flush_local_all();
    else
      MPI_Win_flush_local(target, win);
    for (int i = 0; i < 100; ++i) buffer[i] = -1;
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 100; ++i) {
      const int at = 300 * round + i;
      const long is = 100 * round + i + (atomics ? initial(my_rank, at) : 0);
      expect(memory[at] == is, "local flush, round %d: word %d is %ld", round, i, memory[at]);
    }
  MPI_Win_unlock(my_rank, win);
}

/* One buffer, free again after each local flush: for operations that a batch copied, for ones that
 * go out alone (a strided origin) and for both before one flush; all are there after the flush. */
static void flush_each(int atomics) {
  reset();
  MPI_Datatype strided;
  MPI_Type_vector(2, 1, 2, MPI_LONG, &strided);
  MPI_Type_commit(&strided);
  MPI_Win_lock_all(0, win);
  long words[3];
  for (int i = 0; i < 600; ++i) {
    words[0] = i;
    words[1] = -1;
    words[2] = 2 * i;
    const int at = 4 * i;
    const int both = i % 50 == 7;
    if (i % 50 == 3 || both) MPI_Put(words, 1, strided, target, at + 1, 2, MPI_LONG, win);
    if (atomics)
      MPI_Accumulate(words, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win);
    else
      MPI_Put(words, 1, MPI_LONG, target, at, 1, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    words[0] = words[2] = -5;
    if (i % 200 != 199) continue;
    long got = 0;
    if (i % 400 == 199) MPI_Win_flush(target, win);
    MPI_Get(&got, 1, MPI_LONG, target, at - 4, 1, MPI_LONG, win);
    MPI_Win_flush_local(target, win);
    const long is = i - 1 + (atomics ? initial(target, at - 4) : 0);
    if (i % 400 == 199) expect(got == is, "flushed: word %d is %ld", at - 4, got);
  }
  MPI_Win_unlock_all(win);
  MPI_Type_free(&strided);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int i = 0; i < 600; ++i) {
    const long is = i + (atomics ? initial(my_rank, 4 * i) : 0);
    expect(memory[4 * i] == is, "each flushed: word %d is %ld", 4 * i, memory[4 * i]);
    if (i % 50 != 3 && i % 50 != 7) continue;
    expect(memory[4 * i + 1] == i, "strided: word %d is %ld", 4 * i + 1, memory[4 * i + 1]);
    expect(memory[4 * i + 2] == 2 * i, "strided: word %d is %ld", 4 * i + 2, memory[4 * i + 2]);
  }
  MPI_Win_unlock(my_rank, win);
}

/* A local flush is enough for what a get brings. */
static void local_gets(void) {
  reset();
  MPI_Win_lock_all(0, win);
  memset(buffer, 0, sizeof buffer);
  for (int i = 0; i < 200; ++i)
    MPI_Get(&buffer[199 - i], 1, MPI_LONG, target, place(i, 2), 1, MPI_LONG, win);
  MPI_Win_flush_local(target, win);
  for (int i = 0; i < 200; ++i)
    expect(buffer[199 - i] == initial(target, place(i, 2)), "local flush: get %d brought %ld", i,
           buffer[199 - i]);
  MPI_Win_unlock_all(win);
}

/* Types that the program frees, and types with a lower bound, before the flush. */
static void types(void) {
  reset();
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 50; ++i) {
    MPI_Datatype pair, shifted;
    MPI_Type_contiguous(2, MPI_LONG, &pair);
    MPI_Type_commit(&pair);
    const MPI_Aint by = 24;
    MPI_Type_create_hindexed_block(1, 1, &by, MPI_LONG, &shifted);
    MPI_Type_commit(&shifted);
    MPI_Get(&buffer[8 * i], 2, MPI_LONG, target, 4 * i, 1, pair, win);
    MPI_Get(&buffer[8 * i + 1], 1, shifted, target, 1000 + 4 * i, 1, shifted, win);
    MPI_Type_free(&pair);
    MPI_Type_free(&shifted);
  }
  MPI_Win_flush(target, win);
  for (int i = 0; i < 50; ++i) {
    expect(buffer[8 * i] == initial(target, 4 * i), "pair %d: %ld", i, buffer[8 * i]);
    expect(buffer[8 * i + 1] == initial(target, 4 * i + 1), "pair %d: %ld", i, buffer[8 * i + 1]);
    expect(buffer[8 * i + 4] == initial(target, 1003 + 4 * i), "shifted %d: %ld", i,
           buffer[8 * i + 4]);
  }
  MPI_Win_unlock_all(win);
}

/* Types whose handle was that of a batch of puts, which is free after it, and which was looked at
 * (HOB_COMPLETE_PUTS). They are as large as the batch's, and no block, as it was. */
static void handles_again(void) {
  enum { OFTEN = 40 };
  reset();
  MPI_Win_lock_all(0, win);
  for (int round = 0; round < OFTEN; ++round) {
    for (int i = 0; i < 2; ++i) {
      buffer[i] = initial(target, i);
      MPI_Put(&buffer[i], 1, MPI_LONG, target, i, 1, MPI_LONG, win);
    }
    MPI_Win_flush(target, win);
    MPI_Datatype made[4];
    for (int k = 0; k < 4; ++k) {
      MPI_Type_vector(2, 1, 2 + k, MPI_LONG, &made[k]);
      MPI_Type_commit(&made[k]);
    }
    long brought[64];
    for (int i = 0; i < 64; ++i) brought[i] = -1;
    for (int k = 0; k < 4; ++k)
      MPI_Get(&brought[8 * k], 1, made[k], target, 1000 + 10 * k, 2, MPI_LONG, win);
    MPI_Win_flush(target, win);
    for (int k = 0; k < 4; ++k)
      for (int i = 0; i < 8; ++i) {
        const long wanted = i == 0       ? initial(target, 1000 + 10 * k)
                            : i == 2 + k ? initial(target, 1001 + 10 * k)
                                         : -1;
        expect(brought[8 * k + i] == wanted, "round %d: element %d of type %d is %ld", round, i, k,
               brought[8 * k + i]);
      }
    for (int k = 0; k < 4; ++k) MPI_Type_free(&made[k]);
  }
  MPI_Win_unlock_all(win);
}

/* The origin waits for a message that the target sends when it sees the last put, without a call
 * that completes it. MPI does not promise that this ends; it does with MPICH. */
static void unfinished(void) {
  enum { PUTS = 100, ROUNDS = 5, TAG = 7 };
  int asked = 0, answered = 0;
  reset();
  MPI_Win_lock_all(0, win);
  for (long round = 1; round <= ROUNDS; ++round) {
    if (my_rank == 0) {
      for (int i = 0; i < PUTS; ++i) {
        buffer[i] = 7000000 + round;
        MPI_Put(&buffer[i], 1, MPI_LONG, 1, i, 1, MPI_LONG, win);
      }
      MPI_Recv(&answered, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Win_flush(1, win);
    } else if (my_rank == 1) {
      while (((volatile long*)memory)[PUTS - 1] != 7000000 + round) {
        MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &asked, MPI_STATUS_IGNORE);
        MPI_Win_sync(win);
      }
      MPI_Send(&asked, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A put, a flush and a get of the same places; large ones between small ones. */
static void rewrite(void) {
  static long large[1000];
  reset();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
  for (int i = 0; i < 200; ++i) {
    buffer[i] = -i - 1;
    MPI_Put(&buffer[i], 1, MPI_LONG, target, 3 * i, 1, MPI_LONG, win);
    if (i == 100) MPI_Get(large, 1000, MPI_LONG, target, 2000, 1000, MPI_LONG, win);
  }
  MPI_Win_flush(target, win);
  memset(buffer, 0, sizeof buffer);
  for (int i = 0; i < 200; ++i)
    MPI_Get(&buffer[(i * 7) % 200], 1, MPI_LONG, target, 3 * i, 1, MPI_LONG, win);
  MPI_Win_unlock(target, win);
  for (int i = 0; i < 200; ++i)
    expect(buffer[(i * 7) % 200] == -i - 1, "rewritten %d: %ld", i, buffer[(i * 7) % 200]);
  expect(large[500] == initial(target, 2500), "large: %ld", large[500]);
}

/* Operations on one place follow each other, whatever they are. */
static void ordered(int kind) {
  reset();
  open_epoch(kind);
  static long one, minus, olds[MOST], expected, found;
  long is = initial(target, 5);
  one = 1;
  minus = -2000000;
  int bad = 0;
  static long adds[MOST];
  for (int i = 0; i < 100; ++i) {
    adds[i] = i;
    MPI_Accumulate(&adds[i], 1, MPI_LONG, target, 5, 1, MPI_LONG, MPI_SUM, win);
    MPI_Accumulate(&adds[i], 1, MPI_LONG, target, 100 + i, 1, MPI_LONG, MPI_MAX, win);
    MPI_Accumulate(&minus, 1, MPI_LONG, target, 300 + i % 10, 1, MPI_LONG, MPI_MIN, win);
    MPI_Accumulate(&adds[i], 1, MPI_LONG, target, 400 + i % 10, 1, MPI_LONG, MPI_REPLACE, win);
    MPI_Accumulate(&adds[i], 1, MPI_LONG, target, 500 + i % 10, 1, MPI_LONG, MPI_BXOR, win);
  }
  for (int i = 0; i < 100; ++i) {
    MPI_Fetch_and_op(&one, &olds[i], MPI_LONG, target, 5, MPI_SUM, win);
    if (i % 10 == 9)
      MPI_Get_accumulate(NULL, 0, MPI_LONG, &olds[200 + i], 1, MPI_LONG, target, 5, 1, MPI_LONG,
                         MPI_NO_OP, win);
    if (i == 50) MPI_Compare_and_swap(&one, &minus, &found, MPI_LONG, target, 5, win);
  }
  for (int i = 0; i < 200; ++i)
    MPI_Fetch_and_op(&adds[i % 100], &olds[300 + i], MPI_LONG, target, 700 + i, MPI_REPLACE, win);
  close_epoch(kind);
  for (int i = 0; i < 100; ++i) is += i;
  expected = is;
  for (int i = 0; i < 100; ++i) {
    bad += olds[i] != expected;
    ++expected;
    if (i % 10 == 9) bad += olds[200 + i] != expected;
    if (i == 50) bad += found != expected;
  }
  for (int i = 0; i < 200; ++i) bad += olds[300 + i] != initial(target, 700 + i);
  expect(bad == 0, "epoch %d: %d results out of order", kind, bad);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  is = initial(my_rank, 5) + 99 * 50 + 100;
  expect(memory[5] == is, "epoch %d: sum %ld, not %ld", kind, memory[5], is);
  for (int i = 0; i < 10; ++i) {
    long x = initial(my_rank, 500 + i);
    for (int k = i; k < 100; k += 10) x ^= k;
    expect(memory[300 + i] == -2000000, "min %ld", memory[300 + i]);
    expect(memory[400 + i] == 90 + i, "replaced %ld", memory[400 + i]);
    expect(memory[500 + i] == x, "xor %ld, not %ld", memory[500 + i], x);
  }
  for (int i = 0; i < 200; ++i)
    expect(memory[700 + i] == i % 100, "swapped in %ld", memory[700 + i]);
  MPI_Win_unlock(my_rank, win);
}

/* Sums of floating point in the order of the program: 1 is lost beside 1e16 and -1e16 in one order
 * only. */
static void floating(void) {
  static double values[3] = {1e16, 1, -1e16};
  double* const there = (double*)memory;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  for (int i = 0; i < 100; ++i) there[i] = 0;
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  for (int k = 0; k < 3; ++k)
    for (int i = 0; i < 100; ++i)
      MPI_Accumulate(&values[k], 1, MPI_DOUBLE, target, i, 1, MPI_DOUBLE, MPI_SUM, win);
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int i = 0; i < 100; ++i) expect(there[i] == (1e16 + 1) + -1e16, "floating: %g", there[i]);
  MPI_Win_unlock(my_rank, win);
}

/* Many origins add to one target's counters: each sum is atomic, each fetched value comes once. */
static void together(void) {
  static long one = 1, olds[MOST];
  reset();
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < MOST; ++i)
    MPI_Accumulate(&one, 1, MPI_LONG, 0, i % 64, 1, MPI_LONG, MPI_SUM, win);
  for (int i = 0; i < 300; ++i)
    MPI_Fetch_and_op(&one, &olds[i], MPI_LONG, 0, 1000 + i % 3, MPI_SUM, win);
  MPI_Win_unlock_all(win);
  for (int i = 0; i < 300; ++i) {
    const long old = olds[i] - initial(0, 1000 + i % 3);
    expect(old >= 0 && old < 100L * ranks, "fetched %ld", old);
    if (i >= 3) expect(olds[i] > olds[i - 3], "fetched %ld after %ld", olds[i], olds[i - 3]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int i = 0; i < 64 && my_rank == 0; ++i) {
    const long times = MOST / 64 + (i < MOST % 64);
    expect(memory[i] == initial(0, i) + times * ranks, "counter %d: %ld", i, memory[i]);
  }
  MPI_Win_unlock(my_rank, win);
}

/* What waits for one target's flush is not forgotten over many flushes of another one. */
static void two_targets(void) {
  static long many[2 * WORDS];
  const int other = (target + 1) % ranks;
  reset();
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 2 * WORDS; ++i)
    MPI_Get(&many[(i * 3) % (2 * WORDS)], 1, MPI_LONG, target, place(i, 3), 1, MPI_LONG, win);
  for (int i = 0; i < 200; ++i) {
    MPI_Get(&buffer[i], 1, MPI_LONG, other, place(i, 4), 1, MPI_LONG, win);
    MPI_Win_flush(other, win);
    expect(buffer[i] == initial(other, place(i, 4)), "other target: get %d brought %ld", i,
           buffer[i]);
  }
  MPI_Win_flush(target, win);
  int wrong = 0;
  for (int i = 0; i < 2 * WORDS; ++i)
    wrong += many[(i * 3) % (2 * WORDS)] != initial(target, place(i, 3));
  expect(wrong == 0, "two targets: %d wrong", wrong);
  MPI_Win_unlock_all(win);
}

/* What is wrong with a call is said by that call. */
static void errors(void) {
  reset();
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Win_lock_all(0, win);
  int said = 0;
  for (int i = 0; i < 100; ++i) {
    MPI_Get(&buffer[i], 1, MPI_LONG, target, i, 1, MPI_LONG, win);
    if (i == 50) said += MPI_Get(&buffer[i], 1, MPI_LONG, ranks + 7, i, 1, MPI_LONG, win) != 0;
    if (i == 60)
      said += MPI_Put(&buffer[i], 1, MPI_DATATYPE_NULL, target, i, 1, MPI_LONG, win) != 0;
    if (i == 70) said += MPI_Get(&buffer[i], -1, MPI_LONG, target, i, -1, MPI_LONG, win) != 0;
    if (i == 80) said += MPI_Get(&buffer[i], 1, MPI_LONG, MPI_PROC_NULL, i, 1, MPI_LONG, win) == 0;
  }
  said += MPI_Win_flush(target, win) == 0;
  for (int i = 0; i < 100; ++i)
    expect(buffer[i] == initial(target, i), "beside errors: get %d brought %ld", i, buffer[i]);
  MPI_Win_unlock_all(win);
  printf("errors and successes: %d\n", said);
  MPI_Win_set_errhandler(win, MPI_ERRORS_ARE_FATAL);
}

/* Requests between operations that have none; the window's units differ from rank to rank. */
static void units_and_requests(void) {
  int* words;
  MPI_Win odd;
  MPI_Win_allocate(4096, my_rank % 2 ? 4 : 1, MPI_INFO_NULL, MPI_COMM_WORLD, &words, &odd);
  const int unit = target % 2 ? 1 : 4; /* units for an int there */
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, odd);
  for (int i = 0; i < 1024; ++i) words[i] = 10000 * my_rank + i;
  MPI_Win_unlock(my_rank, odd);
  MPI_Barrier(MPI_COMM_WORLD);
  static int got[300], asked[30];
  MPI_Request requests[30];
  MPI_Win_lock_all(0, odd);
  for (int i = 0; i < 300; ++i) {
    MPI_Get(&got[i], 1, MPI_INT, target, (MPI_Aint)unit * ((i * 37) % 1024), 1, MPI_INT, odd);
    if (i % 10 == 0)
      MPI_Rget(&asked[i / 10], 1, MPI_INT, target, (MPI_Aint)unit * i, 1, MPI_INT, odd,
               &requests[i / 10]);
  }
  MPI_Waitall(30, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < 30; ++i)
    expect(asked[i] == 10000 * target + 10 * i, "asked for %d: %d", i, asked[i]);
  MPI_Win_flush_all(odd);
  for (int i = 0; i < 300; ++i)
    expect(got[i] == 10000 * target + (i * 37) % 1024, "odd units: %d: %d", i, got[i]);
  MPI_Win_unlock_all(odd);
  MPI_Win_free(&odd);
}

/* Bursts with a request each, completed in every way; the epoch goes on. A buffer is the program's
 * own again as soon as its request is complete. */
enum { WAIT_ALL, WAIT_EACH, WAIT_ANY, TEST_ALL, TEST_SOME, FREE, WAYS };

static void complete(MPI_Request* requests, int count, int way) {
  static int indices[MOST];
  int done = 0, flag = 0;
  if (way == WAIT_ALL) MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; way == WAIT_EACH && i < count; ++i)
    MPI_Wait(&requests[count - 1 - i], MPI_STATUS_IGNORE);
  while (way == TEST_ALL && !flag) MPI_Testall(count, requests, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0, some = 0; way == WAIT_ANY && i < count; ++i)
    MPI_Waitany(count, requests, &some, MPI_STATUS_IGNORE);
  while (way == TEST_SOME && done < count) {
    int some = 0;
    MPI_Testsome(count, requests, &some, indices, MPI_STATUSES_IGNORE);
    done += some == MPI_UNDEFINED ? count : some;
  }
  for (int i = 0; way == FREE && i < count; ++i) MPI_Request_free(&requests[i]);
  if (way == FREE) MPI_Win_flush(target, win);
}

static void bursts_with_requests(void) {
  static MPI_Request requests[MOST];
  int ways = WAYS;
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 50000000
  ways = FREE; /* MPICH 4.0 calls requests of MPI_Rget invalid in MPI_Request_free */
#endif
  for (int way = 0; way < ways; ++way) {
    reset();
    memset(buffer, 0, sizeof buffer);
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < 3; ++round) {
      const int count = round == 1 ? 5 : 200;
      for (int i = 0; i < count; ++i)
        MPI_Rget(&buffer[i], 1, MPI_LONG, target, place(i, round), 1, MPI_LONG, win, &requests[i]);
      complete(requests, count, way);
      for (int i = 0; i < count; ++i) {
        expect(buffer[i] == initial(target, place(i, round)), "way %d, round %d: get %d: %ld", way,
               round, i, buffer[i]);
        buffer[i] = -1; /* nothing comes any more */
      }
    }
    MPI_Win_flush(target, win);
    for (int i = 0; i < 200; ++i)
      expect(buffer[i] == -1, "way %d: %d after its request: %ld", way, i, buffer[i]);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 200; ++i) {
      buffer[i] = 7L * i + way;
      MPI_Rput(&buffer[i], 1, MPI_LONG, target, 2 * i, 1, MPI_LONG, win, &requests[i]);
    }
    complete(requests, 200, way);
    memset(buffer, 0, sizeof buffer);
    MPI_Win_flush(target, win);
    for (int i = 0; i < 200; ++i) MPI_Get(&buffer[i], 1, MPI_LONG, target, 2 * i, 1, MPI_LONG, win);
    MPI_Win_unlock_all(win);
    for (int i = 0; i < 200; ++i)
      expect(buffer[i] == 7L * i + way, "way %d: put %d: %ld", way, i, buffer[i]);
  }
}

static void dynamic(void) {
  static long mine[512];
  MPI_Win open;
  MPI_Aint here, there;
  for (int i = 0; i < 512; ++i) mine[i] = initial(my_rank, i);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &open);
  MPI_Win_attach(open, mine, sizeof mine);
  MPI_Get_address(mine, &here);
  MPI_Sendrecv(&here, 1, MPI_AINT, (my_rank + ranks - 1) % ranks, 0, &there, 1, MPI_AINT, target, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Win_lock_all(0, open);
  for (int i = 0; i < 256; ++i)
    MPI_Get(&buffer[255 - i], 1, MPI_LONG, target, there + 16 * i, 1, MPI_LONG, open);
  MPI_Win_flush(target, open);
  for (int i = 0; i < 256; ++i)
    expect(buffer[255 - i] == initial(target, 2 * i), "dynamic: %d: %ld", i, buffer[255 - i]);
  MPI_Win_unlock_all(open);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_detach(open, mine);
  MPI_Win_free(&open);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int atomics = argc < 2 || strcmp(argv[1], "moves") != 0;
  target = (my_rank + 1) % ranks;
  MPI_Comm_group(MPI_COMM_WORLD, &everybody);
  MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                   &win);
  handles_again();
  const int all = argc < 2 || strcmp(argv[1], "few") != 0;
  if (!all) unfinished();
  for (int kind = 0; all && kind < EPOCHS; ++kind) {
    gets(kind, 3);
    gets(kind, 64);
    gets(kind, MOST);
    write_words(kind, 3);
    write_words(kind, MOST);
    if (atomics) ordered(kind);
  }
  if (all) {
    local_flush(0);
    flush_each(0);
    local_gets();
    types();
    rewrite();
    if (atomics) {
      local_flush(1);
      flush_each(1);
      floating();
      together();
    }
    two_targets();
    errors();
    units_and_requests();
    bursts_with_requests();
    dynamic();
  }
  MPI_Group_free(&everybody);
  MPI_Win_free(&win);
  printf("rank %d: %d failures\n", my_rank, failures);
  MPI_Finalize();
  return failures != 0;
}
