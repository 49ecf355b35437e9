/* Many windows, each of little use: contents are right, and a window's cache takes kilobytes. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { WINDOWS = 100, GETS = 20, MOST_BYTES = 128 * 1024 };

int main(int argc, char** argv) {
  static MPI_Win wins[WINDOWS];
  int* memory;
  begin(&argc, &argv);
  const int target = (my_rank + 1) % ranks;
  for (int i = 0; i < WINDOWS; i++) {
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &wins[i]);
    for (int k = 0; k < 1024; k++) memory[k] = 1000 * i + k;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WINDOWS; i++) {
    MPI_Win_lock_all(0, wins[i]);
    for (int k = 0; k < GETS; k++) {
      int got[32] = {0};
      MPI_Get(got, sizeof got, MPI_BYTE, target, 128 * k, sizeof got, MPI_BYTE, wins[i]);
      MPI_Win_flush(target, wins[i]);
      expect(got[0] == 1000 * i + 32 * k && got[31] == 1000 * i + 32 * k + 31,
             "window %d, get %d: %d", i, k, got[0]);
    }
    MPI_Win_unlock_all(wins[i]);
  }
  if (HOB_Counter) {
    unsigned long long bytes = 0;
    HOB_Counter("cache_memory", &bytes);
    expect(bytes < (unsigned long long)WINDOWS * MOST_BYTES, "%llu bytes for each window's cache",
           bytes / WINDOWS);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < WINDOWS; i++) MPI_Win_free(&wins[i]);
  return finish();
}
