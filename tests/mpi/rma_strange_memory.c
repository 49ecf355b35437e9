/* Windows over memory of which only a part can be read, or is there: reserved addresses that are
 * made usable piece by piece, a file that ends before its mapping does, a segment of which little
 * is ever touched. Blocks that Hob fetches ahead must read no page that the program does not. */
#include <stdint.h>

#include "rma_check.h"

enum { kPage = 4096, kPages = 64 };

static MPI_Win open_window(void* memory, MPI_Aint bytes) {
  MPI_Win win;
  MPI_Win_create(memory, bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  return win;
}

static void close_window(MPI_Win win) {
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static int value_at(int rank, int page, int word) { return 1000000 * rank + 1000 * page + word; }

static void fill_page(char* memory, int page) {
  int* words = (int*)(memory + (size_t)page * kPage);
  for (int word = 0; word < kPage / 4; ++word) words[word] = value_at(my_rank, page, word);
}

/* Reads a page in small gets, each completed. */
static void read_page(MPI_Win win, int page, int target) {
  for (int word = 0; word < kPage / 4; word += 16) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, target, (MPI_Aint)page * kPage + word * 4, 1, MPI_INT, win);
    MPI_Win_flush(target, win);
    expect(got == value_at(target, page, word), "page %d, word %d: %d", page, word, got);
  }
}

/* One page in four is committed, after the window was made. */
static void committed_later(int target) {
  char* memory =
      mmap(NULL, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  MPI_Win win = open_window(memory, kPages * kPage);
  for (int page = 0; page < kPages; page += 4) {
    mprotect(memory + (size_t)page * kPage, kPage, PROT_READ | PROT_WRITE);
    fill_page(memory, page);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int page = 0; page < kPages; page += 4) read_page(win, page, target);
  close_window(win);
  munmap(memory, kPages * kPage);
}

/* A touch beyond the last page of the file is a bus error. */
static void file_ends(int target) {
  enum { kFilePages = 7 };
  char name[] = "/tmp/hob-strange-XXXXXX";
  const int file = mkstemp(name);
  unlink(name);
  if (file < 0 || ftruncate(file, kFilePages * kPage) != 0) MPI_Abort(MPI_COMM_WORLD, 3);
  char* memory = mmap(NULL, kPages * kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  for (int page = 0; page < kFilePages; ++page) fill_page(memory, page);
  MPI_Win win = open_window(memory, kPages * kPage);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int page = 0; page < kFilePages; ++page) read_page(win, page, target);
  close_window(win);
  munmap(memory, kPages * kPage);
  close(file);
}

/* Pages of these addresses that are there. */
static int there(char* memory, int pages) {
  unsigned char is[kPages];
  int count = 0;
  if (mincore(memory, (size_t)pages * kPage, is) != 0) return -1;
  for (int page = 0; page < pages; ++page) count += is[page] & 1;
  return count;
}

/* A page is touched here and there. Around it, no other comes into being. */
static void sparse_segment(int target) {
  enum { kTouched = 16 };
  const size_t bytes = (size_t)1 << 36, step = bytes / kTouched;
  char* memory =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return; /* this system promises no memory that it has not */
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  MPI_Win win = open_window(memory, (MPI_Aint)bytes);
  for (int i = 0; i < kTouched; ++i) *(int*)(memory + i * step) = value_at(my_rank, i, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 5; ++round)
    for (int i = 0; i < kTouched; ++i) {
      int got = -1;
      MPI_Get(&got, 1, MPI_INT, target, (MPI_Aint)(i * step), 1, MPI_INT, win);
      MPI_Win_flush(target, win);
      expect(got == value_at(target, i, 0), "place %d: %d", i, got);
    }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kTouched; ++i)
    expect(there(memory + i * step, kPages) == 1, "place %d: %d pages are there", i,
           there(memory + i * step, kPages));
  close_window(win);
  munmap(memory, bytes);
}

/* The same in memory of the library's: here all pages that are read ahead would be new ones. */
static void sparse_allocation(int target) {
  /* More than Hob takes for a small window: one part in 64 of the machine's memory. */
  const MPI_Aint bytes = (MPI_Aint)sysconf(_SC_PHYS_PAGES) / 32 * sysconf(_SC_PAGESIZE);
  char* memory = NULL;
  MPI_Win win;
  MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  MPI_Win_lock_all(0, win);
  /* Where a page of the window begins. */
  char* const page = (char*)(((uintptr_t)memory + (size_t)bytes / 2) & ~(uintptr_t)(kPage - 1));
  MPI_Aint at = page - memory;
  madvise(page, kPages * kPage, MADV_NOHUGEPAGE);
  *(int*)page = value_at(my_rank, 1, 0);
  MPI_Aint there_at = 0;
  MPI_Sendrecv(&at, 1, MPI_AINT, target, 0, &there_at, 1, MPI_AINT, target, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  int got = -1;
  MPI_Get(&got, 1, MPI_INT, target, there_at, 1, MPI_INT, win);
  MPI_Win_flush(target, win);
  expect(got == value_at(target, 1, 0), "allocated: %d", got);
  MPI_Barrier(MPI_COMM_WORLD);
  expect(there(page, kPages) == 1, "allocated: %d pages are there", there(page, kPages));
  close_window(win);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const int target = my_rank ^ 1;
  committed_later(target);
  file_ends(target);
  sparse_segment(target);
  sparse_allocation(target);
  return finish();
}
