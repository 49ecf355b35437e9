/* Places that are read again in every phase, where the program could be shown bytes of before: it
 * polls one of them, writes through another window over the same memory, excludes others by locks,
 * makes the window anew, takes memory of a dynamic window away, or gets an error in between. */
#include "rma_check.h"

enum { WORDS = 4096, PLACES = 40, PHASES = 10 };

static int* memory;

static int place(int i) { return i * (WORDS / PLACES); }

static int get(MPI_Win win, int rank, MPI_Aint at) {
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, rank, at, 1, MPI_INT, win);
  MPI_Win_flush(rank, win);
  return got;
}

static void fill(MPI_Win win, int version) {
  MPI_Win_lock(MPI_LOCK_SHARED, my_rank, 0, win);
  for (int word = 0; word < WORDS; word++) memory[word] = 10000 * version + word;
  MPI_Win_unlock(my_rank, win);
}

static void read_all(const char* how, MPI_Win win, int version) {
  for (int i = 0; i < PLACES; i++) {
    const int got = get(win, 1, place(i));
    expect(got == 10000 * version + place(i), "%s: word %d is %d in phase %d", how, place(i), got,
           version);
  }
}

/* The last place is stored to while the phase that has recalled it goes on; nothing tells the
 * reader. It sees the store after some more gets. */
static void polls(MPI_Win win) {
  for (int phase = 1; phase <= PHASES; phase++) {
    if (my_rank == 1) fill(win, phase);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock_all(0, win);
      read_all("before a poll", win, phase);
      reach(0, phase);
      const double until = MPI_Wtime() + 30;
      while (get(win, 1, place(PLACES - 1)) != -phase && MPI_Wtime() < until) continue;
      expect(MPI_Wtime() < until, "a poll did not see the store of phase %d", phase);
      MPI_Win_unlock_all(win);
    } else if (my_rank == 1) {
      await_in_mpi(0, phase);
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      memory[place(PLACES - 1)] = -phase;
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* What is put through one window is read through the other, among places that were recalled. */
static void two_windows(MPI_Win win) {
  MPI_Win other;
  MPI_Win_create(memory, WORDS * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                 &other);
  for (int phase = 1; phase <= PHASES; phase++) {
    if (my_rank == 1) fill(win, phase);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock_all(0, win);
      MPI_Win_lock_all(0, other);
      for (int i = 0; i < PLACES / 2; i++) get(win, 1, place(i));
      for (int i = 0; i < PLACES; i += 3) {
        const int mine = -place(i) - phase;
        MPI_Put(&mine, 1, MPI_INT, 1, place(i), 1, MPI_INT, other);
      }
      MPI_Win_flush(1, other);
      for (int i = 0; i < PLACES; i++) {
        const int got = get(win, 1, place(i));
        const int right = i % 3 == 0 ? -place(i) - phase : 10000 * phase + place(i);
        expect(got == right, "two windows: word %d is %d, not %d", place(i), got, right);
      }
      MPI_Win_unlock_all(other);
      MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_free(&other);
}

/* All ranks but the owner count in some places, each under an exclusive lock: no count is lost. */
static void exclusive_locks(MPI_Win win) {
  enum { ROUNDS = 40, COUNTERS = 6 };
  if (my_rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (int i = 0; i < COUNTERS; i++) memory[place(i)] = 0;
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < ROUNDS && my_rank != 1; round++) {
    int counts[COUNTERS];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    for (int i = 0; i < COUNTERS; i++) counts[i] = get(win, 1, place(i)) + 1;
    for (int i = 0; i < COUNTERS; i++)
      MPI_Put(&counts[i], 1, MPI_INT, 1, place(i), 1, MPI_INT, win);
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (int i = 0; i < COUNTERS; i++)
      expect(memory[place(i)] == ROUNDS * (ranks - 1), "counter %d is %d", i, memory[place(i)]);
    MPI_Win_unlock(1, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Inside one epoch, MPI_Win_sync after a message is where new bytes are expected. */
static void syncs(MPI_Win win) {
  if (my_rank == 0) MPI_Win_lock_all(0, win);
  for (int phase = 1; phase <= PHASES; phase++) {
    if (my_rank == 1) {
      fill(win, phase);
      reach(1, phase); /* not by MPI: the reader learns of it by MPI_Win_sync alone */
      await_in_mpi(2, phase);
    } else if (my_rank == 0) {
      await(1, phase);
      MPI_Win_sync(win);
      read_all("sync", win, phase);
      reach(2, phase);
    }
  }
  if (my_rank == 0) MPI_Win_unlock_all(win);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* A wrong call in the midst of a phase changes nothing for those that follow. */
static void errors(MPI_Win win) {
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int phase = 1; phase <= PHASES; phase++) {
    if (my_rank == 1) fill(win, phase);
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      int got = -1;
      MPI_Win_lock_all(0, win);
      expect(get(win, 1, place(0)) == 10000 * phase, "before an error");
      expect(MPI_Get(&got, 1, MPI_INT, ranks + 5, 0, 1, MPI_INT, win) != MPI_SUCCESS,
             "a get of no rank is no error");
      expect(MPI_Get(&got, 1, MPI_DATATYPE_NULL, 1, 0, 1, MPI_INT, win) != MPI_SUCCESS,
             "a get of no datatype is no error");
      read_all("after an error", win, phase);
      MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/* The next window may lie where this one did. */
static void windows_in_turn(void) {
  for (int turn = 0; turn < 6; turn++) {
    MPI_Win win;
    MPI_Win_allocate(WORDS * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &memory, &win);
    for (int phase = 1; phase <= 4; phase++) {
      if (my_rank == 1) fill(win, 10 * turn + phase);
      MPI_Barrier(MPI_COMM_WORLD);
      if (my_rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        read_all("windows in turn", win, 10 * turn + phase);
        MPI_Win_unlock(1, win);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
  }
}

/* Memory that was read in earlier phases is not attached any more, and unmapped. */
static void dynamic(void) {
  enum { EACH = 4096 };
  MPI_Win win;
  MPI_Aint bases[PLACES];
  int* parts[PLACES];
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < PLACES; i++) {
    parts[i] = (int*)mmap(NULL, EACH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (my_rank == 1) MPI_Win_attach(win, parts[i], EACH);
    MPI_Get_address(parts[i], &bases[i]);
  }
  MPI_Bcast(bases, sizeof bases, MPI_BYTE, 1, MPI_COMM_WORLD);
  for (int phase = 1; phase <= PHASES; phase++) {
    const int left = PLACES - 3 * phase;
    if (my_rank == 1) {
      for (int i = left; i < left + 3; i++) {
        MPI_Win_detach(win, parts[i]);
        munmap(parts[i], EACH);
      }
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
      for (int i = 0; i < left; i++) parts[i][0] = 1000 * phase + i;
      MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (my_rank == 0) {
      MPI_Win_lock_all(0, win);
      for (int i = 0; i < left; i++) {
        const int got = get(win, 1, bases[i]);
        expect(got == 1000 * phase + i, "dynamic: part %d is %d", i, got);
      }
      MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < PLACES - 3 * PHASES && my_rank == 1; i++) MPI_Win_detach(win, parts[i]);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Win win;
  begin(&argc, &argv);
  MPI_Win_allocate(WORDS * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &memory, &win);
  two_windows(win);
  exclusive_locks(win);
  syncs(win);
  errors(win);
  polls(win); /* the last: whoever polls loses its cache */
  MPI_Win_free(&win);
  windows_in_turn();
  dynamic();
  return finish();
}
