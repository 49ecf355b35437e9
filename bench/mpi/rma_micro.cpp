// The micro-benchmark of "Transparent Caching for RMA Systems", section IV-A: a set of N gets of
// different data, sizes 2^0..2^16 bytes chosen uniformly, and a sequence of Z gets drawn from it
// by a normal distribution N(N/2, N/4). Each get is followed by a flush. Every repetition has a
// window of its own, so that a cache starts empty; the sequence is the same in all.
//
// Arguments: n=1000 z=20000 seed=1 repeats=3 max_log2=16 check=0
// Output, one line per repetition: {"repeat", "seconds", "per_get_ns", "distinct", "bytes",
// "infinite_hit_ratio"}: bytes is the size of the distinct gets, infinite_hit_ratio what a cache
// without limits would reach.
#include <random>

#include "rma_common.hpp"

namespace {

struct Get {
  MPI_Aint offset;
  int size;
};

struct Workload {
  std::vector<Get> sequence;
  std::size_t window_bytes = 0;
  std::size_t distinct = 0;
  std::size_t distinct_bytes = 0;
};

Workload make(long n, long z, long seed, int max_log2) {
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  std::uniform_int_distribution<int> exponent(0, max_log2);
  Workload out;
  std::vector<Get> set;
  for (long i = 0; i < n; ++i) {
    const int size = 1 << exponent(random);
    set.push_back({static_cast<MPI_Aint>(out.window_bytes), size});
    out.window_bytes += static_cast<std::size_t>(size);
  }
  std::normal_distribution<double> draw(static_cast<double>(n) / 2, static_cast<double>(n) / 4);
  std::vector<bool> seen(set.size());
  while (out.sequence.size() < static_cast<std::size_t>(z)) {
    const double at = draw(random);
    if (at < 0 || at >= static_cast<double>(n)) {
      continue;
    }
    const auto which = static_cast<std::size_t>(at);
    out.sequence.push_back(set[which]);
    if (!seen[which]) {
      seen[which] = true;
      ++out.distinct;
      out.distinct_bytes += static_cast<std::size_t>(set[which].size);
    }
  }
  return out;
}

double run(const Workload& work, bool check, MPI_Win win) {
  std::vector<unsigned char> buffer(1 << 20);
  const double start = rma::now_ns();
  for (const Get& get : work.sequence) {
    MPI_Get(buffer.data(), get.size, MPI_BYTE, 1, get.offset, get.size, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    if (check) {
      rma::check(buffer.data(), static_cast<std::size_t>(get.size), 1,
                 static_cast<std::size_t>(get.offset));
    }
  }
  return (rma::now_ns() - start) * 1e-9;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const Workload work = make(args.number("n", 1000), args.number("z", 20000),
                             args.number("seed", 1), static_cast<int>(args.number("max_log2", 16)));
  const bool check = args.number("check", 0) != 0;
  const double gets = static_cast<double>(work.sequence.size());
  for (long repeat = 0; repeat < args.number("repeats", 3); ++repeat) {
    const rma::Window win(work.window_bytes);
    rma::with_attentive_targets([&] {
      MPI_Win_lock_all(0, win);
      const double seconds = run(work, check, win);
      MPI_Win_unlock_all(win);
      rma::Object row;
      row.field("repeat", static_cast<double>(repeat))
          .field("seconds", seconds)
          .field("per_get_ns", seconds * 1e9 / gets)
          .field("distinct", static_cast<double>(work.distinct))
          .field("bytes", static_cast<double>(work.distinct_bytes))
          .field("infinite_hit_ratio", 1.0 - static_cast<double>(work.distinct) / gets);
      rma::print(row);
    });
  }
  MPI_Finalize();
}
