// Round trip and message rate between two ranks against the depth of the receive queues (paper
// section 4.1, Figs. 4 to 7: the modified osu_latency and osu_bw). A plain MPI program.
//
//   match_mpi [--depth N]... [--bytes N]... [--what posted|unexpected|rate|growing|sparse]...
//   [--seconds S]
//   [--clear MB] [--pin]
//
// what:
// - posted: round trip, behind N receives on both ranks that no message of the ping-pong matches
// - unexpected: round trip, behind N messages on both ranks that no receive of it matches
// - rate: bursts of 64 messages to receives that stand behind N others
// - growing: round trip behind the last quarter of N receives, of which one is posted after every
// 20
//   blocking round trips (as netgauge's one_one_req_queue)
// - sparse: N receives, whose messages come in another order; time for each
//
// Rank 0 prints a line of JSON for each: median and least time of a round trip or of a message.
// With --clear, MB megabytes are walked through before each timed step on both ranks.
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int tag_ping = 1, tag_sync = 2, tag_burst = 3, tag_first_waiting = 100, burst = 64;

int rank;
double seconds = 0.2;
std::vector<unsigned char> sweep;

void clear_caches() {
  for (std::size_t i = 0; i < sweep.size(); i += 64) ++sweep[i];
}

/// Lest what one rank waits for is the other's walk.
void clear_caches_together() {
  clear_caches();
  MPI_Barrier(MPI_COMM_WORLD);
}

/// What is sent and received. Where malloc puts it differs with what else is loaded, and copies of
/// 64 KiB then take up to a quarter longer. So it begins at the start of a large page, and half a
/// small page further in the other rank, lest the processor takes one's addresses for the other's.
char* buffer_of(std::size_t bytes) {
  constexpr std::size_t page = std::size_t{2} << 20, half = 2048;
  static std::size_t room = 0;
  static char* the = nullptr;
  if (bytes + half > room) {
    std::free(the);
    room = (bytes + half + page - 1) / page * page;
    the = static_cast<char*>(std::aligned_alloc(page, room));
    if (!the) std::abort();
    std::memset(the, 0, room);
  }
  return the + (rank % 2 == 0 ? 0 : half);
}

struct Times {
  double median, least;  // seconds
};

Times times(std::vector<double>& samples) {
  std::nth_element(samples.begin(),
                   samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2),
                   samples.end());
  return {samples[samples.size() / 2], *std::min_element(samples.begin(), samples.end())};
}

/// Both ranks stop at the same time: rank 0 decides, and its answer travels with the next step.
bool go_on(double since, std::size_t done) {
  int more = MPI_Wtime() - since < seconds && done < 20000;
  if (done < 5) more = 1;
  MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return more != 0;
}

Times ping_pong(int bytes) {
  char* buffer = buffer_of(static_cast<std::size_t>(bytes) + 1);
  std::vector<double> samples;
  int rounds = sweep.empty() ? 20 : 1;
  double since = MPI_Wtime();
  do {
    if (!sweep.empty()) clear_caches();
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, 1 - rank, tag_sync, nullptr, 0, MPI_BYTE, 1 - rank, tag_sync,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; ++i) {
      if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_CHAR, 1, tag_ping, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_CHAR, 1, tag_ping, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(buffer, bytes, MPI_CHAR, 0, tag_ping, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_CHAR, 0, tag_ping, MPI_COMM_WORLD);
      }
    }
    samples.push_back((MPI_Wtime() - start) / rounds);
  } while (go_on(since, samples.size()));
  return times(samples);
}

Times message_rate(int bytes) {
  char* buffer = buffer_of(static_cast<std::size_t>(bytes) * burst + 1);
  std::vector<double> samples;
  MPI_Request requests[burst];
  double since = MPI_Wtime();
  do {
    if (rank == 0) {
      for (int i = 0; i < burst; ++i) {
        MPI_Irecv(&buffer[static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes)], bytes,
                  MPI_CHAR, 1, tag_burst, MPI_COMM_WORLD, &requests[i]);
      }
      if (!sweep.empty()) clear_caches_together();
      double start = MPI_Wtime();
      MPI_Send(nullptr, 0, MPI_BYTE, 1, tag_sync, MPI_COMM_WORLD);
      MPI_Waitall(burst, requests, MPI_STATUSES_IGNORE);
      samples.push_back((MPI_Wtime() - start) / burst);
    } else {
      samples.push_back(0);
      if (!sweep.empty()) clear_caches_together();
      MPI_Recv(nullptr, 0, MPI_BYTE, 0, tag_sync, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int i = 0; i < burst; ++i)
        MPI_Isend(buffer, bytes, MPI_CHAR, 0, tag_burst, MPI_COMM_WORLD, &requests[i]);
      MPI_Waitall(burst, requests, MPI_STATUSES_IGNORE);
    }
  } while (go_on(since, samples.size()));
  return times(samples);
}

void round_trip(char* buffer, int bytes) {
  if (rank == 0) MPI_Send(buffer, bytes, MPI_CHAR, 1, tag_ping, MPI_COMM_WORLD);
  MPI_Recv(buffer, bytes, MPI_CHAR, 1 - rank, tag_ping, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(buffer, bytes, MPI_CHAR, 0, tag_ping, MPI_COMM_WORLD);
}

Times growing(int depth, int bytes) {
  constexpr int rounds = 20;
  char* buffer = buffer_of(static_cast<std::size_t>(bytes) + 1);
  std::vector<MPI_Request> waiting(static_cast<std::size_t>(depth));
  std::vector<double> samples;
  for (int i = 0; i < depth; ++i) {
    MPI_Irecv(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD,
              &waiting[static_cast<std::size_t>(i)]);
    const double start = MPI_Wtime();
    for (int j = 0; j < rounds; ++j) round_trip(buffer, bytes);
    if (i >= depth * 3 / 4) samples.push_back((MPI_Wtime() - start) / rounds);
  }
  if (samples.empty()) samples.push_back(0);
  for (int i = 0; i < depth; ++i)
    MPI_Send(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD);
  MPI_Waitall(depth, waiting.data(), MPI_STATUSES_IGNORE);
  return times(samples);
}

Times sparse(int depth, int bytes) {
  constexpr int stride = 7919;  // a prime: each tag once, far from the one before
  char* buffer = buffer_of(static_cast<std::size_t>(bytes) * static_cast<std::size_t>(depth) + 1);
  std::vector<MPI_Request> requests(static_cast<std::size_t>(depth));
  std::vector<double> samples;
  if (depth == 0) return {0, 0};
  const double since = MPI_Wtime();
  do {
    for (int i = 0; i < depth; ++i)
      MPI_Irecv(&buffer[static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes)], bytes,
                MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD,
                &requests[static_cast<std::size_t>(i)]);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < depth; ++i)
      MPI_Send(buffer, bytes, MPI_CHAR, 1 - rank,
               tag_first_waiting + static_cast<int>(i * stride % depth), MPI_COMM_WORLD);
    MPI_Waitall(depth, requests.data(), MPI_STATUSES_IGNORE);
    samples.push_back((MPI_Wtime() - start) / depth);
  } while (go_on(since, samples.size()));
  return times(samples);
}

Times measure(const std::string& what, int depth, int bytes) {
  if (what == "growing") return growing(depth, bytes);
  if (what == "sparse") return sparse(depth, bytes);
  std::vector<MPI_Request> waiting(static_cast<std::size_t>(depth));
  bool posted = what != "unexpected";
  if (posted) {
    for (int i = 0; i < depth; ++i) {
      MPI_Irecv(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD,
                &waiting[static_cast<std::size_t>(i)]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    for (int i = 0; i < depth; ++i)
      MPI_Send(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Times result = what == "rate" ? message_rate(bytes) : ping_pong(bytes);
  if (posted) {
    for (int i = 0; i < depth; ++i)
      MPI_Send(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD);
    MPI_Waitall(depth, waiting.data(), MPI_STATUSES_IGNORE);
  } else {
    for (int i = 0; i < depth; ++i) {
      MPI_Recv(nullptr, 0, MPI_CHAR, 1 - rank, tag_first_waiting + i, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> depths, sizes;
  std::vector<std::string> whats;
  bool pin = false;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--pin") {
      pin = true;
      continue;
    }
    if (name == "--depth") depths.push_back(std::atoi(value));
    if (name == "--bytes") sizes.push_back(std::atoi(value));
    if (name == "--what") whats.push_back(value);
    if (name == "--seconds") seconds = std::atof(value);
    if (name == "--clear") sweep.assign(static_cast<std::size_t>(std::atoi(value)) << 20, 1);
    ++i;
  }
  if (depths.empty()) depths = {0, 16, 64, 256, 1024, 4096, 16384};
  if (sizes.empty()) sizes = {1};
  if (whats.empty()) whats = {"posted"};
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 2) {
    std::fprintf(stderr, "match_mpi needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  if (pin) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(rank % CPU_SETSIZE, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
      std::fprintf(stderr, "match_mpi: rank %d is not pinned\n", rank);
  }
  measure("posted", 0, 1);
  for (const std::string& what : whats) {
    for (int bytes : sizes) {
      for (int depth : depths) {
        Times time = measure(what, depth, bytes);
        if (rank == 0)
          std::printf(
              "{\"what\": \"%s\", \"depth\": %d, \"bytes\": %d, \"us\": %.4f, \"least_us\": "
              "%.4f}\n",
              what.c_str(), depth, bytes, time.median * 1e6, time.least * 1e6);
      }
    }
  }
  MPI_Finalize();
  return 0;
}
