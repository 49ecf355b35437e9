#include <array>

#include "generate.hpp"
#include "generators.hpp"

namespace hob::replay {
namespace {

constexpr std::size_t kMost = 100000;  ///< gets of one trace

/// Triangles of a graph grown by preferential attachment, each edge from its later vertex.
Records triangles(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t vertices = 9000;
  constexpr std::uint32_t edges_each = 9;
  std::vector<std::vector<std::uint32_t>> adjacency(vertices);
  std::vector<std::uint32_t> ends;
  for (std::uint32_t v = 0; v < vertices; ++v)
    for (std::uint32_t i = 0; i < edges_each; ++i) {
      const std::uint32_t u =
          ends.empty() || v == 0 ? 0 : ends[static_cast<std::size_t>(below(random, ends.size()))];
      if (u == v) continue;
      adjacency[v].push_back(u);
      adjacency[u].push_back(v);
      ends.push_back(u);
      ends.push_back(v);
      ends.push_back(static_cast<std::uint32_t>(below(random, v + 1)));
    }
  const auto owner = shuffled(random, vertices);
  std::vector<std::uint64_t> sizes(vertices);
  for (std::uint32_t v = 0; v < vertices; ++v) sizes[v] = 8 * adjacency[v].size();
  const auto at = offsets_of(sizes);
  Records records;
  for (std::uint32_t v = 0; v < vertices && records.size() < kMost; ++v) {
    if (owner[v] % 4 != 0) continue;
    for (const std::uint32_t u : adjacency[v])
      if (owner[u] % 4 != 0) get(records, owner[u] % 4, at[u], sizes[u]);
  }
  return records;
}

/// Rows of a sparse matrix read blocks of a vector, several times over (power iteration).
Records gather(std::uint64_t seed) {
  Engine random(seed);
  const Zipf column(30000, 0.75);
  std::vector<std::uint64_t> columns;
  for (int row = 0; row < 1500; ++row) {
    const std::uint64_t near = static_cast<std::uint64_t>(row) * 20;
    const std::uint64_t count = 4 + below(random, 16);
    for (std::uint64_t i = 0; i < count; ++i)
      columns.push_back(i % 2 == 0 ? near + below(random, 60) : column(random) * 7919 % 30000);
  }
  Records records;
  for (int iteration = 0; iteration < 5; ++iteration)
    for (const std::uint64_t c : columns)
      get(records, static_cast<std::uint32_t>(c % 3), c * 64, 8u << (c % 4));
  return records;
}

/// Look-ups in a distributed hash table: a bucket, then values of many sizes; what is popular
/// changes.
Records hash_table(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t keys = 20000;
  std::vector<std::uint64_t> sizes(keys);
  for (std::uint64_t& size : sizes) {
    const double x = unit(random);
    size = x < 0.7 ? 100 + below(random, 200) : (x < 0.95 ? 1000 + below(random, 3000) : 30000);
  }
  const auto at = offsets_of(sizes);
  const Zipf popular(keys, 1.05);
  auto order = shuffled(random, keys);
  Records records;
  while (records.size() < kMost) {
    if (records.size() % 20000 < 2)
      for (std::uint32_t i = 0; i < 400; ++i)
        std::swap(order[i], order[static_cast<std::size_t>(below(random, keys))]);
    const std::uint32_t key = order[popular(random)];
    get(records, key % 8, std::uint64_t{1} << 32 | (key * 2654435761u % 8192) * std::uint64_t{64},
        64);
    get(records, key % 8, at[key], sizes[key]);
  }
  return records;
}

/// Neighbour queries in a k-d tree from a point that wanders: inner nodes, then buckets of points.
Records neighbours(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t depth = 11;
  Records records;
  double x = 0.5;
  while (records.size() < kMost) {
    x += 0.02 * (unit(random) - 0.5);
    if (unit(random) < 0.01) x = unit(random);
    x = std::clamp(x, 0.0, 0.999999);
    for (int query = 0; query < 2; ++query) {
      const double y = std::clamp(x + 0.004 * (query + unit(random)), 0.0, 0.999999);
      std::uint64_t node = 1;
      for (std::uint32_t level = 0; level < depth; ++level) {
        get(records, static_cast<std::uint32_t>(node % 4), node * 48, 48);
        node = node * 2 + (static_cast<std::uint64_t>(y * (1 << (level + 1))) & 1);
      }
      get(records, static_cast<std::uint32_t>(node % 4), (std::uint64_t{1} << 24) + node * 8192,
          1024 + node * 40503 % 7000);
    }
  }
  return records;
}

/// Product of sparse matrices: the rows of B that the entries of A name; rows of very different
/// length.
Records rows(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint32_t count = 6000;
  std::vector<std::uint64_t> sizes(count);
  for (std::uint64_t& size : sizes)
    size = 12 * std::min<std::uint64_t>(
                    4000, static_cast<std::uint64_t>(3 / std::pow(unit(random) + 1e-5, 0.8)));
  const auto at = offsets_of(sizes);
  Records records;
  for (std::uint64_t i = 0; records.size() < kMost; ++i) {
    const std::uint64_t diagonal = i * count / 9000 % count;
    for (int k = 0; k < 6; ++k) {
      const std::uint64_t row = (diagonal + below(random, 40) * below(random, 40)) % count;
      get(records, static_cast<std::uint32_t>(row / 1500), at[row], sizes[row]);
    }
    if (unit(random) < 0.5) {
      const std::uint64_t row = below(random, count);
      get(records, static_cast<std::uint32_t>(row / 1500), at[row], sizes[row]);
    }
  }
  return records;
}

/// Molecular dynamics: every cell reads the particles of the cells around it, step after step.
Records cells(std::uint64_t seed) {
  Engine random(seed);
  constexpr std::uint64_t side = 14;
  std::poisson_distribution<std::uint64_t> particles(12);
  std::vector<std::uint64_t> filled(side * side * side);
  for (std::uint64_t& n : filled) n = 1 + particles(random);
  Records records;
  for (int step = 0; records.size() < kMost; ++step) {
    if (step % 4 == 3)
      for (std::uint64_t& n : filled)
        if (below(random, 8) == 0) n = 1 + particles(random);
    for (std::uint64_t z = 0; z < side; z += 3)
      for (std::uint64_t y = 0; y < side; y += 2)
        for (std::uint64_t x = 0; x < side; ++x)
          for (std::uint64_t k = 0; k < 27; ++k) {
            const std::uint64_t cell =
                ((z + k / 9) % side * side + (y + k / 3 % 3) % side) * side + (x + k % 3) % side;
            get(records, static_cast<std::uint32_t>(cell % 6), cell * 2048, 48 * filled[cell]);
          }
  }
  return records;
}

/// Small popular objects among long ones that are read once.
Records pollution(std::uint64_t seed) {
  Engine random(seed);
  const Zipf popular(4000, 0.8);
  Records records;
  std::uint64_t fresh = 0;
  while (records.size() < kMost) {
    if (unit(random) < 0.15) {
      get(records, 3, (std::uint64_t{1} << 30) + fresh++ * 65536, 4096 + below(random, 28000));
    } else {
      const std::uint64_t key = popular(random) * 2654435761u % 4000;
      get(records, static_cast<std::uint32_t>(key % 3), key * 1024, 32 + key % 900);
    }
  }
  return records;
}

/// Adaptive mesh: patches of many sizes around a front that moves; coarse ones are read by all.
Records patches(std::uint64_t seed) {
  Engine random(seed);
  Records records;
  for (std::uint64_t step = 0; records.size() < kMost; ++step) {
    const double front = static_cast<double>(step % 200) / 200;
    for (std::uint64_t i = 0; i < 150; ++i) {
      const std::uint64_t level = below(random, 6);
      const double where = std::clamp(front + 0.05 * (unit(random) + unit(random) - 1), 0.0, 0.999);
      const auto patch = static_cast<std::uint64_t>(where * static_cast<double>(8u << level));
      const std::uint64_t id = (std::uint64_t{1} << (level + 8)) + patch;
      get(records, static_cast<std::uint32_t>(id % 7), id * 65536, 512u << (id * 40503 % 7));
    }
  }
  return records;
}

/// Everything as likely as everything else, sizes from 8 bytes to 64 KiB: only sizes matter.
Records even(std::uint64_t seed) {
  Engine random(seed);
  std::vector<std::uint64_t> sizes(1500);
  for (std::uint64_t& size : sizes) size = std::uint64_t{8} << below(random, 14);
  const auto at = offsets_of(sizes);
  Records records;
  while (records.size() < kMost) {
    const std::uint64_t i = below(random, sizes.size());
    get(records, 1, at[i], sizes[i]);
  }
  return records;
}

}  // namespace

const std::vector<Family>& judging_suite() {
  static const std::vector<Family> suite = {
      {"triangles", "triangle counting, preferential attachment", triangles},
      {"gather", "sparse matrix times vector, repeated", gather},
      {"hash-table", "distributed hash table, drifting popularity", hash_table},
      {"neighbours", "k-d tree queries from a wandering point", neighbours},
      {"rows", "sparse matrix times sparse matrix", rows},
      {"cells", "molecular dynamics, cell lists", cells},
      {"pollution", "popular objects among long ones read once", pollution},
      {"patches", "adaptive mesh with a moving front", patches},
      {"even", "no skew, sizes from 8 B to 64 KiB", even}};
  return suite;
}

}  // namespace hob::replay
