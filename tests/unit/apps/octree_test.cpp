// The tree part of apps/barnes-hut: the sphere, the tree, and that owners change nothing.

#include "barnes-hut/octree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "barnes-hut/decomposition.hpp"

namespace barnes_hut {
namespace {

constexpr int leaf_capacity = 4;
constexpr Box box{{-6, -6, -6}, 12};

std::vector<Body> sorted_sphere(std::int64_t n, std::uint64_t seed = 1) {
  std::vector<Body> bodies = plummer_sphere(n, seed);
  for (Body& body : bodies) body.key = key_of(body.position, box);
  std::sort(bodies.begin(), bodies.end(), [](const Body& a, const Body& b) {
    return a.key != b.key ? a.key < b.key : a.id < b.id;
  });
  return bodies;
}

bool same(const Vector& a, const Vector& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Key, FollowsTheMortonCurve) {
  const Box unit{{0, 0, 0}, 1};
  EXPECT_EQ(key_of({0, 0, 0}, unit), 0u);
  EXPECT_EQ(key_of({0, 0, 0.5}, unit) >> 60, 1u);
  EXPECT_EQ(key_of({0, 0.5, 0}, unit) >> 60, 2u);
  EXPECT_EQ(key_of({0.5, 0, 0}, unit) >> 60, 4u);
  EXPECT_EQ(key_of({1, 1, 1}, unit),
            (Key{1} << 63) - 1);  // the far corner belongs to the last cube
}

TEST(Plummer, HasTheMassAndEnergyOfTheModel) {
  const std::vector<Body> bodies = plummer_sphere(2000, 3);
  double mass = 0, kinetic = 0, potential = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    mass += bodies[i].mass;
    kinetic += bodies[i].mass * bodies[i].velocity.squared() / 2;
    for (std::size_t j = 0; j < i; ++j)
      potential -= bodies[i].mass * bodies[j].mass /
                   std::sqrt((bodies[i].position - bodies[j].position).squared());
  }
  EXPECT_NEAR(mass, 1, 1e-12);
  // Virial equilibrium and E = -1/4; the sample's own noise is a few per cent.
  EXPECT_NEAR(kinetic, 0.25, 0.03);
  EXPECT_NEAR(potential, -0.5, 0.05);
}

TEST(Tree, HoldsEveryBodyInOneLeaf) {
  const std::vector<Body> bodies = sorted_sphere(500);
  std::vector<Cell> cells;
  build_cells(bodies, 100, 0, box.width, leaf_capacity, cells);
  std::vector<int> held(bodies.size());
  double mass = 0;
  std::set<std::int32_t> children;
  for (const Cell& cell : cells) {
    if (!cell.leaf) {
      std::int32_t below = 0;
      for (std::int32_t i = 0; i < cell.count; ++i) {
        EXPECT_TRUE(children.insert(cell.first + i).second);
        EXPECT_EQ(cells[cell.first + i].width, cell.width / 2);
        below += cells[cell.first + i].bodies;
      }
      EXPECT_EQ(below, cell.bodies);
      EXPECT_GT(cell.bodies, leaf_capacity);
      continue;
    }
    EXPECT_LE(cell.count, leaf_capacity);
    for (std::int32_t i = 0; i < cell.count; ++i) ++held[cell.first + i - 100];
    mass += cell.mass;
  }
  EXPECT_EQ(std::count(held.begin(), held.end(), 1), 500);
  EXPECT_EQ(children.size(), cells.size() - 1);  // all but the root are somebody's child
  EXPECT_NEAR(mass, 1, 1e-12);
  EXPECT_NEAR(cells[0].mass, 1, 1e-12);
}

TEST(Tree, BodiesAtOnePointShareALeaf) {
  std::vector<Body> bodies(10);
  for (std::int64_t i = 0; i < 10; ++i) bodies[i].id = i, bodies[i].mass = 0.1;
  std::vector<Cell> cells;
  build_cells(bodies, 0, 0, 1, leaf_capacity, cells);
  EXPECT_EQ(cells.size(), key_levels + 1u);
  EXPECT_EQ(cells.back().count, 10);
}

// Builds the distributed tree of `ranks` owners in one process, as main.cpp does over MPI.
struct Forest {
  Forest(const std::vector<Body>& bodies, int ranks) {
    std::vector<std::int32_t> in_grain(grains);
    for (const Body& body : bodies) ++in_grain[grain_of(body.key)];
    const Decomposition decomposition(in_grain, ranks, leaf_capacity);
    owned.resize(ranks);
    cells.resize(ranks);
    for (const Body& body : bodies) owned[decomposition.owner(body.key)].push_back(body);
    std::vector<std::size_t> next(ranks);
    std::vector<Cell> roots;
    for (const Branch& branch : decomposition.branches()) {
      const std::vector<Body>& own = owned[branch.owner];
      const std::size_t first = next[branch.owner];
      std::size_t last = first;
      const std::int32_t end = branch.first_grain + (grains >> (3 * branch.level));
      while (last < own.size() && grain_of(own[last].key) < end) ++last;
      EXPECT_GT(last, first);
      next[branch.owner] = last;
      const std::size_t root = cells[branch.owner].size();
      build_cells(std::span(own).subspan(first, last - first), static_cast<std::int32_t>(first),
                  branch.level, box.width, leaf_capacity, cells[branch.owner]);
      roots.push_back(cells[branch.owner][root]);
      owner.push_back(branch.owner);
    }
    for (int r = 0; r < ranks; ++r) EXPECT_EQ(next[r], owned[r].size());
    top = decomposition.top(roots, box.width);
  }

  Vector force(const Vector& at, double theta, const Cell& cell, int from) const {
    Vector sum;
    if (far_enough(cell, at, theta)) return pull(at, cell.centre, cell.mass, 0.05);
    for (std::int32_t i = 0; i < cell.count; ++i) {
      if (cell.leaf) {
        const Body& body = owned[from][cell.first + i];
        sum += pull(at, body.position, body.mass, 0.05);
      } else if (from < 0) {
        const TopCell& child = top[cell.first + i];
        sum += force(at, theta, child.cell, child.branch < 0 ? -1 : owner[child.branch]);
      } else {
        sum += force(at, theta, cells[from][cell.first + i], from);
      }
    }
    return sum;
  }
  Vector force(const Vector& at, double theta) const {
    return force(at, theta, top[0].cell, top[0].branch < 0 ? -1 : owner[top[0].branch]);
  }

  std::vector<std::vector<Body>> owned;
  std::vector<std::vector<Cell>> cells;
  std::vector<int> owner;
  std::vector<TopCell> top;
};

TEST(Decomposition, GivesTheSameForcesToTheLastBitForAnyNumberOfOwners) {
  const std::vector<Body> bodies = sorted_sphere(700);
  const Forest one(bodies, 1);
  for (const int ranks : {2, 3, 5, 16}) {
    const Forest many(bodies, ranks);
    EXPECT_GT(many.top.size(), 1u);
    for (const Body& body : bodies)
      ASSERT_TRUE(same(one.force(body.position, 0.6), many.force(body.position, 0.6)))
          << ranks << " owners, body " << body.id;
  }
}

TEST(Decomposition, SharesTheBodiesOut) {
  const std::vector<Body> bodies = sorted_sphere(4000);
  const Forest forest(bodies, 4);
  for (const auto& own : forest.owned) {
    EXPECT_GT(own.size(), 500u);
    EXPECT_LT(own.size(), 1500u);
  }
}

TEST(Decomposition, ManyOwnersOfFewBodies) {
  const std::vector<Body> bodies = sorted_sphere(3);
  const Forest forest(bodies, 8);
  std::size_t total = 0;
  for (const auto& own : forest.owned) total += own.size();
  EXPECT_EQ(total, 3u);
}

TEST(Force, OpeningNothingIsTheDirectSumAndOpeningLessStaysClose) {
  const std::vector<Body> bodies = sorted_sphere(600);
  const Forest forest(bodies, 3);
  double worst = 0;
  for (std::size_t i = 0; i < bodies.size(); i += 7) {
    Vector exact;
    for (const Body& other : bodies)
      exact += pull(bodies[i].position, other.position, other.mass, 0.05);
    const Vector all = forest.force(bodies[i].position, 0);
    EXPECT_LT(std::sqrt((all - exact).squared() / exact.squared()), 1e-12);
    const Vector some = forest.force(bodies[i].position, 0.5);
    worst = std::max(worst, std::sqrt((some - exact).squared() / exact.squared()));
  }
  EXPECT_GT(worst, 1e-6);  // cells did stand in for their bodies
  EXPECT_LT(worst, 0.05);
}

}  // namespace
}  // namespace barnes_hut
