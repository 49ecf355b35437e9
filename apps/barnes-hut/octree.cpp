#include "octree.hpp"

#include <algorithm>
#include <numbers>

namespace barnes_hut {
namespace {

// Spreads the low 21 bits of `v` so that two zero bits follow each.
Key spread(Key v) {
  v &= 0x1fffff;
  v = (v | v << 32) & 0x1f00000000ffff;
  v = (v | v << 16) & 0x1f0000ff0000ff;
  v = (v | v << 8) & 0x100f00f00f00f00f;
  v = (v | v << 4) & 0x10c30c30c30c30c3;
  v = (v | v << 2) & 0x1249249249249249;
  return v;
}

Key grid(double value, double low, double width) {
  const double cells = std::ldexp(1.0, key_levels);
  const double at = std::floor((value - low) / width * cells);
  return static_cast<Key>(std::clamp(at, 0.0, cells - 1));
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  // Uniform in (0, 1).
  double unit() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (static_cast<double>((z ^ (z >> 31)) >> 12) + 0.5) * 0x1p-52;
  }
  Vector on_sphere(double radius) {
    const double z = 2 * unit() - 1;
    const double angle = 2 * std::numbers::pi * unit();
    const double flat = std::sqrt(1 - z * z);
    return {radius * flat * std::cos(angle), radius * flat * std::sin(angle), radius * z};
  }

 private:
  std::uint64_t state_;
};

int digit(Key key, int level) {
  return static_cast<int>(key >> (3 * (key_levels - 1 - level)) & 7);
}

// Fills cells[at], whose place is already taken, and appends everything below it.
void build_at(std::size_t at, std::span<const Body> bodies, std::int32_t first_body, int level,
              double width, int leaf_capacity, std::vector<Cell>& cells) {
  Cell cell;
  cell.width = width;
  cell.bodies = static_cast<std::int32_t>(bodies.size());
  if (cell.bodies <= leaf_capacity || level == key_levels) {
    cell.leaf = 1;
    cell.first = first_body;
    cell.count = cell.bodies;
    Vector weighted;
    for (const Body& body : bodies) {
      weighted += body.mass * body.position;
      cell.mass += body.mass;
    }
    cell.centre = (1 / cell.mass) * weighted;
    cells[at] = cell;
    return;
  }

  std::array<std::size_t, 9> bounds{};
  for (int child = 1; child <= 8; ++child)
    bounds[child] =
        std::partition_point(bodies.begin() + bounds[child - 1], bodies.end(),
                             [&](const Body& b) { return digit(b.key, level) < child; }) -
        bodies.begin();
  cell.first = static_cast<std::int32_t>(cells.size());
  for (int child = 0; child < 8; ++child) cell.count += bounds[child] < bounds[child + 1];
  cells.resize(cells.size() + cell.count);
  std::int32_t next = cell.first;
  for (int child = 0; child < 8; ++child) {
    const std::size_t n = bounds[child + 1] - bounds[child];
    if (n == 0) continue;
    build_at(next++, bodies.subspan(bounds[child], n),
             first_body + static_cast<std::int32_t>(bounds[child]), level + 1, width / 2,
             leaf_capacity, cells);
  }
  sum_moments(cell, {&cells[cell.first], static_cast<std::size_t>(cell.count)});
  cells[at] = cell;
}

}  // namespace

Key key_of(const Vector& p, const Box& box) {
  return spread(grid(p.x, box.low.x, box.width)) << 2 |
         spread(grid(p.y, box.low.y, box.width)) << 1 | spread(grid(p.z, box.low.z, box.width));
}

std::vector<Body> plummer_sphere(std::int64_t bodies, std::uint64_t seed) {
  constexpr double scale = 3 * std::numbers::pi / 16;
  Random random(seed);
  std::vector<Body> sphere(bodies);
  for (std::int64_t i = 0; i < bodies; ++i) {
    double radius;
    do {
      radius = 1 / std::sqrt(std::pow(random.unit(), -2.0 / 3) - 1);
    } while (radius > 10);
    double q, g;
    do {
      q = random.unit();
      g = 0.1 * random.unit();
    } while (g > q * q * std::pow(1 - q * q, 3.5));
    const double speed = q * std::sqrt(2.0) / std::pow(1 + radius * radius, 0.25);
    Body& body = sphere[i];
    body.position = random.on_sphere(radius * scale);
    body.velocity = random.on_sphere(speed / std::sqrt(scale));
    body.mass = 1.0 / static_cast<double>(bodies);
    body.id = i;
  }
  return sphere;
}

void build_cells(std::span<const Body> bodies, std::int32_t first_body, int level, double box_width,
                 int leaf_capacity, std::vector<Cell>& cells) {
  cells.emplace_back();
  build_at(cells.size() - 1, bodies, first_body, level, std::ldexp(box_width, -level),
           leaf_capacity, cells);
}

void sum_moments(Cell& cell, std::span<const Cell> children) {
  Vector weighted;
  cell.mass = 0;
  for (const Cell& child : children) {
    weighted += child.mass * child.centre;
    cell.mass += child.mass;
  }
  cell.centre = (1 / cell.mass) * weighted;
}

}  // namespace barnes_hut
