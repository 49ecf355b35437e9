/* Two jobs of one rank that meet: `port FILE serve|call` by MPI_Open_port, the port's name in a
 * file; `socket FILE serve|call` by MPI_Comm_join over a socket. Or the two halves of one job
 * (`halves FILE`, 2 ranks) by a port. Then a window and a deep queue of receives over the
 * communicator that they made. */
#include <sys/socket.h>
#include <sys/un.h>

#include "check.h"

enum { kWords = 100, kReceives = 40 };

static void use(MPI_Comm all) {
  int me, *memory;
  MPI_Win win;
  MPI_Comm_rank(all, &me);
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, all, &memory, &win);
  for (int i = 0; i < kWords; ++i) memory[i] = 1000 * me + i;
  MPI_Barrier(all);
  MPI_Win_lock(MPI_LOCK_SHARED, 1 - me, 0, win);
  for (int i = 0; i < 50; ++i) {
    int got = -1;
    MPI_Get(&got, 1, MPI_INT, 1 - me, i % 7, 1, MPI_INT, win);
    MPI_Win_flush(1 - me, win);
    CHECK(got == 1000 * (1 - me) + i % 7, "word %d is %d", i % 7, got);
  }
  MPI_Win_unlock(1 - me, win);
  MPI_Barrier(all);
  const int new = 7;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - me, 0, win);
  MPI_Put(&new, 1, MPI_INT, 1 - me, 3, 1, MPI_INT, win);
  MPI_Win_unlock(1 - me, win);
  MPI_Barrier(all);
  int got = -1;
  MPI_Win_lock(MPI_LOCK_SHARED, 1 - me, 0, win);
  MPI_Get(&got, 1, MPI_INT, 1 - me, 3, 1, MPI_INT, win);
  MPI_Win_unlock(1 - me, win);
  CHECK(got == new, "after a put: %d", got);
  int in[kReceives];
  MPI_Request requests[kReceives];
  for (int i = 0; i < kReceives; ++i) MPI_Irecv(&in[i], 1, MPI_INT, 1 - me, i, all, &requests[i]);
  for (int i = kReceives - 1; i >= 0; --i) MPI_Send(&i, 1, MPI_INT, 1 - me, i, all);
  MPI_Waitall(kReceives, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kReceives; ++i) CHECK(in[i] == i, "message %d is %d", i, in[i]);
  MPI_Win_free(&win);
}

static void meet(MPI_Comm inter, int high) {
  MPI_Comm all;
  MPI_Intercomm_merge(inter, high, &all);
  use(all);
  MPI_Comm_free(&all);
  MPI_Comm_disconnect(&inter);
}

static void serve_port(const char* path) {
  char port[MPI_MAX_PORT_NAME], other[4096];
  MPI_Comm inter;
  MPI_Open_port(MPI_INFO_NULL, port);
  snprintf(other, sizeof other, "%s.new", path);
  FILE* file = fopen(other, "w");
  if (!file || fputs(port, file) < 0 || fclose(file) || rename(other, path)) exit(2);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  meet(inter, 0);
  MPI_Close_port(port);
}

static void call_port(const char* path) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm inter;
  FILE* file;
  while (!(file = fopen(path, "r"))) usleep(1000);
  if (!fgets(port, sizeof port, file)) exit(2);
  fclose(file);
  MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter);
  meet(inter, 1);
}

static void join(const char* path, int serve) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  MPI_Comm inter;
  if (serve) {
    if (bind(fd, (struct sockaddr*)&address, sizeof address) || listen(fd, 1)) exit(2);
    fd = accept(fd, 0, 0);
  } else {
    while (connect(fd, (struct sockaddr*)&address, sizeof address)) usleep(1000);
  }
  MPI_Comm_join(fd, &inter);
  if (inter == MPI_COMM_NULL) {
    puts("FAIL: not joined");
    exit(1);
  }
  meet(inter, !serve);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch(25);
  CHECK(size == (argc > 3 ? 1 : 2), "%d ranks", size);
  const char* how = argc > 2 ? argv[1] : "halves";
  const char* path = argc > 2 ? argv[2] : "/dev/null";
  const int serve = argc > 3 ? strcmp(argv[3], "serve") == 0 : rank == 0;
  if (strcmp(how, "socket") == 0)
    join(path, serve);
  else if (serve)
    serve_port(path);
  else
    call_port(path);
  const int failed = verdict();
  MPI_Finalize();
  return failed;
}
