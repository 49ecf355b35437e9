// Places that are read again in each iteration, all bytes written anew before it: us for each
// iteration. what=same|shuffled|tenth|requests|phases|rows|locks|fences|other. compute=US: the
// target computes for so long in each iteration, outside MPI.
#include <random>

#include "rma_common.hpp"

namespace {

constexpr int kWords = 1 << 20;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Program {
  MPI_Win win = MPI_WIN_NULL;
  long* memory = nullptr;
  std::mt19937_64 random{3};
  std::vector<long> buffer = std::vector<long>(1024);
  long wrong = 0;

  std::vector<int> places(int count) {
    std::vector<int> result(static_cast<std::size_t>(count));
    for (int& place : result) place = static_cast<int>(random() % (kWords - 1024));
    return result;
  }

  void get(int place, int words, long version) {
    MPI_Get(buffer.data(), words, MPI_LONG, 1, place, words, MPI_LONG, win);
    MPI_Win_flush(1, win);
    wrong += buffer[0] != version + place;
  }
  void rget(int place, long version) {
    MPI_Request request;
    MPI_Rget(buffer.data(), 1, MPI_LONG, 1, place, 1, MPI_LONG, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong += buffer[0] != version + place;
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const std::string what = args.text("what", "same");
  const int iterations = std::max(static_cast<int>(args.number("iterations", 20)), 2);
  const double compute = 1e-6 * static_cast<double>(args.number("compute", 0));
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Program p;
  MPI_Win_allocate(kWords * static_cast<MPI_Aint>(sizeof(long)), sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &p.memory, &p.win);
  const bool fences = what == "fences", locks = what == "locks";
  std::vector<int> same = p.places(1000),
                   kinds[3] = {p.places(1000), p.places(1000), p.places(1000)};
  std::vector<double> times;
  if (!fences && !locks && rank == 0) MPI_Win_lock_all(0, p.win);
  for (int i = 0; i < iterations; ++i) {
    const long version = 1000000000L * (i + 1);
    if (rank == 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p.win);
      for (int word = 0; word < kWords; ++word) p.memory[word] = version + word;
      MPI_Win_unlock(1, p.win);
    }
    const bool shuffled = what == "shuffled" || what == "tenth";
    if (shuffled) std::shuffle(same.begin(), same.begin() + 900, p.random);
    if (what == "tenth")
      for (int k = 900; k < 1000; ++k) same[static_cast<std::size_t>(k)] = p.places(1)[0];
    if (what == "other") same = p.places(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    if (fences) {
      MPI_Win_fence(0, p.win);
      for (int k = 0; k < 50; ++k) {
        if (rank == 0)
          for (int row = 0; row < 2; ++row)
            MPI_Get(p.buffer.data() + 512 * row, 512, MPI_LONG, 1, 4096 * row, 512, MPI_LONG,
                    p.win);
        MPI_Win_fence(0, p.win);
      }
    } else if (rank == 0) {
      if (what == "requests")
        for (const int place : same) p.rget(place, version);
      else if (what == "rows")
        for (int row = 0; row < 64; ++row) p.get(4096 * row, 1024, version);
      else if (locks)
        for (int k = 0; k < 100; ++k) {
          MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p.win);
          for (int place = 0; place < 5; ++place) p.get(1000 * place, 1, version);
          MPI_Win_unlock(1, p.win);
        }
      else if (what == "phases")
        for (const auto& kind : kinds) {
          for (const int place : kind) p.get(place, 1, version);
          MPI_Win_sync(p.win);
        }
      else
        for (const int place : same) p.get(place, 1, version);
    }
    if (rank == 1 && compute != 0)
      while (now() - start < compute) continue;
    times.push_back(1e6 * (now() - start));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (!fences && !locks && rank == 0) MPI_Win_unlock_all(p.win);
  if (rank == 0) {
    std::vector<double> later(times.begin() + std::min(3, iterations - 1), times.end());
    std::sort(later.begin(), later.end());
    std::printf("{\"second_us\": %.1f, \"later_us\": %.1f, \"wrong\": %ld}\n", times[1],
                later[later.size() / 2], p.wrong);
  }
  MPI_Win_free(&p.win);
  MPI_Finalize();
  return p.wrong != 0;
}
