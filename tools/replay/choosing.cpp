#include <array>

#include "generate.hpp"
#include "generators.hpp"

namespace hob::replay {
namespace {

constexpr std::size_t kMost = 120000;  ///< gets of one trace

/// The paper's micro-benchmark (IV-A): 1K distinct gets of 2^0 .. 2^16 bytes, drawn normally.
Records micro(std::uint64_t seed) {
  Engine random(seed);
  std::vector<std::uint64_t> sizes(1000);
  for (std::uint64_t& size : sizes) size = std::uint64_t{1} << below(random, 17);
  const auto at = offsets_of(sizes);
  std::normal_distribution<double> draw(500, 250);
  Records records;
  while (records.size() < 100000) {
    const double x = draw(random);
    if (x < 0 || x >= 1000) continue;
    const auto i = static_cast<std::size_t>(x);
    get(records, 1, at[i], sizes[i]);
  }
  return records;
}

/// Local clustering coefficients of an R-MAT graph (IV-C): adjacency lists of every neighbour.
Records lcc_rmat(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t scale = 13;
  constexpr std::uint32_t vertices = 1u << scale;
  constexpr std::uint32_t ranks = 4;
  std::vector<std::vector<std::uint32_t>> adjacency(vertices);
  const auto order = shuffled(random, vertices);
  for (std::uint32_t edge = 0; edge < vertices * 10; ++edge) {
    std::uint32_t u = 0;
    std::uint32_t v = 0;
    for (std::uint32_t level = 0; level < scale; ++level) {
      const double x = unit(random);
      u = u << 1 | (x >= 0.76 ? 1u : 0u);
      v = v << 1 | ((x >= 0.57 && x < 0.76) || x >= 0.95 ? 1u : 0u);
    }
    if (u == v) continue;
    adjacency[order[u]].push_back(order[v]);
    adjacency[order[v]].push_back(order[u]);
  }
  std::vector<std::uint64_t> sizes(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) {
    auto& list = adjacency[v];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    sizes[v] = 4 * list.size();
  }
  const auto at = offsets_of(sizes);
  Records records;
  for (std::uint32_t v = 0; v < vertices / ranks && records.size() < kMost; ++v)
    for (const std::uint32_t u : adjacency[v])
      if (u >= vertices / ranks) get(records, u / (vertices / ranks), at[u], sizes[u]);
  return records;
}

/// The force phase of a Barnes-Hut simulation (IV-B): cells of an octree in the order of its
/// visits.
Records barnes_hut(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t bodies = 3000;
  struct Cell {
    std::array<double, 3> low, centre;
    double width;
    std::array<std::int32_t, 8> children;
    std::uint32_t count;
  };
  struct Body {
    std::array<double, 3> x;
  };
  std::vector<Body> body(bodies);
  for (Body& b : body) {
    const double r =
        std::min(0.4, 0.05 / std::sqrt(std::pow(unit(random) + 1e-3, -2.0 / 3) - 1 + 1e-9));
    const double z = 2 * unit(random) - 1;
    const double phi = 6.283185307 * unit(random);
    const double s = std::sqrt(1 - z * z);
    b.x = {0.5 + r * s * std::cos(phi), 0.5 + r * s * std::sin(phi), 0.5 + r * z};
  }
  std::vector<Cell> cells;
  const auto build = [&](auto&& self, const std::vector<std::uint32_t>& inside,
                         std::array<double, 3> low, double width, int depth) -> std::int32_t {
    if (inside.empty()) return -1;
    const auto number = static_cast<std::int32_t>(cells.size());
    cells.push_back({low, {0, 0, 0}, width, {}, static_cast<std::uint32_t>(inside.size())});
    cells.back().children.fill(-1);
    std::array<double, 3> centre{};
    for (const std::uint32_t i : inside)
      for (int d = 0; d < 3; ++d) centre[d] += body[i].x[d] / static_cast<double>(inside.size());
    cells[static_cast<std::size_t>(number)].centre = centre;
    if (inside.size() == 1 || depth > 20) return number;
    std::array<std::vector<std::uint32_t>, 8> parts;
    for (const std::uint32_t i : inside) {
      int octant = 0;
      for (int d = 0; d < 3; ++d) octant |= (body[i].x[d] >= low[d] + width / 2 ? 1 : 0) << d;
      parts[static_cast<std::size_t>(octant)].push_back(i);
    }
    for (std::size_t octant = 0; octant < 8; ++octant) {
      auto corner = low;
      for (std::size_t d = 0; d < 3; ++d)
        if ((octant >> d & 1) != 0) corner[d] += width / 2;
      const std::int32_t child = self(self, parts[octant], corner, width / 2, depth + 1);
      cells[static_cast<std::size_t>(number)].children[octant] = child;
    }
    return number;
  };
  std::vector<std::uint32_t> all(bodies);
  std::iota(all.begin(), all.end(), 0u);
  build(build, all, {0, 0, 0}, 1, 0);
  // Bodies of this rank lie together: the leaves in tree order, a quarter of them.
  Records records;
  std::uint32_t leaf = 0;
  for (std::size_t c = 0; c < cells.size() && records.size() < kMost; ++c) {
    if (cells[c].count != 1 || leaf++ % bodies >= bodies / 4) continue;
    const auto& x = cells[c].centre;
    std::vector<std::int32_t> stack{0};
    while (!stack.empty()) {
      const auto n = static_cast<std::size_t>(stack.back());
      stack.pop_back();
      const Cell& cell = cells[n];
      get(records, static_cast<std::uint32_t>(n % 4), n / 4 * 104, cell.count == 1 ? 72 : 104);
      double distance = 0;
      for (std::size_t d = 0; d < 3; ++d)
        distance += (cell.centre[d] - x[d]) * (cell.centre[d] - x[d]);
      if (cell.count == 1 || cell.width * cell.width < 0.36 * distance) continue;
      for (const std::int32_t child : cell.children)
        if (child >= 0) stack.push_back(child);
    }
  }
  return records;
}

/// Popular and unpopular objects of log-normal sizes.
Records zipf(std::uint64_t seed) {
  Engine random(seed);
  std::lognormal_distribution<double> draw(6, 1.5);
  std::vector<std::uint64_t> sizes(8000);
  for (std::uint64_t& size : sizes)
    size = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(draw(random)), 8, 65536);
  const auto at = offsets_of(sizes);
  const Zipf popular(sizes.size(), 0.9);
  const auto order = shuffled(random, static_cast<std::uint32_t>(sizes.size()));
  Records records;
  while (records.size() < kMost) {
    const std::uint32_t i = order[popular(random)];
    get(records, i % 8, at[i], sizes[i]);
  }
  return records;
}

/// The same data over and over in the same order: the worst case of LRU.
Records loop(std::uint64_t seed) {
  Engine random(seed);
  std::vector<std::uint64_t> sizes(3000);
  for (std::uint64_t& size : sizes) size = 64 * (1 + below(random, 32));
  const auto at = offsets_of(sizes);
  Records records;
  for (int round = 0; round < 30; ++round)
    for (std::size_t i = 0; i < sizes.size(); ++i) get(records, 1, at[i], sizes[i]);
  return records;
}

/// A stencil's halos each step, beside a table that is looked up at random.
Records stencil(std::uint64_t seed) {
  Engine random(seed);
  const Zipf popular(5000, 0.6);
  Records records;
  for (int step = 0; step < 300; ++step) {
    for (std::uint32_t side = 0; side < 6; ++side)
      for (std::uint64_t line = 0; line < 32; ++line)
        get(records, side, line * 65536, 512u << (side / 2));
    for (int i = 0; i < 200; ++i) get(records, 7, popular(random) * 40, 40);
  }
  return records;
}

/// A working set that moves on: popular now, forgotten soon.
Records drift(std::uint64_t seed) {
  Engine random(seed);
  const Zipf popular(600, 0.7);
  Records records;
  for (std::uint64_t i = 0; records.size() < 100000; ++i) {
    const std::uint64_t key = i / 60 + popular(random);
    get(records, static_cast<std::uint32_t>(key % 5), key * 4096, 64 + key * 2654435761u % 4000);
  }
  return records;
}

/// A plane swept line by line, each point with the points around it: short bursts of reuse, then a
/// long time none.
Records window(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint64_t width = 60;
  constexpr std::uint64_t height = 50;
  std::vector<std::uint64_t> sizes(width * height);
  for (std::uint64_t& size : sizes) size = 64 + below(random, 1000);
  const auto at = offsets_of(sizes);
  Records records;
  for (int sweep = 0; sweep < 4; ++sweep)
    for (std::uint64_t y = 1; y + 1 < height; ++y)
      for (std::uint64_t x = 1; x + 1 < width; ++x)
        for (std::uint64_t k = 0; k < 9; ++k) {
          const std::uint64_t point = (y + k / 3 - 1) * width + x + k % 3 - 1;
          get(records, static_cast<std::uint32_t>(y % 4), at[point], sizes[point]);
        }
  return records;
}

/// Tiles of matrices that are multiplied block by block.
Records tiles(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint64_t n = 32;
  Records records;
  const std::uint64_t odd = 1 + below(random, 7);
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t j = 0; j < n; ++j)
      for (std::uint64_t k = 0; k < n; ++k) {
        get(records, 0, (i * n + k) * 16384, 1024 + 8 * odd * (i + k));
        get(records, 1, (k * n + j) * 16384, 1024 + 8 * odd * (k + j));
        if (k % 8 == 0) get(records, 2, (i * n + j) * 16384, 512);
      }
  return records;
}

}  // namespace

const std::vector<Family>& choosing_suite() {
  static const std::vector<Family> suite = {
      {"micro", "the paper's micro-benchmark", micro},
      {"lcc-rmat", "clustering coefficients, R-MAT graph", lcc_rmat},
      {"barnes-hut", "octree cells in visiting order", barnes_hut},
      {"zipf", "skewed popularity, log-normal sizes", zipf},
      {"loop", "the same data over and over", loop},
      {"stencil", "halos and a table", stencil},
      {"drift", "a working set that moves on", drift},
      {"window", "a plane swept with its neighbourhoods", window},
      {"tiles", "matrices multiplied block by block", tiles}};
  return suite;
}

}  // namespace hob::replay
