// Every kind of communication where a program's own objects are on their way out: in destructors of
// thread_local objects and of pthread keys of threads that end, and, when main has returned, in
// those of main's own thread_local objects, in exit handlers and in destructors of static objects,
// the last of which ends MPI. Two ranks; rank 0 prints one line. Arguments:
//   multiple  with MPI_THREAD_MULTIPLE (else its threads call MPI one after the other)
//   unmade    large messages and a collective operation are under way when main returns
//   session   with ghosts: only a session, closed by an exit handler
//   early     MPI is ended by an exit handler that was registered before MPI_Init
#include <mpi.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "overlap_check.h"

namespace {

constexpr int kBytes = 1 << 19, kSmall = 24, kLongs = 4096, kBlocks = 500;

/// Never destroyed: what the program needs to the end.
struct Program {
  std::vector<char> out = std::vector<char>(kBytes), in = std::vector<char>(kBytes);
  std::vector<long> mine = std::vector<long>(kLongs), sum = std::vector<long>(kLongs);
  std::vector<int> blocks = std::vector<int>(2 * kBlocks), got = std::vector<int>(2 * kBlocks);
  MPI_Win window = MPI_WIN_NULL;
  MPI_Datatype spread = MPI_DATATYPE_NULL;
  int* exposed = nullptr;
  MPI_Request under_way[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int number = 0;
};
Program& program() {
  static auto& only = *new Program;
  return only;
}

void check(bool good, const char* what) {
  if (!good) fail(what);
}

/// Objects of the heap, some of which lie where those of a destroyed vector were.
class Junk {
 public:
  Junk() {
    for (std::size_t i = 0; i < 100; ++i) {
      all_.emplace_back(std::size_t{16} << i % 10, 'x');
    }
  }
  ~Junk() {
    for (const auto& each : all_)
      check(std::all_of(each.begin(), each.end(), [](char c) { return c == 'x'; }),
            "somebody wrote to memory of the program's");
  }

 private:
  std::vector<std::vector<char>> all_;
};

void start(int number) {
  Program& p = program();
  std::fill(p.out.begin(), p.out.end(), static_cast<char>(number));
  for (int i = 0; i < kLongs; ++i) p.mine[static_cast<std::size_t>(i)] = i + number;
  MPI_Irecv(p.in.data(), kBytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &p.under_way[0]);
  MPI_Isend(p.out.data(), kBytes, MPI_CHAR, 1 - rank, 1, MPI_COMM_WORLD, &p.under_way[1]);
  MPI_Iallreduce(p.mine.data(), p.sum.data(), kLongs, MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
                 &p.under_way[2]);
}

void finish(int number) {
  Program& p = program();
  MPI_Waitall(3, p.under_way, MPI_STATUSES_IGNORE);
  check(p.in.back() == static_cast<char>(number) && p.in.front() == p.in.back(), "large message");
  for (int i = 0; i < kLongs; ++i)
    check(p.sum[static_cast<std::size_t>(i)] == 2L * (i + number), "sum");
}

void large(int number) {
  for (int round = 0; round < 3; ++round) {
    start(number + round);
    compute(0.0003);
    finish(number + round);
  }
}

void small(int number) {
  int out = number, in = -1, flag = 0;
  MPI_Status status;
  MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 2, &in, 1, MPI_INT, 1 - rank, 2, MPI_COMM_WORLD,
               &status);
  check(in == number, "MPI_Sendrecv");
  MPI_Request requests[2];
  MPI_Send_init(&out, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, &requests[1]);
  for (int round = 0; round < 2; ++round) {
    in = -1;
    MPI_Startall(2, requests);
    for (int i = 0, index = 0; i < 2; ++i) MPI_Waitany(2, requests, &index, &status);
    check(in == number, "persistent");
  }
  for (MPI_Request& each : requests) MPI_Request_free(&each);
  MPI_Isend(&out, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Probe(1 - rank, 4, MPI_COMM_WORLD, &status);
  MPI_Recv(&in, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
  while (!flag) MPI_Test(&requests[0], &flag, &status);
  MPI_Request many[kSmall];
  int received[kSmall];
  for (int i = 0; i < kSmall; ++i)
    MPI_Irecv(&received[i], 1, MPI_INT, 1 - rank, 10 + i, MPI_COMM_WORLD, &many[i]);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = kSmall; i-- > 0;) MPI_Send(&i, 1, MPI_INT, 1 - rank, 10 + i, MPI_COMM_WORLD);
  MPI_Request_get_status(many[0], &flag, &status);
  for (flag = 0; !flag;) MPI_Testall(kSmall, many, &flag, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kSmall; ++i) check(received[i] == i, "array of requests");
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Bcast(&out, 1, MPI_INT, 0, comm);
  MPI_Comm_free(&comm);
  check(out == number, "MPI_Bcast");
}

void one_sided(int number) {
  Program& p = program();
  const int other = 1 - rank;
  int value = number, before = 0;
  for (int i = 0; i < 2 * kBlocks; ++i) p.blocks[static_cast<std::size_t>(i)] = number + i;
  std::fill(p.got.begin(), p.got.end(), -1);
  MPI_Win_lock(MPI_LOCK_SHARED, other, 0, p.window);
  MPI_Put(p.blocks.data(), 1, p.spread, other, 0, 1, p.spread, p.window);
  MPI_Win_flush(other, p.window);
  MPI_Get(p.got.data(), 1, p.spread, other, 0, 1, p.spread, p.window);
  MPI_Win_unlock(other, p.window);
  for (int i = 0; i < kBlocks; ++i)
    check(p.got[static_cast<std::size_t>(2 * i)] == number + 2 * i, "MPI_Put, MPI_Get");
  MPI_Win_lock_all(0, p.window);
  for (int i = 0; i < kSmall; ++i)
    MPI_Put(&p.blocks[static_cast<std::size_t>(i)], 1, MPI_INT, other, 2 * kBlocks + 2 * i, 1,
            MPI_INT, p.window);
  MPI_Accumulate(p.blocks.data(), 1, p.spread, other, 0, 1, p.spread, MPI_REPLACE, p.window);
  MPI_Fetch_and_op(&value, &before, MPI_INT, other, 2 * kBlocks + 1, MPI_REPLACE, p.window);
  MPI_Win_flush_all(p.window);
  MPI_Request request;
  MPI_Rget(p.got.data(), 2 * kSmall, MPI_INT, other, 2 * kBlocks, 2 * kSmall, MPI_INT, p.window,
           &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Compare_and_swap(&before, &value, &before, MPI_INT, other, 2 * kBlocks + 1, p.window);
  MPI_Win_flush_local(other, p.window);
  MPI_Win_unlock_all(p.window);
  check(p.got[1] == number && before == number, "atomics");
  for (int i = 0; i < kSmall; ++i)
    check(p.got[static_cast<std::size_t>(2 * i)] == number + i, "small puts");
  MPI_Win_fence(0, p.window);
  MPI_Get(&before, 1, MPI_INT, other, 2 * kBlocks, 1, MPI_INT, p.window);
  MPI_Win_fence(0, p.window);
  check(before == number, "fence");
}

void use() {
  const Junk junk;
  const int number = ++program().number;
  large(3 * number);
  small(number);
  one_sided(number);
}

struct LateUser {
  bool armed = false;
  ~LateUser() {
    if (armed) use();
  }
};
thread_local LateUser late_user;

pthread_key_t key;
void in_key(void*) { use(); }

void in_thread() {
  late_user.armed = true;
  pthread_setspecific(key, &key);
  use();
}

struct Last {
  bool large_ones = false;
  Last() = default;
  ~Last() {
    if (large_ones) finish(100);
    use();
    MPI_Type_free(&program().spread);
    MPI_Win_free(&program().window);
    if (rank == 0) {
      std::puts("No Errors");
      std::fflush(stdout);
    }
    MPI_Finalize();
  }
};

MPI_Session session = MPI_SESSION_NULL;
void close_session() {
  MPI_Session_finalize(&session);
  std::puts("No Errors");
}

void end_early() {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    std::puts("No Errors");
    std::fflush(stdout);
  }
  MPI_Finalize();
}

}  // namespace

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "session") == 0) {
    std::atexit(close_session);
    return MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  }
  if (std::strcmp(what, "early") == 0) std::atexit(end_early);
  const bool unmade = std::strcmp(what, "unmade") == 0;
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv,
                  std::strcmp(what, "multiple") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED,
                  &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (std::strcmp(what, "early") == 0) return 0;
  static Last last;
  if (!unmade) std::atexit(use);
  pthread_key_create(&key, in_key);
  Program& p = program();
  MPI_Type_vector(kBlocks, 1, 2, MPI_INT, &p.spread);
  MPI_Type_commit(&p.spread);
  MPI_Win_allocate((2 * kBlocks + 2 * kSmall) * static_cast<MPI_Aint>(sizeof(int)), sizeof(int),
                   MPI_INFO_NULL, MPI_COMM_WORLD, &p.exposed, &p.window);
  use();
  for (int i = 0; i < 3; ++i) std::thread(in_thread).join();
  late_user.armed = !unmade;
  last.large_ones = unmade;
  if (unmade) start(100);
  return 0;
}
