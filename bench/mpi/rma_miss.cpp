// Time of single gets and flushes that are never repeated between two synchronisations.
//
// Rank 0 fetches `count` disjoint pieces of rank 1's window, each with its own flush and its own
// time, then calls MPI_Win_sync, after which nothing fetched before may be used, and starts again:
// every get is a miss, but for the first piece of each round, which is fetched twice: a program
// that never comes back to anything is another benchmark (rma_harm, stream). Which kind of miss
// (space left, space to be made, no space) follows from how much room a cache in front of MPI has,
// and is chosen from outside.
//
// Arguments: size=8 count=1000 rounds=3 skip=50 gate=0
// Output, one line per round: {"ns": [...]}, the time of each get and flush. The first `skip` gets
// of each round are left out: they warm up connections, or fill a cache.
#include "rma_common.hpp"

namespace {

std::vector<double> measure(std::size_t size, long gets, long skip, MPI_Win win) {
  const int count = static_cast<int>(size);
  std::vector<unsigned char> buffer(size);
  std::vector<double> times;
  times.reserve(static_cast<std::size_t>(gets));
  for (int again = 0; again < 2; ++again) {
    MPI_Get(buffer.data(), count, MPI_BYTE, 1, 0, count, MPI_BYTE, win);
    MPI_Win_flush(1, win);
  }
  for (long i = 1; i < gets; ++i) {
    // Every other piece from either half, so that no piece continues the one before it.
    const auto piece = static_cast<MPI_Aint>((i % 2) * (gets / 2) + i / 2);
    const auto offset = piece * static_cast<MPI_Aint>(size);
    const double start = rma::now_ns();
    MPI_Get(buffer.data(), count, MPI_BYTE, 1, offset, count, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    const double spent = rma::now_ns() - start;
    if (i >= skip) {
      times.push_back(spent);
    } else {
      rma::check(buffer.data(), size, 1, static_cast<std::size_t>(offset));
    }
  }
  MPI_Win_sync(win);
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const auto size = static_cast<std::size_t>(args.number("size", 8));
  const long count = args.number("count", 1000);
  const long skip = args.number("skip", 50);
  rma::Gate gate(args, args.number("rounds", 3));
  {
    const rma::Window win(static_cast<std::size_t>(count) * size);
    gate.open();
    rma::with_attentive_targets([&] {
      MPI_Win_lock_all(0, win);
      while (gate.next()) {
        rma::Object row;
        rma::print(row.field("ns", measure(size, count, skip, win)));
      }
      MPI_Win_unlock_all(win);
    });
  }
  MPI_Finalize();
}
