// The graph part of apps/lcc: readers, generator, partition, and triangle counts against brute
// force.

#include "lcc/graph.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "lcc/triangles.hpp"

namespace lcc {
namespace {

class File {
 public:
  explicit File(const std::string& content)
      : path_(testing::TempDir() + "hob_graph_" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::ofstream(path_) << content;
  }
  ~File() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

template <typename Read>
std::string message_of(Read read, const std::string& content) {
  const File file(content);
  try {
    read(file.path());
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    return text.substr(text.find(file.path()) + file.path().size());
  }
  return "";
}

TEST(Snap, RenumbersGapsAndSkipsComments) {
  const File file("# a comment\n10 30\n\n  # another\n30\t7 and more\n");
  const EdgeList graph = read_snap(file.path());
  EXPECT_EQ(graph.vertices, 3u);
  EXPECT_EQ(graph.edges, (std::vector<std::pair<Vertex, Vertex>>{{1, 2}, {2, 0}}));
}

TEST(Snap, NamesTheBadLine) {
  EXPECT_EQ(message_of(read_snap, "1 2\n3 x\n"), ":2: expected two vertex numbers");
  EXPECT_EQ(message_of(read_snap, "# nothing\n"), ": no edges");
  EXPECT_THROW(read_snap("/nonexistent/graph"), std::runtime_error);
}

TEST(MatrixMarket, ReadsPatternAndWeightedEntries) {
  const File file(
      "%%MatrixMarket matrix coordinate real symmetric\n% comment\n\n4 4 2\n2 1 3.5\n4 3 -1e3\n");
  const EdgeList graph = read_matrix_market(file.path());
  EXPECT_EQ(graph.vertices, 4u);
  EXPECT_EQ(graph.edges, (std::vector<std::pair<Vertex, Vertex>>{{1, 0}, {3, 2}}));
}

TEST(MatrixMarket, RefusesWhatItCannotUse) {
  const std::string head = "%%MatrixMarket matrix coordinate pattern general\n";
  EXPECT_EQ(message_of(read_matrix_market, "1 2\n"), ":1: not a Matrix Market coordinate file");
  EXPECT_NE(message_of(read_matrix_market, head + "3 4 1\n1 1\n").find(":2: expected the size"),
            std::string::npos);
  EXPECT_EQ(message_of(read_matrix_market, head + "3 3 1\n0 1\n"),
            ":3: expected a row and a column of 1 to 3");
  EXPECT_EQ(message_of(read_matrix_market, head + "3 3 1\n1 4\n"),
            ":3: expected a row and a column of 1 to 3");
  EXPECT_EQ(message_of(read_matrix_market, head + "3 3 2\n1 2\n"), ": announces 2 entries, has 1");
}

TEST(Partition, CoversAllVerticesOnce) {
  for (const Vertex vertices : {1u, 5u, 64u, 1000u, 4294967295u})
    for (const int ranks : {1, 2, 3, 7, 64}) {
      const Partition partition(vertices, ranks);
      std::uint64_t total = 0;
      for (int r = 0; r < ranks; ++r) {
        total += partition.count(r);
        if (partition.count(r) == 0) continue;
        EXPECT_EQ(partition.owner(partition.first(r)), r);
        EXPECT_EQ(partition.owner(partition.first(r + 1) - 1), r);
      }
      EXPECT_EQ(total, vertices);
    }
}

TEST(Rmat, IsReproducibleAndSkewed) {
  const EdgeList graph = generate_rmat(10, 8, 42);
  EXPECT_EQ(graph.vertices, 1024u);
  EXPECT_EQ(graph.edges.size(), 8192u);
  EXPECT_EQ(graph.edges, generate_rmat(10, 8, 42).edges);
  EXPECT_NE(graph.edges, generate_rmat(10, 8, 43).edges);
  const Csr csr = build_csr(graph, 0, graph.vertices);
  std::int64_t largest = 0;
  for (Vertex v = 0; v < graph.vertices; ++v)
    largest = std::max(largest, csr.offsets[v + 1] - csr.offsets[v]);
  const std::int64_t mean = csr.offsets.back() / graph.vertices;
  EXPECT_GT(largest, 10 * mean);  // a uniform graph of this size stays below 3 times the mean
  EXPECT_THROW(generate_rmat(0, 8, 1), std::invalid_argument);
  EXPECT_THROW(generate_rmat(10, 0, 1), std::invalid_argument);
}

TEST(Csr, PartsMakeUpTheWholeWithoutLoopsAndRepeats) {
  const EdgeList graph = generate_rmat(8, 8, 1);
  std::set<std::pair<Vertex, Vertex>> arcs;
  for (const auto& [u, v] : graph.edges)
    if (u != v) arcs.insert({u, v}), arcs.insert({v, u});

  const Partition partition(graph.vertices, 3);
  std::vector<std::pair<Vertex, Vertex>> found;
  for (int r = 0; r < 3; ++r) {
    const Csr csr = build_csr(graph, partition.first(r), partition.count(r));
    ASSERT_EQ(csr.offsets.size(), partition.count(r) + 1u);
    for (Vertex i = 0; i < partition.count(r); ++i)
      for (std::int64_t at = csr.offsets[i]; at < csr.offsets[i + 1]; ++at)
        found.emplace_back(csr.first + i, csr.neighbours[at]);
  }
  EXPECT_TRUE(std::equal(found.begin(), found.end(), arcs.begin(), arcs.end()));
}

TEST(NeighbourSet, CountsTrianglesAsBruteForceDoes) {
  // Enough skew that both ways of intersecting are taken.
  const EdgeList graph = generate_rmat(9, 12, 7);
  const Csr csr = build_csr(graph, 0, graph.vertices);
  const auto list = [&](Vertex v) {
    return std::span<const Vertex>(csr.neighbours.data() + csr.offsets[v],
                                   csr.neighbours.data() + csr.offsets[v + 1]);
  };
  std::vector<std::vector<bool>> joined(graph.vertices, std::vector<bool>(graph.vertices));
  for (Vertex v = 0; v < graph.vertices; ++v)
    for (Vertex u : list(v)) joined[v][u] = true;

  NeighbourSet set(graph.vertices);
  std::int64_t all = 0;
  for (Vertex v = 0; v < graph.vertices; ++v) {
    set.assign(list(v));
    std::int64_t twice = 0, links = 0;
    for (Vertex u : list(v)) {
      twice += set.common(list(u));
      for (Vertex w : list(v)) links += u < w && joined[u][w];
    }
    EXPECT_EQ(twice, 2 * links) << "vertex " << v;
    all += links;
  }
  EXPECT_GT(all, 1000);
}

}  // namespace
}  // namespace lcc
