// Remote memory that is read once: gets of 64 bytes, each followed by a flush, none of them
// repeated. A cache of what was asked for gains nothing here; fetching ahead may.
//
//   order      all of the window, from its beginning to its end
//   stride     the first 64 of every 256 bytes, in order
//   rows       rows of 4 KiB in random order, each from its beginning to its end
//   tenth      a random tenth of the window, in random order
//   scattered  a few pieces of a window so large that no two lie near each other
//   chase      a list in random order: each piece says where the next one is
//
// Every batch has a window of its own, so that nothing is known of it when it begins.
//
// Arguments: what=<one of these> mib=2 count=10000 (of scattered) rounds=11 gate=0
// Output, one line per batch: {"ns", "gets"}, the mean time of one get, and how many there were.
#include <numeric>
#include <random>

#include "rma_common.hpp"

namespace {

constexpr std::size_t piece = 64;
constexpr std::size_t row = 4096;

struct Plan {
  std::size_t bytes = 0;              // of the window
  std::vector<std::uint64_t> pieces;  // numbers of what is read, in this order
};

std::vector<std::uint64_t> shuffled(std::uint64_t count, std::mt19937_64& random) {
  std::vector<std::uint64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  return order;
}

Plan make(const std::string& what, std::size_t bytes, std::uint64_t count) {
  std::mt19937_64 random(7);
  Plan plan{bytes, {}};
  const std::uint64_t all = bytes / piece;
  if (what == "order" || what == "stride") {
    for (std::uint64_t n = 0; n < all; n += what == "order" ? 1 : 4) plan.pieces.push_back(n);
  } else if (what == "rows") {
    for (const std::uint64_t number : shuffled(bytes / row, random))
      for (std::uint64_t n = 0; n < row / piece; ++n)
        plan.pieces.push_back(number * row / piece + n);
  } else if (what == "tenth" || what == "chase") {
    plan.pieces = shuffled(all, random);
    if (what == "tenth") plan.pieces.resize(all / 10);
  } else if (what == "scattered") {
    // Apart by 64 KiB on average.
    plan.bytes = count << 16;
    const std::vector<std::uint64_t> places = shuffled(plan.bytes / row, random);
    for (std::uint64_t i = 0; i < count; ++i)
      plan.pieces.push_back(places[i] * (row / piece) + random() % (row / piece));
  } else {
    std::fprintf(stderr, "once_bench: what=%s is not known\n", what.c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  return plan;
}

// What the i-th get finds: which piece comes next, and a number that tells this piece from others.
struct Piece {
  std::uint64_t next;
  std::uint64_t own;
};

class Memory {
 public:
  explicit Memory(const Plan& plan) {
    MPI_Win_allocate(static_cast<MPI_Aint>(plan.bytes), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base_,
                     &win_);
    // Only what is read is touched: the window of `scattered` is larger than it need be resident.
    for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
      const Piece content{i + 1 < plan.pieces.size() ? plan.pieces[i + 1] : 0, plan.pieces[i]};
      std::memcpy(base_ + plan.pieces[i] * piece, &content, sizeof content);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { MPI_Win_free(&win_); }

  // Nanoseconds for all gets. `chased`: where to go next is read, not known.
  double read(const Plan& plan, bool chased) const {
    alignas(64) unsigned char data[piece];
    MPI_Win_lock_all(0, win_);
    const double start = rma::now_ns();
    std::uint64_t next = plan.pieces[0];
    for (std::size_t i = 0; i < plan.pieces.size(); ++i) {
      const std::uint64_t place = chased ? next : plan.pieces[i];
      MPI_Get(data, piece, MPI_BYTE, 1, static_cast<MPI_Aint>(place * piece), piece, MPI_BYTE,
              win_);
      MPI_Win_flush(1, win_);
      Piece found;
      std::memcpy(&found, data, sizeof found);
      if (found.own != plan.pieces[i]) {
        std::fprintf(stderr, "wrong bytes from piece %llu\n",
                     static_cast<unsigned long long>(place));
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
      next = found.next;
    }
    const double spent = rma::now_ns() - start;
    MPI_Win_unlock_all(win_);
    return spent;
  }

 private:
  unsigned char* base_ = nullptr;
  MPI_Win win_ = MPI_WIN_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const std::string what = args.text("what", "order");
  const Plan plan = make(what, static_cast<std::size_t>(args.number("mib", 2)) << 20,
                         static_cast<std::uint64_t>(args.number("count", 10000)));
  rma::Gate gate(args, args.number("rounds", 11));
  gate.open();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (;;) {
    int more = rank == 0 && gate.next() ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (more == 0) break;
    const Memory memory(plan);
    rma::with_attentive_targets([&] {
      const double gets = static_cast<double>(plan.pieces.size());
      rma::Object line;
      rma::print(line.field("ns", memory.read(plan, what == "chase") / gets).field("gets", gets));
    });
  }
  MPI_Finalize();
}
