/* A batch system's limit on addresses (ulimit -v): what Hob sets aside for caches and for ghosts
 * leaves the program what it needs. */
#include <sys/resource.h>

#include "rma_check.h"

enum { kMiB = 1 << 20, kWindows = 3, kWords = 1 << 16, kGets = 300 };

static void limit_addresses(size_t more) {
  long pages = 0;
  FILE* sizes = fopen("/proc/self/statm", "r");
  if (!sizes || fscanf(sizes, "%ld", &pages) != 1) exit(3);
  fclose(sizes);
  const rlim_t most = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
  const struct rlimit limit = {most, most};
  setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char** argv) {
  limit_addresses((size_t)4000 * kMiB);
  begin(&argc, &argv);
  const int target = (my_rank + 1) % ranks;
  for (int window = 0; window < kWindows; ++window) {
    int* memory;
    MPI_Win win;
    MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &win);
    for (int i = 0; i < kWords; ++i) memory[i] = 1000 * my_rank + i;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < kGets; ++i) {
      const int at = i * 7919 % kWords;
      int got = -1;
      MPI_Get(&got, 1, MPI_INT, target, at, 1, MPI_INT, win);
      MPI_Win_flush(target, win);
      expect(got == 1000 * target + at, "%d: %d", at, got);
    }
    void* programs = malloc((size_t)3000 * kMiB);
    expect(programs != NULL, "window %d: nothing is left for the program", window);
    free(programs);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  return finish();
}
