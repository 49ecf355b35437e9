// The octree of a Barnes-Hut simulation: keys, cells, building a part of the tree, forces. No MPI.
//
// Every cell of the tree is a cube of the Morton (Z-order) grid, and holds the bodies whose keys
// start with its path. A cell with more bodies than a leaf may have is divided. This fixes the tree
// and, as moments are always summed over children and bodies in order of their keys, every number
// in it, whoever builds which part: results do not depend on the number of ranks.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

namespace barnes_hut {

using Key = std::uint64_t;
constexpr int key_levels = 21;  // three bits of a key each

struct Vector {
  double x = 0, y = 0, z = 0;
  Vector& operator+=(const Vector& o) {
    x += o.x, y += o.y, z += o.z;
    return *this;
  }
  friend Vector operator-(const Vector& a, const Vector& b) {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
  }
  friend Vector operator*(double s, const Vector& v) { return {s * v.x, s * v.y, s * v.z}; }
  double squared() const { return x * x + y * y + z * z; }
};

struct Body {
  Vector position, velocity;
  double mass = 0;
  std::int64_t id = 0;
  Key key = 0;
};

// What other ranks read of a body.
struct Point {
  Vector position;
  double mass = 0;
};

// A cell as it lies in the window of its owner. Its children follow one another in the owner's
// array, unless the cell belongs to the top of the tree; those of a leaf are its bodies.
struct Cell {
  Vector centre;  // of mass
  double mass = 0;
  double width = 0;         // edge of the cube
  std::int32_t first = 0;   // first child, or first body of a leaf
  std::int32_t count = 0;   // number of children or bodies
  std::int32_t leaf = 0;    // 1: a leaf
  std::int32_t bodies = 0;  // in the whole cell
};
static_assert(sizeof(Cell) == 56);

// The cube that holds all bodies.
struct Box {
  Vector low;
  double width = 1;
};

Key key_of(const Vector& position, const Box& box);

// A Plummer sphere (Aarseth, Henon & Wielen 1974) of `bodies` equal masses in virial equilibrium,
// in units with G = M = 1 and total energy -1/4, cut off at 10 scale lengths. The same arguments
// give the same bits on every machine with IEEE arithmetic and the same mathematical library.
std::vector<Body> plummer_sphere(std::int64_t bodies, std::uint64_t seed);

// Builds the tree of the bodies of one cube, whose keys agree in their first 3*level bits. `bodies`
// is sorted by (key, id); body indices in leaves start at `first_body`. The root is appended to
// `cells` first, its descendants behind it.
void build_cells(std::span<const Body> bodies, std::int32_t first_body, int level, double box_width,
                 int leaf_capacity, std::vector<Cell>& cells);

// The moments of a cell from those of its children (zero-mass children excluded by the caller).
void sum_moments(Cell& cell, std::span<const Cell> children);

// The pull of mass at `from` on unit mass at `at`, softened by `softening` (Plummer softening).
inline Vector pull(const Vector& at, const Vector& from, double mass, double softening) {
  const Vector d = from - at;
  const double square = d.squared() + softening * softening;
  if (square == 0) return {};
  return mass / (square * std::sqrt(square)) * d;
}

// The opening rule: a cell acts as one point where its width is below theta times its distance.
inline bool far_enough(const Cell& cell, const Vector& at, double theta) {
  return cell.width * cell.width < theta * theta * (cell.centre - at).squared();
}

}  // namespace barnes_hut
