// Places that are read again in each iteration, all bytes written anew before it: us for each
// iteration. what=same|shuffled|tenth|requests|phases|rows|locks|fences, and of places that do not
// come again: other (any of the window), far (the same in a window in which no block brings two of
// them), once (each in one iteration only), sequential, sizes (the same places, more bytes or fewer
// of them in each iteration). compute=US: the target computes for so long in each iteration,
// outside MPI. places=N (1000), iterations=N (20), words=N: of the window
// (1 << 20; far: 1 << 24). peak_kib: memory of rank 0.
#include <sys/resource.h>

#include <random>

#include "rma_common.hpp"

namespace {

constexpr int kLongest = 1024;  // words of a get

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Program {
  MPI_Win win = MPI_WIN_NULL;
  long* memory = nullptr;
  std::mt19937_64 random{3};
  int words = 1 << 20;
  std::vector<long> buffer = std::vector<long>(kLongest);
  long wrong = 0;
  int named = 0;

  std::vector<int> places(int count) {
    std::vector<int> result(static_cast<std::size_t>(count));
    for (int& place : result)
      place = static_cast<int>(random() % static_cast<unsigned>(words - kLongest));
    return result;
  }

  /// A place that was not named before, while there are any: of the whole window, or the next one.
  int next(bool anywhere) {
    constexpr int kSteps = 7919;  // coprime to the number of places
    ++named;
    return anywhere ? static_cast<int>(static_cast<long>(named) * kSteps * 16 % (words - kLongest))
                    : 4 * named % (words - kLongest);
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
  const int count = static_cast<int>(args.number("places", 1000));
  Program p;
  p.words = static_cast<int>(args.number("words", what == "far" ? 1 << 24 : 1 << 20));
  MPI_Win_allocate(p.words * static_cast<MPI_Aint>(sizeof(long)), sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &p.memory, &p.win);
  const bool fences = what == "fences", locks = what == "locks";
  std::vector<int> same = p.places(count),
                   kinds[3] = {p.places(count), p.places(count), p.places(count)};
  std::vector<double> times;
  if (!fences && !locks && rank == 0) MPI_Win_lock_all(0, p.win);
  for (int i = 0; i < iterations; ++i) {
    const long version = 1000000000L * (i + 1);
    if (rank == 1) {
      MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, p.win);
      for (int word = 0; word < p.words; ++word) p.memory[word] = version + word;
      MPI_Win_unlock(1, p.win);
    }
    const bool shuffled = what == "shuffled" || what == "tenth";
    const int kept = count - count / 10;
    if (shuffled) std::shuffle(same.begin(), same.begin() + kept, p.random);
    if (what == "tenth")
      for (int k = kept; k < count; ++k) same[static_cast<std::size_t>(k)] = p.places(1)[0];
    if (what == "other" || what == "far") same = p.places(count);
    if (what == "once" || what == "sequential")
      for (int k = 0; k < count; ++k) same[static_cast<std::size_t>(k)] = p.next(what == "once");
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
      else if (what == "sizes")
        for (const int place : same) p.get(place, 1 + (place + 7 * i) % 16, version);
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
    std::printf("{\"second_us\": %.1f, \"later_us\": %.1f, \"each_us\": [", times[1],
                later[later.size() / 2]);
    for (std::size_t i = 0; i < times.size(); ++i) std::printf("%s%.1f", i ? ", " : "", times[i]);
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("], \"peak_kib\": %ld, \"wrong\": %ld}\n", used.ru_maxrss, p.wrong);
  }
  MPI_Win_free(&p.win);
  MPI_Finalize();
  return p.wrong != 0;
}
