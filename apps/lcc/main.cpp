// Local clustering coefficients of an undirected graph that is spread over the ranks.
//
// Every rank owns a block of the vertices and shows their adjacency lists in two windows. To find
// the coefficient of a vertex, the rank reads the list of each of its neighbours, by a get wherever
// the neighbour is somebody else's: first where the list begins and ends, then the list.

#include <mpi.h>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "../common/arguments.hpp"
#include "../common/hob_user_mode.hpp"
#include "../common/program.hpp"
#include "../common/run_report.hpp"
#include "../common/window_size.hpp"
#include "graph.hpp"
#include "triangles.hpp"

namespace {

using lcc::Vertex;

constexpr const char* usage =
    "usage: lcc (--rmat SCALE EDGEFACTOR | --snap FILE | --matrix-market FILE) [options]\n"
    "  --seed N             of the R-MAT generator (default 1)\n"
    "  --vertices-limit N   every rank takes at most N of its vertices, evenly spread\n"
    "  --check-out FILE     write vertex, degree and links among its neighbours, a line each\n"
    "  --json FILE          write seconds per phase, gets and bytes, per rank and in total\n"
    "  --mode-user          tell Hob, if it is loaded, that the windows are read-only\n";

struct Options {
  std::optional<std::pair<int, int>> rmat;
  std::string snap, matrix_market, check_out, json;
  std::uint64_t seed = 1;
  Vertex vertices_limit = UINT32_MAX;
  bool mode_user = false;
};

Options parse(int argc, char** argv) {
  Options options;
  apps::Arguments arguments(argc, argv);
  while (arguments.next()) {
    const std::string& name = arguments.name();
    if (name == "--rmat") {
      const int scale = arguments.number<int>(1);
      options.rmat = {scale, arguments.number<int>(1)};
    } else if (name == "--snap") {
      options.snap = arguments.text();
    } else if (name == "--matrix-market") {
      options.matrix_market = arguments.text();
    } else if (name == "--seed") {
      options.seed = static_cast<std::uint64_t>(arguments.number<std::int64_t>(0));
    } else if (name == "--vertices-limit") {
      options.vertices_limit = static_cast<Vertex>(arguments.number<std::int64_t>(1));
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
  if (options.rmat.has_value() + !options.snap.empty() + !options.matrix_market.empty() != 1)
    throw std::invalid_argument("name one graph: --rmat, --snap or --matrix-market");
  return options;
}

lcc::EdgeList load(const Options& options) {
  if (options.rmat)
    return lcc::generate_rmat(options.rmat->first, options.rmat->second, options.seed);
  if (!options.snap.empty()) return lcc::read_snap(options.snap);
  return lcc::read_matrix_market(options.matrix_market);
}

// An array of this rank's that all others can read.
template <typename T>
class SharedArray {
 public:
  SharedArray(const std::vector<T>& content, bool mode_user) {
    MPI_Info info = apps::user_mode_info(mode_user);
    MPI_Win_allocate(apps::window_size(content.size() * sizeof(T)), sizeof(T), info, MPI_COMM_WORLD,
                     &data_, &window_);
    if (info != MPI_INFO_NULL) MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    if (!content.empty()) std::memcpy(data_, content.data(), content.size() * sizeof(T));
    MPI_Win_sync(window_);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  ~SharedArray() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  const T* data() const { return data_; }
  MPI_Win window() const { return window_; }

  void fetch(int rank, std::int64_t first, int count, T* to) {
    const int bytes = count * static_cast<int>(sizeof(T));
    MPI_Get(to, bytes, MPI_BYTE, rank, first, bytes, MPI_BYTE, window_);
    MPI_Win_flush(rank, window_);
    ++gets_;
    bytes_ += bytes;
  }
  std::int64_t gets() const { return gets_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  T* data_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
  std::int64_t gets_ = 0;
  std::int64_t bytes_ = 0;
};

struct Result {
  std::uint32_t vertex, degree;
  std::int64_t links;  // pairs of neighbours that are neighbours of each other
};

class Solver {
 public:
  Solver(const lcc::Csr& csr, const lcc::Partition& partition, Vertex vertices, int rank,
         bool mode_user)
      : partition_(partition),
        rank_(rank),
        first_(csr.first),
        offsets_(csr.offsets, mode_user),
        neighbours_(csr.neighbours, mode_user),
        set_(vertices),
        seen_(vertices, 0) {}

  Result solve(Vertex v) {
    const std::span<const Vertex> mine = local_list(v);
    set_.assign(mine);
    std::int64_t twice = 0;
    for (Vertex u : mine) twice += set_.common(list(u));
    return {v, static_cast<std::uint32_t>(mine.size()), twice / 2};
  }

  std::int64_t gets() const { return offsets_.gets() + neighbours_.gets(); }
  std::int64_t bytes() const { return offsets_.bytes() + neighbours_.bytes(); }
  // Bytes of the remote data that were fetched at least once.
  std::int64_t footprint() const { return footprint_; }

  void invalidate() {
    apps::invalidate(offsets_.window());
    apps::invalidate(neighbours_.window());
  }

 private:
  std::span<const Vertex> local_list(Vertex v) const {
    const std::int64_t* bounds = offsets_.data() + (v - first_);
    return {neighbours_.data() + bounds[0], neighbours_.data() + bounds[1]};
  }

  std::span<const Vertex> list(Vertex u) {
    const int owner = partition_.owner(u);
    if (owner == rank_) return local_list(u);
    std::int64_t bounds[2];
    offsets_.fetch(owner, u - partition_.first(owner), 2, bounds);
    const int degree = static_cast<int>(bounds[1] - bounds[0]);
    if (fetched_.size() < static_cast<std::size_t>(degree)) fetched_.resize(degree);
    neighbours_.fetch(owner, bounds[0], degree, fetched_.data());
    if (!seen_[u]) {
      seen_[u] = 1;
      footprint_ += static_cast<std::int64_t>(sizeof bounds + degree * sizeof(Vertex));
    }
    return {fetched_.data(), static_cast<std::size_t>(degree)};
  }

  const lcc::Partition partition_;
  const int rank_;
  const Vertex first_;
  SharedArray<std::int64_t> offsets_;
  SharedArray<Vertex> neighbours_;
  lcc::NeighbourSet set_;
  std::vector<std::uint8_t> seen_;
  std::vector<Vertex> fetched_;
  std::int64_t footprint_ = 0;
};

// Gathers all results at rank 0, which writes them in the order of the vertices.
void write_results(const std::vector<Result>& mine, const std::string& path, int rank, int ranks) {
  const int bytes = static_cast<int>(mine.size() * sizeof(Result));
  std::vector<int> sizes(ranks), starts(ranks);
  MPI_Gather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::size_t total = 0;
  if (rank == 0)
    for (int r = 0; r < ranks; ++r) {
      starts[r] = static_cast<int>(total);
      total += sizes[r];
    }
  std::vector<Result> all(total / sizeof(Result));
  MPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), sizes.data(), starts.data(), MPI_BYTE, 0,
              MPI_COMM_WORLD);
  if (rank != 0) return;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (!file) throw std::runtime_error("cannot write " + path);
  for (const Result& result : all)
    std::fprintf(file, "%" PRIu32 " %" PRIu32 " %" PRId64 "\n", result.vertex, result.degree,
                 result.links);
  if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

double coefficient(const Result& result) {
  if (result.degree < 2) return 0;
  return 2.0 * static_cast<double>(result.links) / result.degree / (result.degree - 1.0);
}

void run(const Options& options, int rank, int ranks) {
  const double started = MPI_Wtime();
  lcc::Csr csr;
  Vertex vertices = 0;
  {
    const lcc::EdgeList graph = load(options);
    vertices = graph.vertices;
    const lcc::Partition partition(vertices, ranks);
    csr = lcc::build_csr(graph, partition.first(rank), partition.count(rank));
  }
  const lcc::Partition partition(vertices, ranks);
  const auto arcs = static_cast<std::int64_t>(csr.neighbours.size());

  const double loaded = MPI_Wtime();
  Solver solver(csr, partition, vertices, rank, options.mode_user);
  const double shared = MPI_Wtime();

  const Vertex own = partition.count(rank);
  const Vertex wanted = std::min(own, options.vertices_limit);
  std::vector<Result> results;
  results.reserve(wanted);
  for (Vertex i = 0; i < wanted; ++i) {
    const auto step = static_cast<Vertex>(std::uint64_t{i} * own / wanted);
    results.push_back(solver.solve(partition.first(rank) + step));
  }
  const double counted = MPI_Wtime();
  MPI_Barrier(MPI_COMM_WORLD);  // the slowest rank ends the phase
  const double finished = MPI_Wtime();
  if (options.mode_user) solver.invalidate();

  double sum = 0;
  std::int64_t links = 0;
  for (const Result& result : results) {
    sum += coefficient(result);
    links += result.links;
  }
  using Total = apps::RunReport::Total;
  apps::RunReport report("lcc");
  report.describe("vertices", vertices);
  report.set("load_seconds", loaded - started, Total::max);
  report.set("share_seconds", shared - loaded, Total::max);
  report.set("count_seconds", counted - shared, Total::max);
  report.set("phase_seconds", finished - shared, Total::max);
  report.set("vertices_done", wanted, Total::sum);
  report.set("microseconds_per_vertex", wanted ? (counted - shared) * 1e6 / wanted : 0, Total::max);
  report.set("gets", static_cast<double>(solver.gets()), Total::sum);
  report.set("get_bytes", static_cast<double>(solver.bytes()), Total::sum);
  report.set("footprint_bytes", static_cast<double>(solver.footprint()), Total::max);
  report.set("arcs", static_cast<double>(arcs), Total::sum);
  report.set("links", static_cast<double>(links), Total::sum);
  report.set("coefficient_sum", sum, Total::sum);
  report.gather(MPI_COMM_WORLD);
  if (rank == 0) {
    const double done = report.total("vertices_done");
    std::printf(
        "lcc: %u vertices, %.0f edges, %d ranks; %.0f coefficients, mean %.6f\n"
        "lcc: count phase %.3f s, %.2f us per vertex; %.0f gets, %.1f MB\n",
        vertices, report.total("arcs") / 2, ranks, done, report.total("coefficient_sum") / done,
        report.total("phase_seconds"), report.total("microseconds_per_vertex"),
        report.total("gets"), report.total("get_bytes") / 1e6);
    if (!options.json.empty()) report.write(options.json);
  }
  if (!options.check_out.empty()) write_results(results, options.check_out, rank, ranks);
}

}  // namespace

int main(int argc, char** argv) {
  return apps::program(argc, argv, "lcc", usage, [&](int rank, int ranks) {
    run(parse(argc, argv), rank, ranks);
    return 0;
  });
}
