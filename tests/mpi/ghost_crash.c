// Ends badly, in the way that argv[1] names; the job must end too. abort: one rank aborts. exit:
// one rank leaves without MPI_Finalize, with an error; leave, vanish: with status 0, as if all were
// well (exit, _exit); away: so do all. fatal: one rank's call has a fatal error. segv: one rank
// crashes. ghost: some process that is not one of the program's ranks is killed (argv[2]: how many
// ranks the program has).
#include <signal.h>
#include <unistd.h>

#include "ghost_check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  long *base, one = 1;
  MPI_Win win;
  MPI_Win_allocate(4096, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
  MPI_Win_lock_all(0, win);
  for (int t = 0; t < size; ++t) MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, win);
  MPI_Win_flush_all(win);
  const char* how = argc > 1 ? argv[1] : "abort";
  if (strcmp(how, "away") == 0) exit(0);
  if (rank == size - 1) {
    if (strcmp(how, "leave") == 0) exit(0);
    if (strcmp(how, "vanish") == 0) _exit(0);
    if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "exit") == 0) _exit(4);
    if (strcmp(how, "fatal") == 0) {
      MPI_Datatype type;
      MPI_Type_contiguous(-1, MPI_LONG, &type);
    }
    if (strcmp(how, "segv") == 0) raise(SIGSEGV);
    if (strcmp(how, "ghost") == 0) {
      // A sibling that the launcher started and that is no rank of the program: its parent's last
      // child, found by its command's being this program's.
      char command[256];
      snprintf(command, sizeof command, "pgrep -n -P %d -f ghost_crash", (int)getppid());
      FILE* pipe = popen(command, "r");
      int last = 0;
      if (fscanf(pipe, "%d", &last) == 1 && last != (int)getpid()) kill(last, SIGKILL);
      pclose(pipe);
    }
  }
  for (;;) {  // the others wait for operations that may never come back
    for (int t = 0; t < size; ++t)
      MPI_Accumulate(&one, 1, MPI_LONG, t, 0, 1, MPI_LONG, MPI_SUM, win);
    MPI_Win_flush_all(win);
    usleep(1000);
  }
}
