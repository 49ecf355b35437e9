/* RMA calls with buffers in an accelerator's memory, which traps when the CPU touches it, through
 * ghosts: every kind of operation, with blocks and gaps. Runs with stand_in_accelerator.c behind
 * Hob; without it the buffers are in host memory. */
#include "rma_check.h"

extern void* stand_in_allocate(void) __attribute__((weak));
extern int stand_in_word(int i) __attribute__((weak));
extern void stand_in_set_word(int i, int word) __attribute__((weak));

enum { WORDS = 256 };
static MPI_Win win;
static int host_words[WORDS];
static int* device;

static int word(int i) { return stand_in_word ? stand_in_word(i) : host_words[i]; }
static void set_words(int factor) {
  for (int i = 0; i < WORDS; i++) {
    if (stand_in_set_word)
      stand_in_set_word(i, factor * i);
    else
      host_words[i] = factor * i;
  }
}

/* The target's words as this process reads them into host memory. */
static void look(const char* what, int from, int count, int factor, int step) {
  int seen[WORDS];
  MPI_Get(seen, count, MPI_INT, 1, from, count, MPI_INT, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < count; i++)
    expect(seen[i] == factor * step * i, "%s: %d: %d, not %d", what, i, seen[i], factor * step * i);
}

static void puts_and_gets(MPI_Datatype gaps) {
  MPI_Request request;
  set_words(3);
  MPI_Put(device, 64, MPI_INT, 1, 0, 64, MPI_INT, win);
  MPI_Win_flush(1, win);
  look("put", 0, 64, 3, 1);
  MPI_Put(device, 1, gaps, 1, 64, 32, MPI_INT, win); /* every other word */
  MPI_Win_flush(1, win);
  look("put of a vector", 64, 32, 3, 2);
  set_words(0);
  MPI_Get(device + 5, 64, MPI_INT, 1, 0, 64, MPI_INT, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < 64; i++) expect(word(5 + i) == 3 * i, "get: %d: %d", i, word(5 + i));
  expect(word(4) == 0 && word(69) == 0, "words beside the get's");
  set_words(0);
  MPI_Rget(device, 1, gaps, 1, 0, 32, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(1, win); /* MPICH completes such requests too early */
  for (int i = 0; i < 64; i++)
    expect(word(i) == (i % 2 ? 0 : 3 * (i / 2)), "get into a vector: %d: %d", i, word(i));
  set_words(5);
  MPI_Rput(device, 64, MPI_INT, 1, 0, 64, MPI_INT, win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Win_flush(1, win);
  look("put with a request", 0, 64, 5, 1);
}

static void atomics(void) {
  set_words(2);
  MPI_Accumulate(device, 64, MPI_INT, 1, 0, 64, MPI_INT, MPI_SUM, win);
  MPI_Win_flush(1, win);
  look("accumulate", 0, 64, 7, 1);
  MPI_Get_accumulate(device, 64, MPI_INT, device + 128, 64, MPI_INT, 1, 0, 64, MPI_INT, MPI_SUM,
                     win);
  MPI_Win_flush(1, win);
  look("get_accumulate", 0, 64, 9, 1);
  for (int i = 0; i < 64; i++)
    expect(word(128 + i) == 7 * i, "what get_accumulate got: %d: %d", i, word(128 + i));
  MPI_Get_accumulate(NULL, 0, MPI_INT, device + 64, 16, MPI_INT, 1, 0, 16, MPI_INT, MPI_NO_OP, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < 16; i++)
    expect(word(64 + i) == 9 * i, "atomic read: %d: %d", i, word(64 + i));
  MPI_Fetch_and_op(device + 1, device, MPI_INT, 1, 2, MPI_SUM, win); /* 2 * 1 to 9 * 2 */
  MPI_Win_flush(1, win);
  expect(word(0) == 18, "fetch_and_op got %d", word(0));
  set_words(10); /* expected: 20 (word 2), new: 30 (word 3), result: word 7 */
  MPI_Compare_and_swap(device + 3, device + 2, device + 7, MPI_INT, 1, 2, win);
  MPI_Win_flush(1, win);
  expect(word(7) == 20, "compare_and_swap got %d", word(7));
  int now = 0;
  MPI_Get(&now, 1, MPI_INT, 1, 2, 1, MPI_INT, win);
  MPI_Win_flush(1, win);
  expect(now == 30, "compare_and_swap left %d", now);
}

/* Memory of an accelerator that is exposed itself: by the MPI library. */
static void window_of_device(void) {
  MPI_Win other;
  MPI_Win_create(device, WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &other);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&other);
}

int main(int argc, char** argv) {
  int* memory;
  MPI_Datatype gaps;
  begin(&argc, &argv);
  device = stand_in_allocate ? stand_in_allocate() : host_words;
  MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Type_vector(32, 1, 2, MPI_INT, &gaps);
  MPI_Type_commit(&gaps);
  memset(memory, 0, WORDS * sizeof(int));
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    puts_and_gets(gaps);
    atomics();
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Type_free(&gaps);
  MPI_Win_free(&win);
  window_of_device();
  return finish();
}
