/* Rank 1 changes the memory of a window by other ways than its own stores and MPI calls: rank 0,
 * which reads it behind the next barrier, gets the new bytes. tests/unit/validation has all ways;
 * here are those that need windows. What nobody changed is kept, where counters are looked at
 * (HOB_POLL_HITS). */
#define HOB_WEAK
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "rma_check.h"

extern int HOB_Counter(const char* name, unsigned long long* value) __attribute__((weak));

enum { PAGE = 4096, BYTES = 64 * PAGE, STEPS = 3 };

static MPI_Win win;
static char* memory; /* of rank 1 */
static int image;    /* a file */

static void check(const char* what, char wanted) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int at = 0; my_rank == 0 && at < BYTES; at += BYTES / 16) {
    char got = -1;
    MPI_Get(&got, 1, MPI_CHAR, 1, at, 1, MPI_CHAR, win);
    MPI_Win_flush(1, win);
    expect(got == wanted, "%s: byte %d is %d, not %d", what, at, got, wanted);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

static unsigned long long fetched(void) {
  unsigned long long count = 0;
  if (HOB_Counter) HOB_Counter("native_gets", &count);
  return count;
}

/* The bytes are read again and again. Whether they are kept. */
static int kept(const char* what, char wanted) {
  for (int i = 0; i < 4; i++) check(what, wanted);
  const unsigned long long before = fetched();
  check(what, wanted);
  return fetched() == before;
}

static void fill_image(char byte) {
  static char bytes[BYTES];
  memset(bytes, byte, sizeof bytes);
  if (pwrite(image, bytes, sizeof bytes, 0) != BYTES) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void* map(int flags, int file, void* where) {
  void* const base = mmap(where, BYTES, PROT_READ | PROT_WRITE, flags, file, 0);
  if (base == MAP_FAILED) MPI_Abort(MPI_COMM_WORLD, 3);
  return base;
}

/* Each changes all bytes of rank 1's memory; 0 where this system does not let it. Rank 0 makes no
 * call but barriers from which it could learn. */
static int ring = -1;

static int store_in_ring(char byte) {
  static struct io_uring_params about;
  static char *submissions, *completions;
  static struct io_uring_sqe* entries;
  if (ring < 0) {
    struct iovec part = {memory, BYTES};
    ring = (int)syscall(SYS_io_uring_setup, 2, &about);
    if (ring < 0 || syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &part, 1) != 0)
      return 0;
    submissions = mmap(NULL, about.sq_off.array + 64, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                       IORING_OFF_SQ_RING);
    completions = mmap(NULL, about.cq_off.cqes + 64, PROT_READ | PROT_WRITE, MAP_SHARED, ring,
                       IORING_OFF_CQ_RING);
    entries =
        mmap(NULL, 2 * sizeof *entries, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
  }
  fill_image(byte);
  unsigned* const tail = (unsigned*)(submissions + about.sq_off.tail);
  unsigned* const head = (unsigned*)(completions + about.cq_off.head);
  memset(entries, 0, sizeof *entries);
  entries->opcode = IORING_OP_READ_FIXED;
  entries->fd = image;
  entries->addr = (uintptr_t)memory;
  entries->len = BYTES;
  *(unsigned*)(submissions + about.sq_off.array + 4 * (*tail % about.sq_entries)) = 0;
  __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
  syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0);
  __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
  return memory[0] == byte;
}

static int store_in_child(char byte) {
  const pid_t child = fork();
  if (child == 0) {
    memset(memory, byte, BYTES);
    _exit(0);
  }
  while (waitpid(child, NULL, 0) < 0) {
  }
  if (memory[0] != byte) memset(memory, byte, BYTES); /* the library's memory is its own */
  return 1;
}

static int store_in_file(char byte) {
  fill_image(byte);
  return 1;
}

static int map_over(char byte) {
  fill_image(byte);
  map(MAP_PRIVATE | MAP_FIXED, image, memory);
  return 1;
}

static int own_handler(char byte) {
  static int handler = -1;
  struct uffdio_api api = {.api = UFFD_API};
  struct uffdio_register all = {.range = {(uintptr_t)memory, BYTES},
                                .mode = UFFDIO_REGISTER_MODE_MISSING};
  if (handler < 0) {
    handler = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | 1);
    if (handler < 0 || ioctl(handler, UFFDIO_API, &api) != 0) return 0;
    expect(ioctl(handler, UFFDIO_REGISTER, &all) == 0, "somebody else handles page faults here");
  }
  memset(memory, byte, BYTES);
  return 1;
}

static void changes(const char* what, int (*change)(char), char first) {
  MPI_Win_lock_all(0, win);
  kept(what, first);
  for (char step = 1; step <= STEPS; step++) {
    if (my_rank == 1) {
      if (!change((char)(first + step))) memset(memory, first + step, BYTES);
      MPI_Win_sync(win);
    }
    for (int again = 0; again < 3; again++) check(what, (char)(first + step));
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void shown(const char* what, int (*change)(char), int flags) {
  const int file = flags & MAP_ANONYMOUS ? -1 : image;
  fill_image(10);
  memory = map(flags, file, NULL);
  if (flags & MAP_ANONYMOUS) memset(memory, 10, BYTES);
  MPI_Win_create(memory, my_rank == 1 ? BYTES : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  changes(what, change, 10);
}

int main(int argc, char** argv) {
  char name[] = "rma_memory.XXXXXX";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  image = mkstemp(name);
  unlink(name);

  memory = map(MAP_PRIVATE | MAP_ANONYMOUS, -1, NULL);
  memset(memory, 7, BYTES);
  MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  const int nothing_fetched = kept("nothing", 7);
  const char* hits = getenv("HOB_POLL_HITS");
  if (my_rank == 0 && HOB_Counter && hits && atoi(hits) >= 100000)
    expect(nothing_fetched, "gets are given to the library although nobody wrote");
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);

  shown("a file", store_in_file, MAP_PRIVATE);
  shown("a mapping in place of it", map_over, MAP_PRIVATE | MAP_ANONYMOUS);
  shown("an own handler of page faults", own_handler, MAP_PRIVATE | MAP_ANONYMOUS);
  shown("a child of private memory", store_in_child, MAP_PRIVATE | MAP_ANONYMOUS);
  shown("a child of shared memory", store_in_child, MAP_SHARED | MAP_ANONYMOUS);
  MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 10, BYTES);
  changes("a child of the library's memory", store_in_child, 10);
  shown("a ring", store_in_ring, MAP_PRIVATE | MAP_ANONYMOUS);

  return finish();
}
