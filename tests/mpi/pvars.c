/* Performance variables of MPI's tool interface: the library's own must be as without Hob, and
 * Hob's counters must be readable while the program runs. Prints the library's own. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
static int rank;

static void expect(int good, const char* what) {
  if (good || failures++ > 20) return;
  printf("FAILED rank %d: %s\n", rank, what);
}

struct variable {
  int there; /* a library may have numbers for variables of parts that it does not use */
  char name[256];
  int name_length;
  int class_of;
  int read_only;
  int continuous;
  int bind;
  MPI_Datatype type;
};

/* `room`: bytes for the name. */
static struct variable info_in(int index, int room) {
  struct variable it;
  memset(&it, 0, sizeof it);
  char text[4096];
  int text_length = sizeof text, verbosity, atomic;
  MPI_T_enum enumeration;
  it.name_length = room;
  it.there = MPI_T_pvar_get_info(index, it.name, &it.name_length, &verbosity, &it.class_of,
                                 &it.type, &enumeration, text, &text_length, &it.bind,
                                 &it.read_only, &it.continuous, &atomic) == MPI_SUCCESS;
  return it;
}

static struct variable info(int index) { return info_in(index, sizeof((struct variable*)0)->name); }

static int with_hob(void) { return dlsym(RTLD_DEFAULT, "HOB_Counter") != NULL; }
static int is_hobs(const char* name) { return strncmp(name, "hob_", 4) == 0; }

/* Every variable is found by its name; the library's own are printed. */
static void list(int print) {
  int count = 0, hobs = 0, others = 0;
  MPI_T_pvar_get_num(&count);
  for (int i = 0; i < count; ++i) {
    struct variable it = info(i);
    if (!it.there) continue;
    is_hobs(it.name) ? ++hobs : ++others;
    if (print && !is_hobs(it.name)) printf("%s class %d\n", it.name, it.class_of);
    int index = -1;
    expect(MPI_T_pvar_get_index(it.name, it.class_of, &index) == MPI_SUCCESS, "get_index by name");
    /* Of several with one name, the library gives any. */
    if (index >= 0) expect(strcmp(info(index).name, it.name) == 0, "get_index gives that name");
    struct variable cut = info_in(i, 3);
    expect(strlen(cut.name) == 2 && strncmp(cut.name, it.name, 2) == 0,
           "a name is cut to its room");
    expect(cut.name_length == 3, "and the length of the rest given");
    expect(info_in(i, 0).name_length == (int)strlen(it.name) + 1, "the length of a name");
  }
  expect((hobs > 0) == with_hob(), "Hob's variables are there");
  if (print) printf("%d variables\n", others);
}

/* The library's numbers of a category's variables, moved by the number of Hob's. Open MPI gives
 * freed memory for variables of parts that it has unloaded: what is no number, or changes, is left
 * out. */
static void check_categories(void) {
  int count = 0, variables = 0, hobs = 0;
  MPI_T_pvar_get_num(&variables);
  while (hobs < variables && is_hobs(info(hobs).name)) ++hobs;
  MPI_T_category_get_num(&count);
  for (int i = 0; i < count; ++i) {
    char name[256], text[4096];
    int name_length = sizeof name, text_length = sizeof text, cvars, pvars, categories;
    MPI_T_category_get_info(i, name, &name_length, text, &text_length, &cvars, &pvars, &categories);
    int* librarys = malloc(sizeof *librarys * (size_t)(pvars + 2));
    int* seen = malloc(sizeof *seen * (size_t)(pvars + 2));
    int* again = malloc(sizeof *again * (size_t)(pvars + 2));
    for (int j = 0; j < pvars + 2; ++j) librarys[j] = seen[j] = again[j] = -7;
    PMPI_T_category_get_pvars(i, pvars + 2, librarys);
    MPI_T_category_get_pvars(i, pvars + 2, seen);
    PMPI_T_category_get_pvars(i, pvars + 2, again);
    for (int j = 0; j < pvars + 2; ++j) {
      if (j < pvars && (librarys[j] < 0 || librarys[j] >= variables - hobs)) continue;
      if (librarys[j] != again[j]) continue;
      expect(seen[j] == librarys[j] + (j < pvars ? hobs : 0), "a category's variables");
    }
    free(librarys);
    free(seen);
    free(again);
  }
}

static MPI_T_pvar_session session;

static MPI_T_pvar_handle handle_of(const char* name, int class_of) {
  int index = -1, count = 0;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  expect(MPI_T_pvar_get_index(name, class_of, &index) == MPI_SUCCESS, name);
  if (index < 0) return handle;
  struct variable it = info(index);
  expect(it.read_only && it.continuous && it.bind == MPI_T_BIND_NO_OBJECT &&
             it.type == MPI_UNSIGNED_LONG_LONG,
         "what a variable of Hob's is like");
  expect(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS, "alloc");
  expect(count == 1, "one value");
  return handle;
}

static unsigned long long read_it(MPI_T_pvar_handle handle) {
  unsigned long long value = 0;
  expect(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS, "read");
  return value;
}

static void check_gets(unsigned long long wanted, const char* what) {
  MPI_T_pvar_session_create(&session);
  expect(read_it(handle_of("hob_gets", MPI_T_PVAR_CLASS_COUNTER)) == wanted, what);
  MPI_T_pvar_session_free(&session);
}

static void hobs_variables(void) {
  MPI_T_pvar_session other;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_session_create(&other);
  MPI_T_pvar_handle gets = handle_of("hob_gets", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle puts = handle_of("hob_puts", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle memory = handle_of("hob_cache_memory", MPI_T_PVAR_CLASS_LEVEL);
  int index = 0;
  expect(MPI_T_pvar_get_index("hob_gets", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_T_ERR_INVALID_NAME,
         "no such class");

  int* base;
  MPI_Win window;
  int value = 0;
  int ranks;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  expect(read_it(gets) == 0, "no get yet");
  for (int i = 1; i <= 10; ++i) {
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % ranks, 0, window);
    MPI_Get(&value, 1, MPI_INT, (rank + 1) % ranks, 0, 1, MPI_INT, window);
    if (i <= 3) MPI_Put(&value, 1, MPI_INT, (rank + 1) % ranks, 4 * i, 1, MPI_INT, window);
    MPI_Win_unlock((rank + 1) % ranks, window);
    expect(read_it(gets) == (unsigned long long)i, "gets are counted at once");
  }
  expect(read_it(puts) == 3, "puts are counted");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&window);
  expect(read_it(gets) == 10, "the gets of an ended window count on");
  read_it(memory);

  unsigned long long any = 1;
  expect(MPI_T_pvar_start(session, gets) == MPI_T_ERR_PVAR_NO_STARTSTOP, "start");
  expect(MPI_T_pvar_stop(session, gets) == MPI_T_ERR_PVAR_NO_STARTSTOP, "stop");
  expect(MPI_T_pvar_write(session, gets, &any) == MPI_T_ERR_PVAR_NO_WRITE, "write");
  expect(MPI_T_pvar_reset(session, gets) == MPI_T_ERR_PVAR_NO_WRITE, "reset");
  expect(MPI_T_pvar_readreset(session, gets, &any) == MPI_T_ERR_PVAR_NO_ATOMIC, "readreset");
  expect(MPI_T_pvar_read(other, gets, &any) == MPI_T_ERR_INVALID_SESSION, "another session");
#ifndef MPI_ABI_VERSION /* MPICH 5's library of the standard ABI crashes here by itself */
  expect(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS, "start all");
  expect(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS, "stop all");
#endif
  expect(MPI_T_pvar_handle_free(session, &gets) == MPI_SUCCESS && gets == MPI_T_PVAR_HANDLE_NULL,
         "free a handle");
  expect(read_it(puts) == 3, "the other handles stay");
  expect(MPI_T_pvar_session_free(&other) == MPI_SUCCESS, "free a session");
  expect(MPI_T_pvar_session_free(&session) == MPI_SUCCESS, "free a session with its handles");
}

int main(int argc, char** argv) {
  int provided, count = 0;
  expect(MPI_T_pvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED, "not before MPI_T_init_thread");
  /* MPICH alone crashes here. */
  if (with_hob()) expect(!info(0).there, "no info before MPI_T_init_thread");
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  if (with_hob()) check_gets(0, "nothing is counted before MPI_Init");
  list(0);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  list(rank == 0);
  check_categories();
  if (with_hob()) hobs_variables();
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d failures\n", all);
  MPI_Finalize();
  if (with_hob()) check_gets(10, "counts stay after MPI_Finalize");
  /* No MPI_T_finalize: after MPI_Finalize it crashes Open MPI 4. */
  return all != 0 || failures != 0;
}
