// Operations that nobody can carry out, since the target's pages do not let them: the program hears
// of each by an error, at the call that completes it at the latest; of none that was carried out;
// and all is well again afterwards. Rank 0 is the origin, the last rank the target.
#include <sys/mman.h>

#include "ghost_check.h"

enum { bytes = 1 << 16, at = 4096 };

static MPI_Win win;
static int target;
static int first;  // error code
static char there[64];
static long one = 1, zero, got[2];

static void keep(int code) {
  if (first == MPI_SUCCESS) first = code;
}

static void put(void) { keep(MPI_Put(there, 64, MPI_CHAR, target, at, 64, MPI_CHAR, win)); }
static void get(void) { keep(MPI_Get(there, 64, MPI_CHAR, target, at, 64, MPI_CHAR, win)); }
static void add(void) {
  keep(MPI_Accumulate(&one, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM, win));
}
static void get_add(void) {
  keep(MPI_Get_accumulate(&one, 1, MPI_LONG, got, 1, MPI_LONG, target, at, 1, MPI_LONG, MPI_SUM,
                          win));
}
static void fetch(void) { keep(MPI_Fetch_and_op(&one, got, MPI_LONG, target, at, MPI_SUM, win)); }
static void swap(void) { keep(MPI_Compare_and_swap(&one, &zero, got, MPI_LONG, target, at, win)); }
static void large(void) {
  static char many[bytes];
  keep(MPI_Put(many, bytes, MPI_CHAR, target, 0, bytes, MPI_CHAR, win));
}
static void wait_for(MPI_Request* request) {
  const int code = MPI_Wait(request, MPI_STATUS_IGNORE);
  keep(code);
}
static void rput(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  keep(MPI_Rput(there, 64, MPI_CHAR, target, at, 64, MPI_CHAR, win, &request));
  wait_for(&request);
}
static void rget(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  keep(MPI_Rget(there, 64, MPI_CHAR, target, at, 64, MPI_CHAR, win, &request));
  wait_for(&request);
}

static const struct {
  const char* name;
  void (*issue)(void);
  int reads;  // and writes nothing
} operations[] = {{"put", put, 0},
                  {"get", get, 1},
                  {"accumulate", add, 0},
                  {"get_accumulate", get_add, 0},
                  {"fetch_and_op", fetch, 0},
                  {"compare_and_swap", swap, 0},
                  {"long put", large, 0},
                  {"rput", rput, 0},
                  {"rget", rget, 1}};
enum { kinds = sizeof operations / sizeof operations[0], ends = 5 };

// One operation in an epoch that is completed in this way.
static int play(int kind, int end) {
  first = MPI_SUCCESS;
  if (end == 0)
    keep(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win));
  else
    keep(MPI_Win_lock_all(0, win));
  operations[kind].issue();
  switch (end) {
    case 0:
      keep(MPI_Win_unlock(target, win));
      return first;
    case 1:
      keep(MPI_Win_flush(target, win));
      break;
    case 2:
      keep(MPI_Win_flush_all(win));
      break;
    case 3:
      keep(MPI_Win_flush_local(target, win));
      break;
    default:
      break;
  }
  keep(MPI_Win_unlock_all(win));
  return first;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  target = size - 1;
  char* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 0, bytes);
  MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  for (int bad = 1; bad >= 0; bad--) {
    // Pages that can be read only, and such that cannot be read either.
    for (int unreadable = 0; unreadable <= bad; unreadable++) {
      if (rank == target)
        mprotect(memory, bytes, !bad ? PROT_READ | PROT_WRITE : unreadable ? PROT_NONE : PROT_READ);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank == 0)
        for (int kind = 0; kind < kinds; kind++)
          for (int end = 0; end < ends; end++) {
            const int fails = bad && (unreadable || !operations[kind].reads);
            const int failed = play(kind, end) != MPI_SUCCESS;
            if (failed != fails)
              fprintf(stderr, "%s, end %d: %s\n", operations[kind].name, end,
                      failed ? "an error" : "success");
            CHECK(failed == fails);
          }
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  // What was told once is not told again.
  if (rank == 0) CHECK(play(0, 1) == MPI_SUCCESS && play(1, 0) == MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return check_finish();
}
