/* Rank 0 starts an MPI program of its own in the middle of the job, without the launcher's
 * variables: as a singleton, or (argument: path of mpiexec) as a job of two ranks. It must start,
 * with that many ranks. 2 ranks. */
#include <sys/wait.h>

#include "check.h"

extern char** environ;

static void forget_the_launcher(void) {
  static const char* const prefixes[] = {"PMI",    "OMPI_", "PMIX_",     "PRTE_",
                                         "HYDI_",  "HYD_",  "MPI_LOCAL", "MPIR_CVAR_NUM_CLIQUES",
                                         "MPIEXEC"};
  for (char** each = environ; *each;) {
    int ours = 0;
    char name[256] = {0};
    const char* equals = strchr(*each, '=');
    if (equals && (size_t)(equals - *each) < sizeof name)
      memcpy(name, *each, (size_t)(equals - *each));
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; ++i)
      ours |= strncmp(name, prefixes[i], strlen(prefixes[i])) == 0 &&
              strncmp(name, "OMPI_ALLOW", 10) && strncmp(name, "PRTE_ALLOW", 10);
    if (ours && name[0])
      unsetenv(name);
    else
      ++each;
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "child") == 0) { /* the program inside */
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int as_asked = sum == atoi(argv[2]);
    if (rank == 0) printf("inside: %d ranks, %s asked for\n", sum, argv[2]);
    MPI_Finalize();
    return as_asked ? 0 : 9;
  }
  watch(60);
  if (rank == 0) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      for (int fd = 3; fd < 256; ++fd) close(fd);
      forget_the_launcher();
      if (argc > 1)
        execl(argv[1], argv[1], "-n", "2", argv[0], "child", "2", (char*)0);
      else
        execl(argv[0], argv[0], "child", "1", (char*)0);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program inside ended with %s %d",
          WIFEXITED(status) ? "status" : "signal",
          WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
