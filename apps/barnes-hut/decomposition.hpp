// Which rank owns which cubes, and the top of the tree that all ranks hold. No MPI.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "octree.hpp"

namespace barnes_hut {

// Ownership is decided in cubes of this level: 32768 of them.
constexpr int grain_level = 5;
constexpr std::int32_t grains = 1 << (3 * grain_level);
inline std::int32_t grain_of(Key key) {
  return static_cast<std::int32_t>(key >> (3 * (key_levels - grain_level)));
}

// A cube that one rank owns as a whole, while its parent has several owners.
struct Branch {
  int level = 0;
  std::int32_t first_grain = 0;
  int owner = 0;
};

// A cell above the branches, or a branch itself.
struct TopCell {
  Cell cell;
  std::int32_t branch = -1;  // index of the branch, or -1: children are top cells
};

// Cuts the grains, in the order of their keys, into one run for each rank with about the same
// number of bodies. No leaf is cut, so that the tree does not depend on the number of ranks.
class Decomposition {
 public:
  // `bodies_in_grain` has the number of all ranks' bodies in each of the grains.
  Decomposition(std::span<const std::int32_t> bodies_in_grain, int ranks, int leaf_capacity);

  int owner(Key key) const;
  // All branches with bodies, in the order of their keys (and so of their owners).
  const std::vector<Branch>& branches() const { return branches_; }

  // The top of the tree, root first, from the root cells of all branches in the order of
  // branches().
  std::vector<TopCell> top(std::span<const Cell> branch_cells, double box_width) const;

 private:
  std::int64_t bodies_in(int level, std::int32_t first_grain) const;
  void find_branches(int level, std::int32_t first_grain);
  void build_top(std::size_t at, int level, std::int32_t first_grain,
                 std::span<const Cell> branch_cells, std::size_t& next_branch, double box_width,
                 std::vector<TopCell>& top) const;

  std::vector<std::int64_t> before_;       // bodies in all grains before each grain
  std::vector<std::int32_t> first_grain_;  // of each rank, and one past the last
  std::vector<Branch> branches_;
};

}  // namespace barnes_hut
