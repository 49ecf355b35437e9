/* Exit handlers and output that the program has before MPI_Init: each once for every rank that the
 * program sees. Argument: a file to append to. */
#include <fcntl.h>

#include "check.h"

static const char* path;
static void append(const char* text) {
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (write(fd, text, strlen(text)) < 0) _exit(5);
  close(fd);
}
static void at_exit(void) { append("handler\n"); }

int main(int argc, char** argv) {
  path = argv[1];
  atexit(at_exit);
  FILE* buffered = fopen(path, "a");
  fputs("buffered\n", buffered);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(60);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
