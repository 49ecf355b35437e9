/* Gets into an accelerator's memory, which traps when the CPU touches it: Hob leaves them to the
 * library, whether the bytes are in the cache or not. Runs with stand_in_accelerator.c behind Hob;
 * without it, there is no such memory. */
#define HOB_WEAK
#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));
extern void* stand_in_allocate(void) __attribute__((weak));
extern int stand_in_word(int i) __attribute__((weak));

enum { WORDS = 64 };
static MPI_Win win;

static void into_host(const char* what) {
  int host[WORDS];
  MPI_Get(host, WORDS, MPI_INT, 1, 0, WORDS, MPI_INT, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < WORDS; i++) expect(host[i] == 100 + i, "%s: %d: %d", what, i, host[i]);
}

static void into_device(int first, int count) {
  int* device = stand_in_allocate();
  MPI_Get(device, count, MPI_INT, 1, first, count, MPI_INT, win);
  MPI_Win_flush(1, win);
  for (int i = 0; i < count; i++)
    expect(stand_in_word(i) == 100 + first + i, "device: %d: %d", i, stand_in_word(i));
}

int main(int argc, char** argv) {
  int* memory;
  begin(&argc, &argv);
  expect(!getenv("STAND_IN") || stand_in_allocate, "the stand-in is not loaded");
  MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  for (int i = 0; i < WORDS; i++) memory[i] = 100 * my_rank + i;
  MPI_Barrier(MPI_COMM_WORLD);
  if (my_rank == 0) {
    MPI_Win_lock_all(0, win);
    if (stand_in_allocate) into_device(8, 16); /* missing */
    into_host("host");
    if (stand_in_allocate) {
      unsigned long long count = 0;
      into_device(0, WORDS); /* in the cache */
      into_device(32, 16);   /* a part of it */
      if (HOB_Counter) {
        HOB_Counter("device_buffers", &count);
        expect(count == 3, "%llu gets into device memory, not 3", count);
      }
    }
    into_host("host again");
    MPI_Win_unlock_all(win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_free(&win);
  return finish();
}
