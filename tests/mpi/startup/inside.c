/* Rank 0 starts a program that is linked with another MPI library (argument: its path), as a
 * singleton and without the launcher's variables. Without arguments it is that program. 2 ranks. */
#include <sys/wait.h>

#include "check.h"

extern char** environ;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 2) {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    printf("inside: %.24s\n", text);
    MPI_Finalize();
    return 0;
  }
  watch(60);
  if (rank == 0) {
    const pid_t child = fork();
    if (child == 0) {
      for (int fd = 3; fd < 256; ++fd) close(fd);
      for (char** each = environ; *each;) {
        char name[256] = {0};
        const size_t length = strcspn(*each, "=");
        if (length < sizeof name) memcpy(name, *each, length);
        const int launcher = (!strncmp(name, "PMI", 3) || !strncmp(name, "OMPI_", 5) ||
                              !strncmp(name, "PRTE_", 5) || !strncmp(name, "HYD", 3)) &&
                             !strstr(name, "_ALLOW_");
        if (launcher)
          unsetenv(name);
        else
          ++each;
      }
      execl(argv[1], argv[1], (char*)0);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program inside ended with %d",
          WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
