/* A child that writes a snapshot: after fork() the parent goes on changing memory of MPI_Alloc_mem
 * that a window shows, and the child its copy; neither may see the other's stores. 2 ranks. */
#include <sys/wait.h>

#include "check.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(30);
  enum { kNumbers = 100000 };
  int* memory;
  MPI_Win win;
  MPI_Alloc_mem(kNumbers * sizeof(int), MPI_INFO_NULL, &memory);
  MPI_Win_create(memory, kNumbers * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  for (int i = 0; i < kNumbers; ++i) memory[i] = i;
  MPI_Barrier(MPI_COMM_WORLD);
  int go[2];
  if (pipe(go)) return 1;
  const pid_t child = fork();
  if (child == 0) {
    char word;
    int wrong = 0;
    if (read(go[0], &word, 1) != 1) _exit(2); /* the parent has stored */
    for (int i = 0; i < kNumbers; ++i) wrong += memory[i] != i;
    for (int i = 0; i < kNumbers; ++i) memory[i] = -1;
    _exit(wrong != 0);
  }
  for (int i = 0; i < kNumbers; ++i) memory[i] = 2 * i;
  if (write(go[1], "x", 1) != 1) return 1;
  int status = 0, wrong = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the snapshot is not that of the fork");
  for (int i = 0; i < kNumbers; ++i) wrong += memory[i] != 2 * i;
  CHECK(wrong == 0, "%d numbers were changed by the child", wrong);
  MPI_Win_free(&win);
  MPI_Free_mem(memory);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
