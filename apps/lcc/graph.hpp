// Undirected simple graphs: reading, generating, and one rank's part of one in CSR form. No MPI.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lcc {

using Vertex = std::uint32_t;

// Vertices are 0 .. vertices-1. Edges may repeat, point either way and be loops.
struct EdgeList {
  Vertex vertices = 0;
  std::vector<std::pair<Vertex, Vertex>> edges;
};

// R-MAT (Chakrabarti et al. 2004) with a, b, c, d = 0.57, 0.19, 0.19, 0.05: 2^scale vertices and
// edge_factor * 2^scale edges before duplicates go. Vertex numbers are shuffled, since R-MAT gives
// the low ones most edges. The same arguments give the same graph on every machine.
EdgeList generate_rmat(int scale, int edge_factor, std::uint64_t seed);

// A SNAP edge list: two vertex numbers a line, '#' starts a comment. Numbers may have gaps; they
// are renumbered in increasing order. Throws std::runtime_error with file and line on bad input.
EdgeList read_snap(const std::string& path);

// A Matrix Market coordinate file; values are ignored and the matrix must be square.
// Throws std::runtime_error with file and line on bad input.
EdgeList read_matrix_market(const std::string& path);

// The 1-D partition: rank r of p owns the vertices [first(r), first(r + 1)).
class Partition {
 public:
  Partition(Vertex vertices, int ranks) : vertices_(vertices), ranks_(ranks) {}
  Vertex first(int rank) const {
    return static_cast<Vertex>(static_cast<std::uint64_t>(vertices_) * rank / ranks_);
  }
  Vertex count(int rank) const { return first(rank + 1) - first(rank); }
  int owner(Vertex v) const {
    int rank = static_cast<int>(static_cast<std::uint64_t>(v) * ranks_ / vertices_);
    while (v < first(rank)) --rank;
    while (v >= first(rank + 1)) ++rank;
    return rank;
  }

 private:
  Vertex vertices_;
  int ranks_;
};

// Adjacency lists, sorted and without duplicates and loops, of the vertices [first, first + n).
struct Csr {
  Vertex first = 0;
  std::vector<std::int64_t> offsets;  // n + 1 of them
  std::vector<Vertex> neighbours;
};
Csr build_csr(const EdgeList& graph, Vertex first, Vertex count);

}  // namespace lcc
