// Epochs of training over ORNL's DDStore: in every epoch each rank fetches its share of a new
// permutation of all samples, as PyTorch's DistributedSampler deals them out. DDStore is used as it
// is; its header has the gets.
//
//   ddstore-epochs [samples=4000] [bytes=3072] [epochs=20] [step=0] [nocheck=0]
//
// step=N: an allreduce after each N samples, as of gradients. nocheck=1: locks promise
// MPI_MODE_NOCHECK, which the program may, since nobody locks exclusively; DDStore itself promises
// nothing.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
int lock_promise = 0;
}
// The one call of DDStore's that the promise concerns.
#define MPI_Win_lock(type, rank, promise, window) MPI_Win_lock(type, rank, lock_promise, window)
#include <ddstore.hpp>
#undef MPI_Win_lock

namespace {

long option(int argc, char** argv, const char* name, long otherwise) {
  const std::size_t length = std::strlen(name);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], name, length) == 0 && argv[i][length] == '=') {
      return std::atol(argv[i] + length + 1);
    }
  }
  return otherwise;
}

char byte_of(long sample, long at) {
  return static_cast<char>((static_cast<std::uint64_t>(sample) * 2654435761u + at * 40503u) >> 7);
}

bool as_stored(const std::vector<char>& got, long sample) {
  for (std::size_t at = 0; at < got.size(); ++at) {
    if (got[at] != byte_of(sample, static_cast<long>(at))) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long share = option(argc, argv, "samples", 4000) / ranks;
  const long samples = share * ranks;
  const long bytes = option(argc, argv, "bytes", 3072);
  const long epochs = option(argc, argv, "epochs", 20);
  const long step = option(argc, argv, "step", 0);
  if (option(argc, argv, "nocheck", 0) != 0) lock_promise = MPI_MODE_NOCHECK;

  long wrong = 0;
  double seconds = 0;
  {
    DDStore store(MPI_COMM_WORLD);
    std::vector<char> mine(share * bytes);
    for (long i = 0; i < share * bytes; ++i) {
      mine[i] = byte_of(rank * share + i / bytes, i % bytes);
    }
    store.add("samples", mine.data(), share, static_cast<int>(bytes));
    std::vector<long> order(samples);
    std::iota(order.begin(), order.end(), 0L);
    std::mt19937 shuffled(7);  // the same on every rank
    std::vector<char> sample(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    for (long epoch = 0; epoch < epochs; ++epoch) {
      std::shuffle(order.begin(), order.end(), shuffled);
      for (long i = 0; i < share; ++i) {
        const long wanted = order[i * ranks + rank];
        const double start = MPI_Wtime();
        store.get("samples", wanted, 1, sample.data());
        seconds += MPI_Wtime() - start;
        if (!as_stored(sample, wanted)) ++wrong;
        if (step > 0 && (i + 1) % step == 0) {
          double gradient = 1;
          MPI_Allreduce(MPI_IN_PLACE, &gradient, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
      }
    }
    store.free();
  }
  double mean = 0;
  MPI_Reduce(&seconds, &mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    std::printf("samples fetched %ld, wrong %ld\n", epochs * samples, wrong);
    std::printf("seconds in gets %.6f\n", mean / ranks);
  }
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
