/* Places that are read again in every phase, their bytes written anew before each: what the program
 * sees must be what it sees without Hob. The other ranks write, rank 0 reads, by every kind of
 * epoch; in the midst of phases it receives messages and writes itself. */
#include "rma_check.h"

enum { WORDS = 4096, PLACES = 60, ITERATIONS = 12 };

static MPI_Win win;
static int* memory;
static int places[PLACES];

static int value(int rank, int version, int word) {
  return rank * 10000000 + version * 10000 + word;
}

static void fill(int version) {
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int word = 0; word < WORDS; word++) memory[word] = value(my_rank, version, word);
  MPI_Win_unlock(my_rank, win);
}

static unsigned next_random = 1;
static int random_below(int most) {
  next_random = next_random * 1103515245u + 12345u;
  return (int)(next_random >> 16) % most;
}

static void shuffle(void) {
  for (int i = PLACES - 1; i > 0; i--) {
    const int j = random_below(i + 1), place = places[i];
    places[i] = places[j];
    places[j] = place;
  }
}

static int rank_of(int i) { return 1 + i % (ranks - 1); }

static void seen(const char* how, int got, int rank, int version, int word) {
  expect(got == value(rank, version, word), "%s: word %d of rank %d is %d, not %d", how, word, rank,
         got, value(rank, version, word));
}

static int get_one(int rank, int word) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, rank, word, 1, MPI_INT, win);
  MPI_Win_flush(rank, win);
  return got;
}

static void by_flush(int version) {
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < PLACES; i++)
    seen("flush", get_one(rank_of(i), places[i]), rank_of(i), version, places[i]);
  MPI_Win_unlock_all(win);
}

static void by_bursts(int version) {
  int got[PLACES];
  MPI_Win_lock_all(0, win);
  for (int begin = 0; begin < PLACES; begin += 5) {
    for (int i = begin; i < begin + 5; i++)
      MPI_Get(&got[i], 1, MPI_INT, rank_of(i), places[i], 1, MPI_INT, win);
    MPI_Win_flush_all(win);
  }
  MPI_Win_unlock_all(win);
  for (int i = 0; i < PLACES; i++) seen("burst", got[i], rank_of(i), version, places[i]);
}

static void by_requests(int version) {
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < PLACES; i++) {
    int got = -1, flag = 0;
    MPI_Request request;
    MPI_Rget(&got, 1, MPI_INT, rank_of(i), places[i], 1, MPI_INT, win, &request);
    if (i % 3 != 0)
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
      while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    seen("request", got, rank_of(i), version, places[i]);
  }
  MPI_Win_unlock_all(win);
}

static void by_locks(int version) {
  for (int rank = 1; rank < ranks; rank++) {
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    for (int i = 0; i < 6; i++) seen("lock", get_one(rank, 7 * i), rank, version, 7 * i);
    MPI_Win_unlock(rank, win);
  }
}

/* What a message tells in the midst of a phase is seen, though a phase like it has read the place.
 */
static void told_meanwhile(int version) {
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < PLACES; i++) {
    const int told = i >= PLACES / 2 && rank_of(i) == 1;
    if (i == PLACES / 2) {
      MPI_Send(NULL, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
      MPI_Recv(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    seen("told", get_one(rank_of(i), places[i]), rank_of(i), told ? version + 1 : version,
         places[i]);
  }
  MPI_Win_unlock_all(win);
}

/* An own write is seen, whether the place was recalled before it or would be after it. */
static void own_writes(int version) {
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < PLACES; i++) {
    const int mine = -places[i] - 1;
    if (i % 4 == 1) {
      MPI_Put(&mine, 1, MPI_INT, rank_of(i), places[i], 1, MPI_INT, win);
      if (i % 8 == 1) {
        MPI_Win_flush(rank_of(i), win);
        expect(get_one(rank_of(i), places[i]) == mine, "an own put of word %d is not seen",
               places[i]);
      }
      continue;
    }
    seen("own", get_one(rank_of(i), places[i]), rank_of(i), version, places[i]);
  }
  MPI_Win_unlock_all(win);
}

static void by_fences(int version) {
  int got[PLACES];
  MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
  if (my_rank == 0)
    for (int i = 0; i < PLACES; i++)
      MPI_Get(&got[i], 1, MPI_INT, rank_of(i), places[i], 1, MPI_INT, win);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  if (my_rank == 0)
    for (int i = 0; i < PLACES; i++) seen("fence", got[i], rank_of(i), version, places[i]);
}

static void by_start(int version) {
  int got[PLACES], all[64];
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  for (int rank = 1; rank < ranks; rank++) all[rank - 1] = rank;
  MPI_Group_incl(world, my_rank == 0 ? ranks - 1 : 1, my_rank == 0 ? all : (int[]){0}, &group);
  if (my_rank == 0) {
    MPI_Win_start(group, 0, win);
    for (int i = 0; i < PLACES; i++)
      MPI_Get(&got[i], 1, MPI_INT, rank_of(i), places[i], 1, MPI_INT, win);
    MPI_Win_complete(win);
    for (int i = 0; i < PLACES; i++) seen("start", got[i], rank_of(i), version, places[i]);
  } else {
    MPI_Win_post(group, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_Win_allocate(WORDS * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  for (int i = 0; i < PLACES; i++) places[i] = i * (WORDS / PLACES);
  int version = 0;
  void (*const ways[])(int) = {by_flush, by_bursts, by_requests, by_locks, own_writes, by_flush};
  for (int way = 0; way < 6; way++)
    for (int i = 0; i < ITERATIONS; i++) {
      fill(++version);
      MPI_Barrier(MPI_COMM_WORLD);
      if (i % 3 == 2) shuffle();
      if (my_rank == 0) ways[way](version);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  for (int i = 0; i < ITERATIONS; i++) {
    fill(++version);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) told_meanwhile(version);
    if (my_rank == 1) {
      MPI_Recv(NULL, 0, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      fill(version + 1);
      MPI_Send(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
    version++;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < ITERATIONS; i++) {
    fill(++version);
    MPI_Barrier(MPI_COMM_WORLD);
    by_fences(version);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < ITERATIONS; i++) {
    fill(++version);
    MPI_Barrier(MPI_COMM_WORLD);
    by_start(version);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&win);
  return finish();
}
