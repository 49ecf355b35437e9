// Counting the links among the neighbours of one vertex. No MPI.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.hpp"

namespace lcc {

// Counts how many vertices of a list are neighbours of the current vertex.
class NeighbourSet {
 public:
  explicit NeighbourSet(Vertex vertices) : marked_(vertices, 0) {}

  // Makes `sorted` the current vertex's neighbours; it must stay alive until the next call.
  void assign(std::span<const Vertex> sorted) {
    for (Vertex u : current_) marked_[u] = 0;
    current_ = sorted;
    for (Vertex u : current_) marked_[u] = 1;
  }

  // The size of the intersection with another sorted list: by binary search where that list is much
  // the longer one, else by looking every vertex up.
  std::int64_t common(std::span<const Vertex> sorted) const {
    std::int64_t found = 0;
    if (current_.size() * std::bit_width(sorted.size()) < sorted.size()) {
      auto from = sorted.begin();
      for (Vertex u : current_) {
        from = std::lower_bound(from, sorted.end(), u);
        if (from == sorted.end()) break;
        found += *from == u;
      }
    } else {
      for (Vertex u : sorted) found += marked_[u];
    }
    return found;
  }

 private:
  std::vector<std::uint8_t> marked_;
  std::span<const Vertex> current_;
};

}  // namespace lcc
