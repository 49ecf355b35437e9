#include "graph.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace lcc {
namespace {

// SplitMix64: small, fast, and the same everywhere, which <random>'s distributions are not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

std::runtime_error bad_line(const std::string& path, long line, const std::string& what) {
  return std::runtime_error(path + ":" + std::to_string(line) + ": " + what);
}

std::ifstream open(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  return in;
}

// Two whole numbers at the start of a line.
bool parse_pair(const std::string& line, std::uint64_t& a, std::uint64_t& b) {
  const char* text = line.c_str();
  char* end = nullptr;
  a = std::strtoull(text, &end, 10);
  if (end == text) return false;
  text = end;
  b = std::strtoull(text, &end, 10);
  return end != text;
}

}  // namespace

EdgeList generate_rmat(int scale, int edge_factor, std::uint64_t seed) {
  if (scale < 1 || scale > 30 || edge_factor < 1)
    throw std::invalid_argument("R-MAT needs a scale of 1 to 30 and an edge factor of at least 1");
  constexpr double a = 0.57, b = 0.19, c = 0.19;
  EdgeList graph;
  graph.vertices = Vertex{1} << scale;
  Random random(seed);

  std::vector<Vertex> label(graph.vertices);
  std::iota(label.begin(), label.end(), Vertex{0});
  for (Vertex i = graph.vertices - 1; i > 0; --i)
    std::swap(label[i], label[random.bits() % (std::uint64_t{i} + 1)]);

  graph.edges.resize(static_cast<std::size_t>(edge_factor) << scale);
  for (auto& edge : graph.edges) {
    Vertex from = 0, to = 0;
    for (int bit = 0; bit < scale; ++bit) {
      const double r = random.unit();
      from = from << 1 | Vertex{r >= a + b};
      to = to << 1 | Vertex{(r >= a && r < a + b) || r >= a + b + c};
    }
    edge = {label[from], label[to]};
  }
  return graph;
}

EdgeList read_snap(const std::string& path) {
  std::ifstream in = open(path);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
  std::vector<std::uint64_t> names;
  std::string line;
  for (long number = 1; std::getline(in, line); ++number) {
    const std::size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos || line[start] == '#') continue;
    std::uint64_t from, to;
    if (!parse_pair(line, from, to)) throw bad_line(path, number, "expected two vertex numbers");
    pairs.emplace_back(from, to);
    names.push_back(from);
    names.push_back(to);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  if (names.empty()) throw std::runtime_error(path + ": no edges");
  if (names.size() > std::numeric_limits<Vertex>::max())
    throw std::runtime_error(path + ": more than 2^32 vertices");

  EdgeList graph;
  graph.vertices = static_cast<Vertex>(names.size());
  const auto index = [&](std::uint64_t name) {
    return static_cast<Vertex>(std::lower_bound(names.begin(), names.end(), name) - names.begin());
  };
  graph.edges.reserve(pairs.size());
  for (const auto& [from, to] : pairs) graph.edges.emplace_back(index(from), index(to));
  return graph;
}

EdgeList read_matrix_market(const std::string& path) {
  std::ifstream in = open(path);
  std::string line;
  if (!std::getline(in, line) || line.rfind("%%MatrixMarket matrix coordinate", 0) != 0)
    throw bad_line(path, 1, "not a Matrix Market coordinate file");
  long number = 2;
  while (std::getline(in, line) && (line.empty() || line[0] == '%')) ++number;

  std::uint64_t rows = 0, columns = 0, entries = 0;
  std::istringstream sizes(line);
  if (!(sizes >> rows >> columns >> entries) || rows != columns || rows == 0 ||
      rows > std::numeric_limits<Vertex>::max())
    throw bad_line(path, number, "expected the size of a square matrix and its number of entries");

  EdgeList graph;
  graph.vertices = static_cast<Vertex>(rows);
  while (std::getline(in, line)) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::uint64_t row, column;
    if (!parse_pair(line, row, column) || row - 1 >= rows || column - 1 >= rows)
      throw bad_line(path, number, "expected a row and a column of 1 to " + std::to_string(rows));
    graph.edges.emplace_back(static_cast<Vertex>(row - 1), static_cast<Vertex>(column - 1));
  }
  if (graph.edges.size() != entries)
    throw std::runtime_error(path + ": announces " + std::to_string(entries) + " entries, has " +
                             std::to_string(graph.edges.size()));
  return graph;
}

Csr build_csr(const EdgeList& graph, Vertex first, Vertex count) {
  std::vector<std::pair<Vertex, Vertex>> arcs;
  for (const auto& [u, v] : graph.edges) {
    if (u == v) continue;
    if (u - first < count) arcs.emplace_back(u - first, v);
    if (v - first < count) arcs.emplace_back(v - first, u);
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());

  Csr csr;
  csr.first = first;
  csr.offsets.assign(std::size_t{count} + 1, 0);
  csr.neighbours.reserve(arcs.size());
  for (const auto& [from, to] : arcs) {
    ++csr.offsets[from + 1];
    csr.neighbours.push_back(to);
  }
  std::partial_sum(csr.offsets.begin(), csr.offsets.end(), csr.offsets.begin());
  return csr;
}

}  // namespace lcc
