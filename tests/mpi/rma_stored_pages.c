/* Windows of many pages, which their owners store to: how many page faults it takes that Hob
 * asks the kernel about stores, and that no store is missed whichever pages are asked about.
 *
 * Programs that iterate read between two barriers and store to most of their memory between the
 * next two. There, a fault for each page would be a loss. */
#include <sys/resource.h>
#include <sys/utsname.h>

#include "rma_check.h"

enum { kPages = 1024, kPage = 4096, kWords = kPages * kPage / sizeof(int), kRead = 64 };
enum { kStep = 512 }; /* words; some are stored to on each page */
enum { kIterations = 16, kQuiet = 40 };
/* For each iteration: those of a sample, twice, and some of the library's and of Hob's own. */
enum { kMostFaults = 160 };
/* Seconds between two barriers from which on so many faults are a small part of the time: on a
 * loaded machine all pages may be watched. */
static const double kLong = 0.02;

static MPI_Win win;
static int* memory;

/* Before Linux 6.7, stores are tracked in the whole process or not at all. */
static int kernel_watches_ranges(void) {
  struct utsname name;
  int major = 0, minor = 0;
  uname(&name);
  return sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 7));
}

static long faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

static int word_of(int i) { return i * (kWords / kRead) + i % 7; }

static void read_all(const char* what, const int* expected) {
  for (int i = 0; i < kRead; i++) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, 1 - my_rank, word_of(i), 1, MPI_INT, win);
    MPI_Win_flush(1 - my_rank, win);
    expect(got == expected[i], "%s: word %d is %d, not %d", what, word_of(i), got, expected[i]);
  }
}

/* Of the time since the last one and `longest`, the longer. */
static double barrier(double* last, double longest) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = *last;
  *last = MPI_Wtime();
  return *last - before > longest ? *last - before : longest;
}

/* All pages are stored to in each iteration. */
static void all_stored(void) {
  int expected[kRead];
  long most = 0;
  double longest = 0, last = MPI_Wtime();
  for (int k = 0; k < kIterations; k++) {
    const long before = faults();
    for (int word = 0; word < kWords; word += kStep) memory[word] = word + k;
    for (int i = 0; i < kRead; i++) memory[word_of(i)] = word_of(i) + k;
    const long taken = faults() - before;
    if (k > 0) most = taken > most ? taken : most;
    MPI_Win_sync(win);
    longest = barrier(&last, longest);
    for (int i = 0; i < kRead; i++) expected[i] = word_of(i) + k;
    read_all("all stored", expected);
    longest = barrier(&last, longest);
  }
  expect(most <= kMostFaults || longest > kLong || !kernel_watches_ranges(),
         "%ld page faults in one iteration that stores to %d pages", most, kPages);
}

/* Nothing is stored, and then one word, wherever it lies. */
static void one_stored(void) {
  int expected[kRead];
  for (int i = 0; i < kRead; i++) expected[i] = memory[word_of(i)];
  for (int k = 0; k < kQuiet; k++) {
    const int stored = k % 5 == 4 ? k * 11 % kRead : -1;
    if (stored >= 0) {
      expected[stored] += 1000000;
      memory[word_of(stored)] = expected[stored];
      MPI_Win_sync(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    read_all("one stored", expected);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, kWords * sizeof(int));
  MPI_Win_lock_all(0, win);
  all_stored();
  one_stored();
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  return finish();
}
