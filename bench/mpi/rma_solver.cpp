// Two solvers that read what they need of other ranks by gets, in each iteration anew, as programs
// of that kind do. what=cg: conjugate gradients on a mesh whose points are numbered at random
// within each rank; what=stencil: Jacobi's method on a cube in slabs. Prints us for each iteration,
// its computing included, and the answer.
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "rma_common.hpp"

namespace {

double sum_of_all(double mine) {
  double sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

/// What the iterations of a solver took, in us.
class Iterations {
 public:
  void begin() { began_ = rma::now_ns(); }
  void end() { each_.push_back(1e-3 * (rma::now_ns() - began_)); }

  void print(double answer) const {
    std::vector<double> later(each_.begin() + 3, each_.end());
    std::sort(later.begin(), later.end());
    std::printf("{\"second_us\": %.1f, \"later_us\": %.1f, \"answer\": %.17g}\n", each_[1],
                later[later.size() / 2], answer);
  }

 private:
  double began_ = 0;
  std::vector<double> each_;
};

/// What others read of this rank: doubles, written by stores.
struct Shown {
  explicit Shown(long count) {
    MPI_Win_allocate(count * static_cast<MPI_Aint>(sizeof(double)), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    std::fill(memory, memory + count, 0.0);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
  }
  ~Shown() {
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;

  /// All ranks have written theirs, and all may read.
  void exchange() const {
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
  }

  double* memory = nullptr;
  MPI_Win win = MPI_WIN_NULL;
};

/// A grid of `side` x (`side` x ranks) points in strips, with the Laplacian of its edges and one
/// more on the diagonal.
double conjugate_gradients(long side, int iterations, Iterations& times) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long mine = side * side, rows = side * ranks;
  // Which number a point of a rank has there.
  const auto numbers_of = [&](int owner) {
    std::vector<int> numbers(static_cast<std::size_t>(mine));
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937(static_cast<unsigned>(owner) + 1));
    return numbers;
  };
  struct Entry {
    int owner, at;
  };
  std::vector<std::vector<Entry>> neighbours(static_cast<std::size_t>(mine));
  std::map<int, std::vector<int>> numbers;
  for (int owner = std::max(rank - 1, 0); owner <= std::min(rank + 1, ranks - 1); ++owner)
    numbers[owner] = numbers_of(owner);
  for (long y = side * rank; y < side * (rank + 1); ++y)
    for (long x = 0; x < side; ++x) {
      auto& its = neighbours[static_cast<std::size_t>(
          numbers[rank][static_cast<std::size_t>((y - side * rank) * side + x)])];
      const long around[4][2] = {{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}};
      for (const auto& [to_x, to_y] : around) {
        if (to_x < 0 || to_x >= side || to_y < 0 || to_y >= rows) continue;
        const int owner = static_cast<int>(to_y / side);
        its.push_back(
            {owner, numbers[owner][static_cast<std::size_t>((to_y - side * owner) * side + to_x)]});
      }
    }
  std::map<std::pair<int, int>, double> remote;
  for (const auto& its : neighbours)
    for (const Entry& entry : its)
      if (entry.owner != rank) remote[{entry.owner, entry.at}] = 0;

  const Shown p(mine);
  const auto size = static_cast<std::size_t>(mine);
  std::vector<double> x(size), r(size), q(size);
  for (std::size_t i = 0; i < size; ++i)
    r[i] = p.memory[i] = std::sin(static_cast<double>(i) + rank);
  const auto dot = [&](const double* a, const double* b) {
    return sum_of_all(std::inner_product(a, a + mine, b, 0.0));
  };
  double rr = dot(r.data(), r.data());
  for (int k = 0; k < iterations; ++k) {
    times.begin();
    p.exchange();
    for (auto& [where, value] : remote)
      MPI_Get(&value, 1, MPI_DOUBLE, where.first, where.second, 1, MPI_DOUBLE, p.win);
    MPI_Win_flush_all(p.win);
    for (std::size_t i = 0; i < size; ++i) {
      double sum = (1.0 + static_cast<double>(neighbours[i].size())) * p.memory[i];
      for (const Entry& e : neighbours[i])
        sum -= e.owner == rank ? p.memory[e.at] : remote.find({e.owner, e.at})->second;
      q[i] = sum;
    }
    const double alpha = rr / dot(p.memory, q.data());
    for (std::size_t i = 0; i < size; ++i) {
      x[i] += alpha * p.memory[i];
      r[i] -= alpha * q[i];
    }
    const double next = dot(r.data(), r.data());
    for (std::size_t i = 0; i < size; ++i) p.memory[i] = r[i] + next / rr * p.memory[i];
    rr = next;
    times.end();
  }
  return dot(x.data(), x.data());
}

/// A cube of `side` points along each edge for each rank, side by side along y: neighbours read
/// rows of x that lie `side` rows apart.
double jacobi(long side, int iterations, Iterations& times) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const long plane = side * side, mine = plane * side;
  const Shown u(mine);
  std::vector<double> next(static_cast<std::size_t>(mine)), below(static_cast<std::size_t>(plane)),
      above(static_cast<std::size_t>(plane));
  for (long i = 0; i < mine; ++i) u.memory[i] = std::sin(static_cast<double>(i + rank));
  const auto read_side = [&](int from, long y, std::vector<double>& into) {
    if (from < 0 || from >= ranks) return;
    const int row = static_cast<int>(side);
    for (long z = 0; z < side; ++z) {
      MPI_Get(into.data() + z * side, row, MPI_DOUBLE, from, z * plane + y * side, row, MPI_DOUBLE,
              u.win);
      MPI_Win_flush(from, u.win);
    }
  };
  for (int k = 0; k < iterations; ++k) {
    times.begin();
    u.exchange();
    read_side(rank - 1, side - 1, below);
    read_side(rank + 1, 0, above);
    for (long z = 1; z < side - 1; ++z)
      for (long y = 0; y < side; ++y)
        for (long x = 1; x < side - 1; ++x) {
          const double* const at = u.memory + z * plane + y * side + x;
          const double down = y > 0 ? at[-side] : below[static_cast<std::size_t>(z * side + x)];
          const double up = y < side - 1 ? at[side] : above[static_cast<std::size_t>(z * side + x)];
          next[static_cast<std::size_t>(at - u.memory)] =
              (at[-1] + at[1] + down + up + at[-plane] + at[plane]) / 6;
        }
    MPI_Barrier(MPI_COMM_WORLD);  // the others have read
    std::copy(next.begin(), next.end(), u.memory);
    times.end();
  }
  return sum_of_all(std::accumulate(u.memory, u.memory + mine, 0.0,
                                    [](double a, double b) { return a + b * b; }));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const rma::Args args(argc, argv);
  const int iterations = std::max(static_cast<int>(args.number("iterations", 60)), 4);
  Iterations times;
  const double answer = args.text("what", "cg") == "cg"
                            ? conjugate_gradients(200, iterations, times)
                            : jacobi(48, iterations, times);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) times.print(answer);
  MPI_Finalize();
  return 0;
}
