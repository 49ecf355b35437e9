#include "decomposition.hpp"

#include <algorithm>
#include <numeric>

namespace barnes_hut {
namespace {

std::int32_t grains_in(int level) { return grains >> (3 * level); }

}  // namespace

Decomposition::Decomposition(std::span<const std::int32_t> bodies_in_grain, int ranks,
                             int leaf_capacity)
    : before_(grains + 1, 0), first_grain_(ranks + 1, grains) {
  std::inclusive_scan(bodies_in_grain.begin(), bodies_in_grain.end(), before_.begin() + 1,
                      std::plus<>(), std::int64_t{0});
  const std::int64_t bodies = before_.back();
  first_grain_[0] = 0;
  for (int rank = 1; rank < ranks; ++rank) {
    const auto share = std::lower_bound(before_.begin(), before_.end(), bodies * rank / ranks);
    auto cut = static_cast<std::int32_t>(share - before_.begin());
    for (int level = 0; level < grain_level; ++level) {
      const std::int32_t start = cut / grains_in(level) * grains_in(level);
      if (cut < grains && bodies_in(level, start) <= leaf_capacity) {
        cut = start;
        break;
      }
    }
    first_grain_[rank] = std::max(cut, first_grain_[rank - 1]);
  }
  find_branches(0, 0);
}

std::int64_t Decomposition::bodies_in(int level, std::int32_t first_grain) const {
  return before_[first_grain + grains_in(level)] - before_[first_grain];
}

int Decomposition::owner(Key key) const {
  const auto after = std::upper_bound(first_grain_.begin(), first_grain_.end(), grain_of(key));
  return static_cast<int>(after - first_grain_.begin()) - 1;
}

void Decomposition::find_branches(int level, std::int32_t first_grain) {
  if (bodies_in(level, first_grain) == 0) return;
  const auto after = std::upper_bound(first_grain_.begin(), first_grain_.end(), first_grain);
  const std::int32_t size = grains_in(level);
  if (level == grain_level || *after >= first_grain + size) {
    branches_.push_back({level, first_grain, static_cast<int>(after - first_grain_.begin()) - 1});
    return;
  }
  for (int child = 0; child < 8; ++child)
    find_branches(level + 1, first_grain + child * (size / 8));
}

std::vector<TopCell> Decomposition::top(std::span<const Cell> branch_cells,
                                        double box_width) const {
  std::vector<TopCell> top(1);
  std::size_t next_branch = 0;
  build_top(0, 0, 0, branch_cells, next_branch, box_width, top);
  return top;
}

void Decomposition::build_top(std::size_t at, int level, std::int32_t first_grain,
                              std::span<const Cell> branch_cells, std::size_t& next_branch,
                              double box_width, std::vector<TopCell>& top) const {
  const Branch& branch = branches_[next_branch];
  if (branch.level == level && branch.first_grain == first_grain) {
    top[at] = {branch_cells[next_branch], static_cast<std::int32_t>(next_branch)};
    ++next_branch;
    return;
  }
  TopCell node;
  node.cell.width = std::ldexp(box_width, -level);
  node.cell.bodies = static_cast<std::int32_t>(bodies_in(level, first_grain));
  node.cell.first = static_cast<std::int32_t>(top.size());
  const std::int32_t size = grains_in(level + 1);
  for (int child = 0; child < 8; ++child)
    node.cell.count += bodies_in(level + 1, first_grain + child * size) > 0;
  top.resize(top.size() + node.cell.count);
  std::vector<Cell> children;
  std::int32_t next = node.cell.first;
  for (int child = 0; child < 8; ++child) {
    const std::int32_t grain = first_grain + child * size;
    if (bodies_in(level + 1, grain) == 0) continue;
    build_top(next, level + 1, grain, branch_cells, next_branch, box_width, top);
    children.push_back(top[next++].cell);
  }
  sum_moments(node.cell, children);
  top[at] = node;
}

}  // namespace barnes_hut
