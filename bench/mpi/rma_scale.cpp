// Memory use against the number of ranks: rank 0 fetches from `targets` other ranks and leaves the
// rest alone. What a cache in front of MPI holds for it should follow `targets`, not the size of
// the window's communicator.
//
// Arguments: targets=1 gets=200 size=1024
// Output: {"ranks", "targets", "gets", "resident_bytes"}: the resident set of rank 0.
#include "rma_common.hpp"

namespace {

double resident_bytes() {
  long total = 0;
  long resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &total, &resident) != 2) {
      resident = 0;
    }
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const long gets = args.number("gets", 200);
  const int size = static_cast<int>(args.number("size", 1024));
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int targets = static_cast<int>(std::min(args.number("targets", 1), ranks - 1L));
  {
    const rma::Window win(static_cast<std::size_t>(gets * size));
    rma::with_attentive_targets([&] {
      std::vector<unsigned char> buffer(static_cast<std::size_t>(size));
      MPI_Win_lock_all(0, win);
      for (int pass = 0; pass < 2; ++pass) {
        for (int target = 1; target <= targets; ++target) {
          for (long i = 0; i < gets; ++i) {
            MPI_Get(buffer.data(), size, MPI_BYTE, target, i * size, size, MPI_BYTE, win);
            MPI_Win_flush(target, win);
            rma::check(buffer.data(), buffer.size(), target, static_cast<std::size_t>(i * size));
          }
        }
      }
      MPI_Win_unlock_all(win);
      rma::Object row;
      row.field("ranks", ranks)
          .field("targets", targets)
          .field("gets", static_cast<double>(2 * gets * targets))
          .field("resident_bytes", resident_bytes());
      rma::print(row);
    });
  }
  MPI_Finalize();
}
