// What the MPI library's own calls cost that could receive a burst of 64 messages, nanoseconds a
// message: posted receives (before the sender is asked to start, or after) against matched probes,
// without Hob. A plain MPI program, for two ranks.
//
//   match_calls [--bytes N] [--bursts N]
//
// Rank 0 takes the ways in turn and prints the median burst of each, so all saw the same minutes.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int tag_sync = 2, tag_burst = 3, burst = 64, turns = 50;

int bytes = 1;
std::vector<char> buffer;
MPI_Request requests[burst];

void* place(int i) {
  return &buffer[static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes)];
}

void post() {
  for (int i = 0; i < burst; ++i)
    MPI_Irecv(place(i), bytes, MPI_CHAR, 1, tag_burst, MPI_COMM_WORLD, &requests[i]);
}

void nothing() {}

void wait_for_all() { MPI_Waitall(burst, requests, MPI_STATUSES_IGNORE); }

void post_and_wait_for_all() {
  post();
  wait_for_all();
}

/// The next message, whoever sent it.
MPI_Message next_message() {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = 0;
  while (!flag) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
  return message;
}

void start_taking(int i) {
  MPI_Message message = next_message();
  MPI_Imrecv(place(i), bytes, MPI_CHAR, &message, &requests[i]);
}

void take_and_test() {
  for (int i = 0; i < burst; ++i) {
    start_taking(i);
    int flag = 0;
    while (!flag) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
  }
}

void take_and_wait_for_all() {
  for (int i = 0; i < burst; ++i) start_taking(i);
  wait_for_all();
}

void take_blocking() {
  for (int i = 0; i < burst; ++i) {
    MPI_Message message = next_message();
    MPI_Mrecv(place(i), bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE);
  }
}

void probe_and_receive() {
  for (int i = 0; i < burst; ++i) {
    MPI_Status status;
    int flag = 0;
    while (!flag) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(place(i), bytes, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
  }
}

/// One way to receive a burst. What happens before the sender starts is not timed.
struct Way {
  const char* name;
  void (*before)();
  void (*receive)();
  std::vector<double> nanoseconds = {};
};

double one_burst(int rank, const Way& way) {
  double start = 0;
  if (rank == 0) {
    way.before();
    start = MPI_Wtime();
    MPI_Send(nullptr, 0, MPI_BYTE, 1, tag_sync, MPI_COMM_WORLD);
    way.receive();
  } else {
    MPI_Recv(nullptr, 0, MPI_BYTE, 0, tag_sync, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (MPI_Request& request : requests)
      MPI_Isend(buffer.data(), bytes, MPI_CHAR, 0, tag_burst, MPI_COMM_WORLD, &request);
    wait_for_all();
  }
  const double took = (MPI_Wtime() - start) / burst * 1e9;
  MPI_Barrier(MPI_COMM_WORLD);
  return took;
}

}  // namespace

int main(int argc, char** argv) {
  int bursts = 20000, rank = 0, ranks = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--bytes") bytes = std::atoi(argv[i + 1]);
    if (name == "--bursts") bursts = std::atoi(argv[i + 1]);
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2 || bytes < 0) {
    std::fprintf(stderr, "match_calls needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(rank, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    std::fprintf(stderr, "match_calls: rank %d is not pinned\n", rank);
  buffer.resize(static_cast<std::size_t>(bytes) * burst + 1);
  Way ways[] = {{"Irecv beforehand, Waitall", post, wait_for_all},
                {"Irecv, Waitall", nothing, post_and_wait_for_all},
                {"Improbe, Imrecv, Test", nothing, take_and_test},
                {"Improbe, Imrecv; Waitall", nothing, take_and_wait_for_all},
                {"Improbe, Mrecv", nothing, take_blocking},
                {"Iprobe, Recv", nothing, probe_and_receive}};
  for (int done = 0; done < bursts; done += turns)
    for (Way& way : ways)
      for (int i = 0; i < turns; ++i) way.nanoseconds.push_back(one_burst(rank, way));
  for (Way& way : ways) {
    auto middle = way.nanoseconds.begin() + static_cast<std::ptrdiff_t>(way.nanoseconds.size() / 2);
    std::nth_element(way.nanoseconds.begin(), middle, way.nanoseconds.end());
    if (rank == 0) std::printf("%-26s %7.1f\n", way.name, *middle);
  }
  MPI_Finalize();
  return 0;
}
