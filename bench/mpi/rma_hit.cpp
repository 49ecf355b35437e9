// Cost of a get and flush whose data was fetched before, against a memcpy of the same bytes.
//
// Rank 0 cycles over `set` distinct displacements of rank 1's window (a single displacement would
// look like a program that polls a flag). Batches of memcpy from a local buffer of the same shape
// alternate with batches of get + flush, so that both see the same machine.
//
// Arguments: sizes=8,64,... set=64 rounds=41 warm=8 batch_us=100
// Output, one line per size: {"size", "memcpy_ns", "get_ns", "over_ns", "get_mean_ns"}: medians
// over batches of the time per operation, the median of the difference of neighbouring batches,
// and the mean over all gets.
#include "rma_common.hpp"

namespace {

struct Setup {
  std::size_t set;
  long rounds;
  long warm;
  double batch_ns;
};

template <class Pass>
long passes_for(double batch_ns, Pass pass) {
  const double start = rma::now_ns();
  pass();
  const double once = rma::now_ns() - start;
  return std::max(1L, static_cast<long>(batch_ns / std::max(once, 1.0)));
}

template <class Pass>
double per_operation(long passes, std::size_t set, Pass pass) {
  const double start = rma::now_ns();
  for (long i = 0; i < passes; ++i) {
    pass();
  }
  return (rma::now_ns() - start) / static_cast<double>(passes) / static_cast<double>(set);
}

rma::Object measure(const Setup& setup, std::size_t size, MPI_Win win) {
  const int count = static_cast<int>(size);
  std::vector<unsigned char> source(setup.set * size, 1);
  std::vector<unsigned char> target(size);
  unsigned char* const buffer = target.data();

  const auto copy_pass = [&] {
    for (std::size_t i = 0; i < setup.set; ++i) {
      std::memcpy(buffer, source.data() + i * size, size);
      asm volatile("" : : "r"(buffer) : "memory");  // keeps every copy
    }
  };
  const auto get_pass = [&] {
    for (std::size_t i = 0; i < setup.set; ++i) {
      MPI_Get(buffer, count, MPI_BYTE, 1, static_cast<MPI_Aint>(i * size), count, MPI_BYTE, win);
      MPI_Win_flush(1, win);
    }
  };

  for (long i = 0; i < setup.warm; ++i) {
    copy_pass();
    get_pass();
  }
  const long copies = passes_for(setup.batch_ns, copy_pass);
  const long gets = passes_for(setup.batch_ns, get_pass);

  std::vector<double> copy_ns, get_ns, over_ns;
  double sum = 0;
  for (long round = 0; round < setup.rounds; ++round) {
    copy_ns.push_back(per_operation(copies, setup.set, copy_pass));
    get_ns.push_back(per_operation(gets, setup.set, get_pass));
    over_ns.push_back(get_ns.back() - copy_ns.back());
    sum += get_ns.back();
  }
  for (std::size_t i = 0; i < setup.set; ++i) {
    MPI_Get(buffer, count, MPI_BYTE, 1, static_cast<MPI_Aint>(i * size), count, MPI_BYTE, win);
    MPI_Win_flush(1, win);
    rma::check(buffer, size, 1, i * size);
  }
  rma::Object row;
  row.field("size", static_cast<double>(size))
      .field("memcpy_ns", rma::quantile(copy_ns, 0.5))
      .field("get_ns", rma::quantile(get_ns, 0.5))
      .field("over_ns", rma::quantile(over_ns, 0.5))
      .field("get_mean_ns", sum / static_cast<double>(setup.rounds));
  return row;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const Setup setup{static_cast<std::size_t>(args.number("set", 64)), args.number("rounds", 41),
                    args.number("warm", 8),
                    1000.0 * static_cast<double>(args.number("batch_us", 100))};
  const auto sizes = args.numbers("sizes", "8,64,512,1024,4096,16384,65536");
  for (const long size : sizes) {
    const rma::Window win(setup.set * static_cast<std::size_t>(size));
    rma::with_attentive_targets([&] {
      MPI_Win_lock_all(0, win);
      rma::print(measure(setup, static_cast<std::size_t>(size), win));
      MPI_Win_unlock_all(win);
    });
  }
  MPI_Finalize();
}
