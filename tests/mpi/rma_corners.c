/* Corners of MPI that a cache of gets must know of. Every value is determined by MPI. */
#include "rma_check.h"

enum { CELLS = 1024 };

static int last; /* the rank whose memory is read */

/* Cells that say whose they are and which: rank * 10000 + cell. */
static MPI_Win make_numbered(MPI_Info info) {
  int* memory;
  MPI_Win win;
  MPI_Win_allocate(CELLS * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < CELLS; ++i) memory[i] = my_rank * 10000 + i;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, my_rank, 0, win);
  MPI_Win_unlock(my_rank, win);
  MPI_Barrier(MPI_COMM_WORLD);
  return win;
}

static void expect_cells(const int* got, int from, int count, const char* what) {
  for (int i = 0; i < count; ++i)
    expect(got[i] == last * 10000 + from + i, "%s: cell %d is %d", what, from + i, got[i]);
}

/* Ranks may ask for different things: some cache, some do not. */
static void different_wishes(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hob_cache", my_rank == 0 ? "off" : "strict");
  for (int round = 0; round < 2; ++round) {
    MPI_Win win = make_numbered(my_rank == 1 ? MPI_INFO_NULL : info);
    int got[4];
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < 3; ++i) {
      MPI_Get(got, 4, MPI_INT, last, 20, 4, MPI_INT, win);
      MPI_Win_flush(last, win);
      expect_cells(got, 20, 4, "different wishes");
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  MPI_Info_free(&info);
}

/* Told to stop, or to do it another way, while gets are under way. */
static void changed_wishes(void) {
  const char* words[] = {"off", "strict", "auto", "off", "auto"};
  MPI_Win win = make_numbered(MPI_INFO_NULL);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 5; ++i) {
    int first[8], again[8], inside[2];
    memset(first, 0xee, sizeof first);
    memset(again, 0xee, sizeof again);
    memset(inside, 0xee, sizeof inside);
    if (my_rank == 0) {
      MPI_Get(first, 8, MPI_INT, last, 900, 8, MPI_INT, win);
      MPI_Win_flush_all(win);
      MPI_Get(first, 8, MPI_INT, last, 100 * i, 8, MPI_INT, win);
      MPI_Get(again, 8, MPI_INT, last, 100 * i, 8, MPI_INT, win);
      MPI_Get(inside, 2, MPI_INT, last, 100 * i + 3, 2, MPI_INT, win);
    }
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "hob_cache", words[i]);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_flush_all(win);
    if (my_rank == 0) {
      expect_cells(first, 100 * i, 8, "changed wishes, first");
      expect_cells(again, 100 * i, 8, "changed wishes, again");
      expect_cells(inside, 100 * i + 3, 2, "changed wishes, inside");
    }
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static int free_kept_type(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)state;
  return MPI_Type_free((MPI_Datatype*)value);
}

static MPI_Datatype three_of_seven(int middle) {
  const int lengths[3] = {1, 1, 1};
  const int places[3] = {0, middle, 6};
  MPI_Datatype type;
  MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Libraries keep datatypes as attributes of a communicator and free them with it: in a callback,
 * from within another call. The next type may get the same handle. */
static void types_freed_in_callbacks(void) {
  MPI_Win win = make_numbered(MPI_INFO_NULL);
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_kept_type, &key, NULL);
  for (int round = 0; round < 10; ++round) {
    int got[3];
    MPI_Comm comm;
    MPI_Datatype kept = three_of_seven(1);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_attr(comm, key, &kept);
    if (my_rank == 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
      MPI_Get(got, 3, MPI_INT, last, 8, 1, kept, win);
      MPI_Win_unlock(last, win);
    }
    MPI_Comm_free(&comm);
    if (my_rank == 0) {
      MPI_Datatype types[2] = {three_of_seven(5), three_of_seven(1)};
      MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
      for (int i = 0; i < 4; ++i) {
        const int middle = i % 2 ? 1 : 5;
        memset(got, 0xff, sizeof got);
        MPI_Get(got, 3, MPI_INT, last, 8, 1, types[i % 2], win);
        MPI_Win_flush(last, win);
        expect(got[1] == last * 10000 + 8 + middle, "the type with %d: %d", middle, got[1]);
      }
      MPI_Win_unlock(last, win);
      MPI_Type_free(&types[0]);
      MPI_Type_free(&types[1]);
    }
  }
  MPI_Comm_free_keyval(&key);
  MPI_Win_free(&win);
}

/* Predefined types without a name, which nobody may free, inside derived ones. */
static void unnamed_types(void) {
  MPI_Win win = make_numbered(MPI_INFO_NULL);
  MPI_Datatype parts[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Type_create_f90_real(6, 30, &parts[0]);
  MPI_Type_create_f90_integer(8, &parts[1]);
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  MPI_Type_get_value_index(MPI_FLOAT, MPI_INT, &parts[2]);
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (int p = 0; p < 3; ++p) {
    /* Libraries without Fortran have none of the first kind. */
    if (parts[p] == MPI_DATATYPE_NULL) continue;
    int size = 0;
    MPI_Type_size(parts[p], &size);
    for (int round = 0; round < 5; ++round) {
      int got[16];
      MPI_Datatype type;
      MPI_Type_vector(2, 1, 3, parts[p], &type);
      MPI_Type_commit(&type);
      memset(got, 0xff, sizeof got);
      MPI_Win_lock_all(0, win);
      MPI_Get(got, 1, type, last, 64, 1, type, win);
      MPI_Win_flush(last, win);
      MPI_Get(got, 1, type, last, 64, 1, type, win);
      MPI_Win_unlock_all(win);
      MPI_Type_free(&type);
      expect_cells(got, 64, 1, "unnamed type");
      expect_cells(got + 3 * size / 4, 64 + 3 * size / 4, 1, "unnamed type, next");
      expect(got[size / 4] == -1, "unnamed type: the gap is %d", got[size / 4]);
    }
  }
  MPI_Win_free(&win);
}

/* MPICH takes MPI_PROC_NULL in calls that synchronise. They complete nothing. */
static void null_targets(void) {
#ifdef MPICH_VERSION
  MPI_Win win = make_numbered(MPI_INFO_NULL);
  for (int round = 0; round < 5 && my_rank == 0; ++round) {
    int got[CELLS], again[CELLS];
    memset(got, 0xee, sizeof got);
    MPI_Win_lock(MPI_LOCK_SHARED, last, 0, win);
    MPI_Win_flush(last, win);
    if (round % 2) MPI_Win_lock(MPI_LOCK_SHARED, MPI_PROC_NULL, 0, win);
    MPI_Get(got, CELLS, MPI_INT, last, 0, CELLS, MPI_INT, win);
    if (round % 2) {
      MPI_Win_unlock(MPI_PROC_NULL, win);
    } else {
      MPI_Win_flush(MPI_PROC_NULL, win);
      MPI_Win_flush_local(MPI_PROC_NULL, win);
    }
    MPI_Win_flush(last, win);
    MPI_Get(again, CELLS, MPI_INT, last, 0, CELLS, MPI_INT, win);
    MPI_Win_flush(last, win);
    expect_cells(got, 0, CELLS, "null targets");
    expect_cells(again, 0, CELLS, "null targets, again");
    MPI_Win_unlock(last, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
#endif
}

/* Gets are under way while puts to another place are completed locally. */
static void local_flushes(void) {
  MPI_Win win = make_numbered(MPI_INFO_NULL);
  for (int round = 0; round < 5 && my_rank == 0; ++round) {
    int got[CELLS], again[CELLS];
    const int one = 1;
    memset(got, 0xee, sizeof got);
    MPI_Win_lock_all(0, win);
    MPI_Get(got, CELLS - 1, MPI_INT, last, 0, CELLS - 1, MPI_INT, win);
    MPI_Put(&one, 1, MPI_INT, last, CELLS - 1, 1, MPI_INT, win);
    if (round % 2)
      MPI_Win_flush_local(last, win);
    else
      MPI_Win_flush_local_all(win);
    MPI_Win_flush(last, win);
    MPI_Get(again, CELLS - 1, MPI_INT, last, 0, CELLS - 1, MPI_INT, win);
    MPI_Win_flush(last, win);
    expect_cells(got, 0, CELLS - 1, "local flush");
    expect_cells(again, 0, CELLS - 1, "local flush, again");
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
}

/* A window of strict mode in which a flag is read atomically, and one of the default mode with what
 * is behind it. */
static void flag_in_another_mode(void) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "hob_cache", "strict");
  MPI_Win flags, data;
  int *flag_memory, *data_memory;
  MPI_Win_allocate(64, 4, info, MPI_COMM_WORLD, &flag_memory, &flags);
  MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &data_memory, &data);
  MPI_Info_free(&info);
  memset(flag_memory, 0, 64);
  memset(data_memory, 0, 64);
  MPI_Win_lock_all(0, flags);
  MPI_Win_lock_all(0, data);
  MPI_Win_sync(flags);
  MPI_Win_sync(data);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 1; round < 30; ++round) {
    int value = -1, flag = -1;
    if (my_rank == 0) {
      MPI_Get(&value, 1, MPI_INT, last, 2, 1, MPI_INT, data); /* a copy of the old */
      MPI_Win_flush(last, data);
      reach(0, round);
      await_in_mpi(1, round);
      while (flag != round) {
        MPI_Get_accumulate(NULL, 0, MPI_INT, &flag, 1, MPI_INT, last, 1, 1, MPI_INT, MPI_NO_OP,
                           flags);
        MPI_Win_flush(last, flags);
      }
      MPI_Get(&value, 1, MPI_INT, last, 2, 1, MPI_INT, data);
      MPI_Win_flush(last, data);
      expect(value == round, "behind a flag in mode strict: %d, not %d", value, round);
    } else if (my_rank == last) {
      await_in_mpi(0, round);
      MPI_Put(&round, 1, MPI_INT, last, 2, 1, MPI_INT, data);
      MPI_Win_flush(last, data);
      MPI_Accumulate(&round, 1, MPI_INT, last, 1, 1, MPI_INT, MPI_REPLACE, flags);
      MPI_Win_flush(last, flags);
      reach(1, round);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(flags);
  MPI_Win_unlock_all(data);
  MPI_Win_free(&data);
  MPI_Win_free(&flags);
}

static const struct {
  const char* name;
  void (*run)(void);
} corners[] = {
    {"different-wishes", different_wishes},
    {"changed-wishes", changed_wishes},
    {"types-in-callbacks", types_freed_in_callbacks},
    {"unnamed-types", unnamed_types},
    {"null-targets", null_targets},
    {"local-flushes", local_flushes},
    {"flag-in-another-mode", flag_in_another_mode},
};

/* With an argument: that corner alone. */
int main(int argc, char** argv) {
  begin(&argc, &argv);
  last = ranks - 1;
  for (size_t i = 0; i < sizeof corners / sizeof corners[0]; ++i)
    if (argc < 2 || strcmp(argv[1], corners[i].name) == 0) corners[i].run();
  return finish();
}
