/* Bytes that are read from a rank whose memory is as near as one's own: none of these gets is
 * looked up, from the first on, and no blocks are fetched around them. Gets from another node are.
 */
#include "rma_check.h"

enum { PIECE = 4096, PIECES = 500, ROUNDS = 10 };

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

static unsigned long long counter(const char* name) {
  unsigned long long value = 0;
  if (HOB_Counter) HOB_Counter(name, &value);
  return value;
}

/* Whether the MPI library says that the rank is on this node. Collective. */
static int is_near(int rank) {
  MPI_Comm node;
  MPI_Group all, near;
  int there = MPI_UNDEFINED;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Comm_group(node, &near);
  MPI_Group_translate_ranks(all, 1, &rank, near, &there);
  MPI_Group_free(&all);
  MPI_Group_free(&near);
  MPI_Comm_free(&node);
  return there != MPI_UNDEFINED;
}

/* The same words of each rank, twice in one epoch: which of these gets were left to the library? */
static void read_all_ranks(void) {
  enum { WORDS = 64 };
  int* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < WORDS; i++) memory[i] = 100 * my_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  int nears[16];
  for (int rank = 0; rank < ranks; rank++) nears[rank] = is_near(rank);
  for (int rank = 0; rank < ranks; rank++) {
    const int near = nears[rank], own = rank == my_rank;
    const unsigned long long bypassed = counter("bypassed"), own_gets = counter("own_rank");
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 2 * WORDS; i++) {
      int value = -1;
      MPI_Request request = MPI_REQUEST_NULL;
      if (i % 4 == 3) {
        MPI_Rget(&value, 1, MPI_INT, rank, i % WORDS, 1, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      } else {
        MPI_Get(&value, 1, MPI_INT, rank, i % WORDS, 1, MPI_INT, win);
        i % 4 == 2 ? MPI_Win_flush_all(win) : MPI_Win_flush(rank, win);
      }
      expect(value == 100 * rank + i % WORDS, "word %d of rank %d: %d", i % WORDS, rank, value);
    }
    MPI_Win_unlock_all(win);
    if (!HOB_Counter) continue;
    const char* const bypass = getenv("HOB_CACHE_BYPASS");
    if (near && !own && !(bypass && strcmp(bypass, "off") == 0))
      expect(counter("bypassed") - bypassed == 2 * WORDS, "rank %d: %llu gets left alone", rank,
             counter("bypassed") - bypassed);
    expect(counter("own_rank") - own_gets == (own ? 2 * WORDS : 0), "rank %d: %llu own gets", rank,
           counter("own_rank") - own_gets);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int near = is_near(1);
  char* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate((MPI_Aint)PIECE * PIECES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < PIECES; i++) memset(memory + (size_t)i * PIECE, i % 100, PIECE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (my_rank == 0 && near) {
    static char bytes[PIECE];
    for (int round = 0; round < ROUNDS; round++) {
      MPI_Win_sync(win);
      for (int i = 0; i < PIECES; i++) {
        MPI_Get(bytes, PIECE, MPI_BYTE, 1, (MPI_Aint)i * PIECE, PIECE, MPI_BYTE, win);
        MPI_Win_flush(1, win);
        expect(bytes[0] == i % 100 && bytes[PIECE - 1] == i % 100, "piece %d: %d, %d", i, bytes[0],
               bytes[PIECE - 1]);
      }
    }
    expect(counter("ahead_gets") == 0, "%llu gets of blocks", counter("ahead_gets"));
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  read_all_ranks();
  return finish();
}
