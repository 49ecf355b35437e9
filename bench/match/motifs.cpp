#include "motifs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace hob::bench {

namespace {

/// Sides of a grid of `dimensions` with this many cells, a power of two, as equal as can be.
std::vector<int> grid(std::size_t cells, std::size_t dimensions) {
  std::vector<int> sides(dimensions, 1);
  for (std::size_t d = 0; cells > 1; d = (d + 1) % dimensions, cells /= 2) sides[d] *= 2;
  return sides;
}

double delay(const Network& network, std::mt19937_64& random) {
  return network.latency + std::exponential_distribution<>(1 / network.spread)(random);
}

/// Computing that takes `mean`, more or less.
double compute(double mean, const Network& network, std::mt19937_64& random) {
  double time = mean * std::max(0.2, std::normal_distribution<>(1, network.imbalance)(random));
  bool interrupted = std::uniform_real_distribution<>(0, 1)(random) < network.noise;
  return interrupted ? time + network.interruption : time;
}

}  // namespace

void QueueStudy::count(std::vector<std::uint64_t>& lengths, std::uint64_t length) {
  if (length >= lengths.size()) lengths.resize(length + 1, 0);
  ++lengths[length];
}

void QueueStudy::phase(const std::vector<Transfer>& transfers) {
  events_.clear();
  for (std::uint32_t i = 0; i < transfers.size(); ++i) {
    events_.push_back({transfers[i].posted, i, false});
    events_.push_back({transfers[i].arrives, i, true});
  }
  std::sort(events_.begin(), events_.end(),
            [](const Event& a, const Event& b) { return a.time < b.time; });
  tickets_.assign(transfers.size(), 0);
  here_.assign(transfers.size(), 0);
  std::uint64_t unexpected = 0;
  for (const Event& event : events_) {
    char& other_is_here = here_[event.transfer];
    if (event.arrival && other_is_here) {
      depth_sum_ += meter_.match(tickets_[event.transfer]);
      ++matches_;
      count(posted_, meter_.length());
    } else if (event.arrival) {
      other_is_here = 1;
      count(unexpected_, ++unexpected);
    } else if (other_is_here) {
      count(unexpected_, --unexpected);
    } else {
      other_is_here = 1;
      tickets_[event.transfer] = meter_.append();
      count(posted_, meter_.length());
    }
  }
}

void halo3d(std::size_t processes, int steps, const Network& network, std::mt19937_64& random,
            QueueStudy& study) {
  std::vector<int> sides = grid(processes, 3);
  std::vector<double> enters(processes, 0);  // when a process begins to communicate
  std::vector<double> leaves(processes, 0);
  std::vector<QueueStudy::Transfer> transfers;
  for (int step = 0; step < steps; ++step) {
    for (std::size_t p = 0; p < processes; ++p)
      enters[p] = leaves[p] + compute(1000, network, random);
    for (std::size_t p = 0; p < processes; ++p) {
      transfers.clear();
      double done = 0;
      std::size_t stride = 1;
      for (std::size_t d = 0; d < 3; ++d) {
        auto side = static_cast<std::size_t>(sides[d]);
        std::size_t at = p / stride % side;
        for (std::size_t direction = 0; direction < 2; ++direction) {
          std::size_t to = direction == 0 ? (at + side - 1) % side : (at + 1) % side;
          std::size_t from = p + (to - at) * stride;
          double sent =
              enters[from] + network.overhead * static_cast<double>(6 + 2 * d + direction);
          transfers.push_back({enters[p] + network.overhead * static_cast<double>(transfers.size()),
                               sent + delay(network, random)});
          done = std::max({done, transfers.back().posted, transfers.back().arrives});
        }
        stride *= side;
      }
      leaves[p] = std::max(done, enters[p] + 12 * network.overhead);
      study.phase(transfers);
    }
  }
}

void sweep3d(std::size_t processes, int blocks, const Network& network, std::mt19937_64& random,
             QueueStudy& study) {
  std::vector<int> sides = grid(processes, 2);
  int width = sides[0];
  int height = sides[1];
  auto count = static_cast<std::size_t>(blocks);
  constexpr double block_time = 20;
  std::vector<double> ready(processes, 0);
  std::vector<QueueStudy::Transfer> transfers;
  // All eight octants, two from each corner. A message is sent as soon as its block is computed,
  // whether it is wanted yet or not: whoever falls behind finds a queue.
  for (int octant = 0; octant < 8; ++octant) {
    bool right = (octant / 2) % 2 == 0;
    bool down = octant / 4 == 0;
    std::vector<std::vector<double>> from_above(static_cast<std::size_t>(width));
    for (int row = 0; row < height; ++row) {
      std::vector<double> from_side;
      for (int column = 0; column < width; ++column) {
        int x = right ? column : width - 1 - column;
        int y = down ? row : height - 1 - row;
        auto p = static_cast<std::size_t>(y * width + x);
        // Some processes have more to do in an octant than others.
        double work = compute(block_time, network, random);
        transfers.clear();
        std::vector<double>& above = from_above[static_cast<std::size_t>(x)];
        std::vector<double> sends(count);
        double now = ready[p];
        for (std::size_t block = 0; block < count; ++block) {
          for (const std::vector<double>* from : {&from_side, &above}) {
            if (from->empty()) continue;
            now += network.overhead;
            transfers.push_back({now, (*from)[block]});
            now = std::max(now, (*from)[block]);
          }
          now += compute(work, network, random);
          sends[block] = now + network.overhead;
          now += 2 * network.overhead;
        }
        ready[p] = now;
        study.phase(transfers);
        from_side.resize(count);
        above.resize(count);
        for (std::size_t block = 0; block < count; ++block) {
          // Messages of one sender stay in order.
          double before = block == 0 ? 0 : from_side[block - 1];
          from_side[block] = std::max(before, sends[block] + delay(network, random));
          before = block == 0 ? 0 : above[block - 1];
          above[block] = std::max(before, sends[block] + network.overhead + delay(network, random));
        }
      }
    }
  }
}

namespace {

/// An octree two levels deep over a grid of roots, its leaves numbered along a Morton curve.
class Mesh {
 public:
  Mesh(int side_bits, double radius, double thickness) : bits_(side_bits), side_(1 << side_bits) {
    std::size_t roots = std::size_t{1} << 3 * bits_;
    level_.resize(roots);
    first_leaf_.resize(roots + 1);
    for (std::size_t root = 0; root < roots; ++root) {
      std::array<int, 3> at = position(root);
      double square = 0;
      for (int c : at) square += (c + 0.5 - side_ / 2.0) * (c + 0.5 - side_ / 2.0);
      double distance = std::abs(std::sqrt(square) - radius);
      // Two roots between the second level and none: neighbours differ by one level at most.
      level_[root] = distance < thickness ? 2 : distance < thickness + 2 ? 1 : 0;
      first_leaf_[root + 1] = first_leaf_[root] + (std::size_t{1} << 3 * level_[root]);
    }
  }

  std::size_t leaves() const { return first_leaf_.back(); }

  /// Calls use(leaf, neighbour) for every leaf and each leaf that shares a face with it.
  template <class Use>
  void each_face(Use&& use) const {
    for (std::size_t root = 0; root < level_.size(); ++root) {
      int level = level_[root];
      std::array<int, 3> origin = position(root);
      for (std::size_t i = 0; i < std::size_t{1} << 3 * level; ++i) {
        std::array<int, 3> inside = unweave(i);
        for (std::size_t d = 0; d < 3; ++d) {
          for (int direction : {-1, 1}) {
            std::array<int, 3> cell;  // in cells of this level
            for (std::size_t k = 0; k < 3; ++k) cell[k] = (origin[k] << level) + inside[k];
            cell[d] += direction;
            if (cell[d] < 0 || cell[d] >= side_ << level) continue;
            neighbours(first_leaf_[root] + i, cell, level, d, direction, use);
          }
        }
      }
    }
  }

 private:
  static std::array<int, 3> unweave(std::size_t code) {
    std::array<int, 3> result{0, 0, 0};
    for (int bit = 0; code >> 3 * bit != 0; ++bit) {
      for (std::size_t k = 0; k < 3; ++k) {
        result[k] |= static_cast<int>(code >> (3 * static_cast<std::size_t>(bit) + k) & 1) << bit;
      }
    }
    return result;
  }

  static std::size_t weave(const std::array<int, 3>& at) {
    std::size_t code = 0;
    for (std::size_t bit = 0; bit < 16; ++bit) {
      for (std::size_t k = 0; k < 3; ++k) {
        code |= (static_cast<std::size_t>(at[k]) >> bit & 1) << (3 * bit + k);
      }
    }
    return code;
  }

  std::array<int, 3> position(std::size_t root) const { return unweave(root); }

  std::size_t leaf_at(const std::array<int, 3>& cell, int level) const {
    std::array<int, 3> root, inside;
    for (std::size_t k = 0; k < 3; ++k) {
      root[k] = cell[k] >> level;
      inside[k] = cell[k] & ((1 << level) - 1);
    }
    return first_leaf_[weave(root)] + weave(inside);
  }

  template <class Use>
  void neighbours(std::size_t leaf, const std::array<int, 3>& cell, int level, std::size_t d,
                  int direction, Use&& use) const {
    std::array<int, 3> root;
    for (std::size_t k = 0; k < 3; ++k) root[k] = cell[k] >> level;
    int theirs = level_[weave(root)];
    std::array<int, 3> other = cell;
    if (theirs <= level) {
      for (int& c : other) c >>= level - theirs;
      use(leaf, leaf_at(other, theirs));
      return;
    }
    // Four smaller ones touch this face.
    for (int& c : other) c <<= 1;
    if (direction < 0) other[d] += 1;
    std::size_t u = (d + 1) % 3;
    std::size_t v = (d + 2) % 3;
    for (int i = 0; i < 4; ++i) {
      std::array<int, 3> small = other;
      small[u] += i & 1;
      small[v] += i >> 1;
      use(leaf, leaf_at(small, theirs));
    }
  }

  int bits_;
  int side_;
  std::vector<int> level_;
  std::vector<std::size_t> first_leaf_;
};

}  // namespace

void amr(std::size_t processes, int steps, const Network& network, std::mt19937_64& random,
         QueueStudy& study) {
  int side_bits = 0;
  while ((std::size_t{1} << 3 * (side_bits + 1)) <= 32 * processes) ++side_bits;
  double side = 1 << side_bits;
  std::vector<double> leaves(processes, 0);
  for (int step = 0; step < steps; ++step) {
    Mesh mesh(side_bits, side * (0.25 + 0.2 * step / std::max(1, steps)), 1.2);
    auto owner = [&](std::size_t leaf) { return leaf * processes / mesh.leaves(); };
    // Who sends to whom, in the order of the senders' and the receivers' blocks alike.
    std::vector<std::vector<std::uint32_t>> senders(processes);
    mesh.each_face([&](std::size_t leaf, std::size_t neighbour) {
      std::size_t mine = owner(leaf);
      std::size_t theirs = owner(neighbour);
      if (mine != theirs) senders[mine].push_back(static_cast<std::uint32_t>(theirs));
    });
    std::vector<double> enters(processes);
    for (std::size_t p = 0; p < processes; ++p)
      enters[p] = leaves[p] + compute(2000, network, random);
    std::vector<std::uint32_t> sent(processes, 0);
    std::vector<QueueStudy::Transfer> transfers;
    for (std::size_t p = 0; p < processes; ++p) {
      transfers.clear();
      double done = enters[p];
      for (std::uint32_t from : senders[p]) {
        // As many receives as sends, posted before them.
        double posts = network.overhead * static_cast<double>(senders[from].size());
        double leaves_sender = enters[from] + posts + network.overhead * sent[from]++;
        transfers.push_back({enters[p] + network.overhead * static_cast<double>(transfers.size()),
                             leaves_sender + delay(network, random)});
        done = std::max({done, transfers.back().posted, transfers.back().arrives});
      }
      leaves[p] = done;
      study.phase(transfers);
    }
  }
}

}  // namespace hob::bench
