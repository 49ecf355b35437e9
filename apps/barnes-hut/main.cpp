// Barnes-Hut simulation of a Plummer sphere whose bodies, and the octree over them, are spread over
// the ranks.
//
// Every step the bodies are dealt out by their place on the Morton curve, every rank builds the
// tree below the cubes that it owns and shows cells and bodies in two windows; the top of the tree
// is held by all. During the force phase, which only reads, a rank walks the tree for each of its
// bodies and fetches every cell, and the bodies of every leaf, that is somebody else's by a get.
//
// Positions are the same to the last bit whatever the number of ranks.

#include <mpi.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/hob_user_mode.hpp"
#include "../common/program.hpp"
#include "../common/run_report.hpp"
#include "../common/window_size.hpp"
#include "decomposition.hpp"
#include "octree.hpp"

namespace {

using namespace barnes_hut;

constexpr const char* usage =
    "usage: barnes-hut [options]\n"
    "  --bodies N          of the Plummer sphere (default 4000)\n"
    "  --steps N           time steps (default 2)\n"
    "  --theta X           opening angle; 0 sums over all bodies (default 0.5)\n"
    "  --leaf N            most bodies in a leaf (default 8)\n"
    "  --dt X              time step (default 0.01)\n"
    "  --softening X       softening length (default 0.05)\n"
    "  --seed N            of the sphere (default 1)\n"
    "  --bodies-limit N    every rank finds the force on at most N of its bodies, evenly spread\n"
    "  --accuracy N        compare the first step's forces on N bodies with the sum over all "
    "bodies\n"
    "  --check-out FILE    write the last positions as hexadecimal floating-point numbers\n"
    "  --json FILE         write seconds per phase, gets and bytes, per rank and in total\n"
    "  --mode-user         tell Hob, if it is loaded, when the windows are read-only\n";

struct Options {
  std::int64_t bodies = 4000, bodies_limit = INT64_MAX, accuracy = 0;
  int steps = 2, leaf = 8;
  double theta = 0.5, dt = 0.01, softening = 0.05;
  std::uint64_t seed = 1;
  std::string check_out, json;
  bool mode_user = false;
};

Options parse(int argc, char** argv) {
  Options options;
  apps::Arguments arguments(argc, argv);
  while (arguments.next()) {
    const std::string& name = arguments.name();
    if (name == "--bodies") {
      options.bodies = arguments.number<std::int64_t>(1);
    } else if (name == "--steps") {
      options.steps = arguments.number<int>(1);
    } else if (name == "--theta") {
      options.theta = arguments.number<double>(0);
    } else if (name == "--leaf") {
      options.leaf = arguments.number<int>(1);
    } else if (name == "--dt") {
      options.dt = arguments.number<double>(0);
    } else if (name == "--softening") {
      options.softening = arguments.number<double>(0);
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(arguments.number<std::int64_t>(0));
    } else if (name == "--bodies-limit") {
      options.bodies_limit = arguments.number<std::int64_t>(1);
    } else if (name == "--accuracy") {
      options.accuracy = arguments.number<std::int64_t>(1);
    } else if (name == "--check-out") {
      options.check_out = arguments.text();
    } else if (name == "--json") {
      options.json = arguments.text();
    } else if (name == "--mode-user") {
      options.mode_user = true;
    } else {
      throw std::invalid_argument("unknown option " + name);
    }
  }
  if (options.bodies > INT32_MAX) throw std::invalid_argument("--bodies: at most 2^31 - 1");
  return options;
}

// Records of this rank's that all others can read between open() and close().
template <typename T>
class SharedRecords {
 public:
  explicit SharedRecords(bool mode_user) : mode_user_(mode_user) {}
  ~SharedRecords() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
  }
  SharedRecords(const SharedRecords&) = delete;
  SharedRecords& operator=(const SharedRecords&) = delete;

  // Collective: shows `records`, and starts reading the others'.
  void open(const std::vector<T>& records) {
    std::int64_t largest = static_cast<std::int64_t>(records.size());
    MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    if (largest > capacity_) allocate(largest + largest / 4);
    seen_.clear();
    footprint_ = std::max(footprint_, step_footprint_);
    step_footprint_ = 0;
    std::copy(records.begin(), records.end(), data_);
    MPI_Win_lock_all(0, window_);
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  // Ends reading; the caller sees to it that all ranks have ended before anyone writes again.
  void close() {
    if (mode_user_) apps::invalidate(window_);
    MPI_Win_unlock_all(window_);
  }

  const T* data() const { return data_; }

  void fetch(int rank, std::int32_t first, std::int32_t count, T* to) {
    const int bytes = count * static_cast<int>(sizeof(T));
    MPI_Get(to, bytes, MPI_BYTE, rank, first, bytes, MPI_BYTE, window_);
    MPI_Win_flush(rank, window_);
    ++gets_;
    bytes_ += bytes;
    note(rank, first, bytes);
  }

  std::int64_t gets() const { return gets_; }
  std::int64_t bytes() const { return bytes_; }
  // Bytes of the remote data that were fetched at least once, in the step that fetched most.
  std::int64_t footprint() const { return std::max(footprint_, step_footprint_); }

 private:
  void note(int rank, std::int32_t first, int bytes) {
    if (seen_.size() <= static_cast<std::size_t>(rank)) seen_.resize(rank + 1);
    std::vector<bool>& seen = seen_[rank];
    if (seen.empty()) seen.resize(capacity_);
    if (!seen[first]) step_footprint_ += bytes;
    seen[first] = true;
  }
  void allocate(std::int64_t capacity) {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
    MPI_Info info = apps::user_mode_info(mode_user_);
    MPI_Win_allocate(apps::window_size(capacity * sizeof(T)), sizeof(T), info, MPI_COMM_WORLD,
                     &data_, &window_);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    capacity_ = capacity;
  }

  const bool mode_user_;
  T* data_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t capacity_ = 0;
  std::int64_t gets_ = 0, bytes_ = 0, footprint_ = 0, step_footprint_ = 0;
  std::vector<std::vector<bool>> seen_;  // by rank and first record
};

Box bounding_box(const std::vector<Body>& bodies) {
  double bounds[6] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
  for (const Body& body : bodies) {
    const Vector& p = body.position;
    const double reach[6] = {p.x, p.y, p.z, -p.x, -p.y, -p.z};
    for (int i = 0; i < 6; ++i) bounds[i] = std::min(bounds[i], reach[i]);
  }
  MPI_Allreduce(MPI_IN_PLACE, bounds, 6, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  double width = 0;
  for (int i = 0; i < 3; ++i) width = std::max(width, -bounds[i + 3] - bounds[i]);
  return {{bounds[0], bounds[1], bounds[2]}, width > 0 ? width : 1};
}

void sort_by_key(std::vector<Body>& bodies) {
  std::sort(bodies.begin(), bodies.end(), [](const Body& a, const Body& b) {
    return a.key != b.key ? a.key < b.key : a.id < b.id;
  });
}

// Gathers records of all ranks, in the order of the ranks, at every rank.
template <typename T>
std::vector<T> gather_everywhere(const std::vector<T>& mine, int ranks) {
  const int bytes = static_cast<int>(mine.size() * sizeof(T));
  std::vector<int> sizes(ranks), starts(ranks, 0);
  MPI_Allgather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < ranks; ++r) starts[r] = starts[r - 1] + sizes[r - 1];
  std::vector<T> all((starts.back() + sizes.back()) / sizeof(T));
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, all.data(), sizes.data(), starts.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  return all;
}

// Sends every body to its owner.
void exchange(std::vector<Body>& bodies, const Decomposition& decomposition, int ranks) {
  sort_by_key(bodies);  // which is also the order of the owners
  std::vector<int> send(ranks, 0), receive(ranks), send_at(ranks, 0), receive_at(ranks, 0);
  for (const Body& body : bodies) send[decomposition.owner(body.key)] += sizeof(Body);
  MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, MPI_COMM_WORLD);
  for (int r = 1; r < ranks; ++r) {
    send_at[r] = send_at[r - 1] + send[r - 1];
    receive_at[r] = receive_at[r - 1] + receive[r - 1];
  }
  std::vector<Body> arrived((receive_at.back() + receive.back()) / sizeof(Body));
  MPI_Alltoallv(bodies.data(), send.data(), send_at.data(), MPI_BYTE, arrived.data(),
                receive.data(), receive_at.data(), MPI_BYTE, MPI_COMM_WORLD);
  bodies.swap(arrived);
  sort_by_key(bodies);
}

class Simulation {
 public:
  Simulation(const Options& options, int rank, int ranks)
      : options_(options),
        rank_(rank),
        ranks_(ranks),
        cells_(options.mode_user),
        points_(options.mode_user) {
    const std::vector<Body> all = plummer_sphere(options.bodies, options.seed);
    const std::int64_t n = options.bodies;
    bodies_.assign(all.begin() + n * rank / ranks, all.begin() + n * (rank + 1) / ranks);
  }

  void step() {
    const double started = MPI_Wtime();
    build_tree();
    const double built = MPI_Wtime();
    const auto own = static_cast<std::int64_t>(bodies_.size());
    const std::int64_t wanted = std::min(own, options_.bodies_limit);
    force_.assign(own, Vector{});
    for (std::int64_t i = 0; i < wanted; ++i) {
      const std::int64_t body = i * own / wanted;
      force_[body] = force_at(bodies_[body].position);
    }
    const double computed = MPI_Wtime();
    cells_.close();
    points_.close();
    MPI_Barrier(MPI_COMM_WORLD);
    const double finished = MPI_Wtime();

    forces_done_ += wanted;
    tree_seconds_ += built - started;
    force_seconds_ += computed - built;
    phase_seconds_ += finished - built;
  }

  void move() {
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      bodies_[i].velocity += options_.dt * force_[i];
      bodies_[i].position += options_.dt * bodies_[i].velocity;
    }
  }

  // The largest relative difference between the tree's forces and sums over all bodies, for
  // `sample` bodies.
  double error(std::int64_t sample) const {
    const std::vector<Body> all = gather_everywhere(bodies_, ranks_);
    const std::int64_t every = std::max<std::int64_t>(1, options_.bodies / sample);
    double worst = 0;
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      if (bodies_[i].id % every != 0) continue;
      Vector exact;
      for (const Body& other : all)
        exact += pull(bodies_[i].position, other.position, other.mass, options_.softening);
      worst = std::max(worst, std::sqrt((force_[i] - exact).squared() / exact.squared()));
    }
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return worst;
  }

  // All positions in the order of the bodies' numbers.
  std::vector<Vector> positions() const {
    std::vector<Vector> positions(options_.bodies);
    for (const Body& body : gather_everywhere(bodies_, ranks_)) positions[body.id] = body.position;
    return positions;
  }

  void fill(apps::RunReport& report) const {
    using Total = apps::RunReport::Total;
    report.set("tree_seconds", tree_seconds_, Total::max);
    report.set("force_seconds", force_seconds_, Total::max);
    report.set("phase_seconds", phase_seconds_, Total::max);
    report.set("forces", static_cast<double>(forces_done_), Total::sum);
    report.set("microseconds_per_body",
               forces_done_ ? force_seconds_ * 1e6 / static_cast<double>(forces_done_) : 0,
               Total::max);
    report.set("gets", static_cast<double>(cells_.gets() + points_.gets()), Total::sum);
    report.set("cell_gets", static_cast<double>(cells_.gets()), Total::sum);
    report.set("leaf_gets", static_cast<double>(points_.gets()), Total::sum);
    report.set("get_bytes", static_cast<double>(cells_.bytes() + points_.bytes()), Total::sum);
    report.set("footprint_bytes", static_cast<double>(cells_.footprint() + points_.footprint()),
               Total::max);
    report.set("interactions", static_cast<double>(interactions_), Total::sum);
  }

 private:
  void build_tree() {
    const Box box = bounding_box(bodies_);
    std::vector<std::int32_t> in_grain(grains, 0);
    for (Body& body : bodies_) {
      body.key = key_of(body.position, box);
      ++in_grain[grain_of(body.key)];
    }
    MPI_Allreduce(MPI_IN_PLACE, in_grain.data(), grains, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    const Decomposition decomposition(in_grain, ranks_, options_.leaf);
    exchange(bodies_, decomposition, ranks_);

    std::vector<Cell> cells, roots;
    branch_owner_.clear();
    auto body = bodies_.begin();
    for (const Branch& branch : decomposition.branches()) {
      branch_owner_.push_back(branch.owner);
      if (branch.owner != rank_) continue;
      const std::int32_t end = branch.first_grain + (grains >> (3 * branch.level));
      const auto last = std::partition_point(body, bodies_.end(),
                                             [&](const Body& b) { return grain_of(b.key) < end; });
      const std::size_t root = cells.size();
      build_cells({body, last}, static_cast<std::int32_t>(body - bodies_.begin()), branch.level,
                  box.width, options_.leaf, cells);
      roots.push_back(cells[root]);
      body = last;
    }
    top_ = decomposition.top(gather_everywhere(roots, ranks_), box.width);

    std::vector<Point> points;
    points.reserve(bodies_.size());
    for (const Body& b : bodies_) points.push_back({b.position, b.mass});
    cells_.open(cells);
    points_.open(points);
  }

  Vector force_at(const Vector& at) {
    Vector force;
    stack_.assign(1, {top, 0});
    while (!stack_.empty()) {
      const Place place = stack_.back();
      stack_.pop_back();
      std::int32_t owner = place.owner;
      Cell cell;
      if (owner == top) {
        const TopCell& node = top_[place.index];
        cell = node.cell;
        if (node.branch >= 0) owner = branch_owner_[node.branch];
      } else if (owner == rank_) {
        cell = cells_.data()[place.index];
      } else {
        cells_.fetch(owner, place.index, 1, &cell);
      }

      if (far_enough(cell, at, options_.theta)) {
        force += pull(at, cell.centre, cell.mass, options_.softening);
        ++interactions_;
      } else if (cell.leaf) {
        const Point* points = points_.data() + cell.first;
        if (owner != rank_) {
          fetched_.resize(cell.count);
          points_.fetch(owner, cell.first, cell.count, fetched_.data());
          points = fetched_.data();
        }
        for (std::int32_t i = 0; i < cell.count; ++i)
          force += pull(at, points[i].position, points[i].mass, options_.softening);
        interactions_ += cell.count;
      } else {
        for (std::int32_t child = cell.count - 1; child >= 0; --child)
          stack_.push_back({owner, cell.first + child});
      }
    }
    return force;
  }

  // A cell of an owner's array, or of the top of the tree.
  struct Place {
    std::int32_t owner, index;
  };
  static constexpr std::int32_t top = -1;

  const Options& options_;
  const int rank_, ranks_;
  std::vector<Body> bodies_;
  std::vector<Vector> force_;
  std::vector<TopCell> top_;
  std::vector<int> branch_owner_;
  SharedRecords<Cell> cells_;
  SharedRecords<Point> points_;
  std::vector<Point> fetched_;
  std::vector<Place> stack_;
  std::int64_t interactions_ = 0, forces_done_ = 0;
  double tree_seconds_ = 0, force_seconds_ = 0, phase_seconds_ = 0;
};

// The sums of all coordinates, and FNV-1a over their bits.
std::string checksum(const std::vector<Vector>& positions) {
  Vector sum;
  for (const Vector& p : positions) sum += p;
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(positions.data());
  for (std::size_t i = 0; i < positions.size() * sizeof(Vector); ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3u;
  char text[128];
  std::snprintf(text, sizeof text, "%a %a %a %016" PRIx64, sum.x, sum.y, sum.z, hash);
  return text;
}

void write_positions(const std::vector<Vector>& positions, const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + path);
  for (const Vector& p : positions) std::fprintf(file, "%a %a %a\n", p.x, p.y, p.z);
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

void run(const Options& options, int rank, int ranks) {
  Simulation simulation(options, rank, ranks);
  double error = 0;
  for (int step = 0; step < options.steps; ++step) {
    simulation.step();
    if (step == 0 && options.accuracy > 0) error = simulation.error(options.accuracy);
    simulation.move();
  }

  const std::vector<Vector> positions = simulation.positions();
  const std::string sum = checksum(positions);

  apps::RunReport report("barnes-hut");
  report.describe("bodies", static_cast<double>(options.bodies));
  report.describe("steps", options.steps);
  report.describe("theta", options.theta);
  report.describe("checksum", sum);
  simulation.fill(report);
  report.gather(MPI_COMM_WORLD);
  if (rank != 0) return;
  std::printf("barnes-hut: %" PRId64
              " bodies, %d steps, %d ranks\n"
              "barnes-hut: force phase %.3f s, %.1f us per body; %.0f gets, %.1f MB\n"
              "barnes-hut: checksum %s\n",
              options.bodies, options.steps, ranks, report.total("phase_seconds"),
              report.total("microseconds_per_body"), report.total("gets"),
              report.total("get_bytes") / 1e6, sum.c_str());
  if (options.accuracy > 0) std::printf("barnes-hut: largest relative error %.3g\n", error);
  if (!options.json.empty()) report.write(options.json);
  if (!options.check_out.empty()) write_positions(positions, options.check_out);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::program(argc, argv, "barnes-hut", usage, [&](int rank, int ranks) {
    run(parse(argc, argv), rank, ranks);
    return 0;
  });
}
