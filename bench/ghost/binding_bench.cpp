// hob-bench-binding: how evenly each binding loads the ghosts of a node, simulated with Hob's own
// policies for 16 nodes of 24 ranks (Figs. 6c and 7 of the ghost paper). The load is the largest
// ghost's over the average: 1 is perfect balance. `--json FILE` as every benchmark of Hob.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "ghost/binding.hpp"

namespace {

using hob::ghost::Binding;

constexpr unsigned nodes = 16;
constexpr unsigned ranks = 24;

// What all origins together ask of one node's ghosts. Every node is loaded alike.
struct Node {
  unsigned ghosts;
  std::vector<std::uint64_t> operations;
  std::vector<std::uint64_t> bytes;
  explicit Node(unsigned count) : ghosts(count), operations(count), bytes(count) {}
  double imbalance(bool by_bytes) const {
    const auto& load = by_bytes ? bytes : operations;
    const double sum =
        static_cast<double>(std::accumulate(load.begin(), load.end(), std::uint64_t{0}));
    return static_cast<double>(*std::max_element(load.begin(), load.end())) * ghosts / sum;
  }
};

struct Pattern {
  const char* name;
  unsigned ghosts;
  unsigned puts, accumulates;  // to the first rank of the node; others get one of each kind, or,
                               // where sizes are uneven and not numbers, as many
  std::uint64_t put_bytes, acc_bytes;  // for the first rank; others 8
  bool by_bytes;                       // what the work is
  bool uneven_windows;                 // first rank exposes 4 KiB, others 16 bytes
};

double run(const Pattern& pattern, Binding binding) {
  const unsigned users = ranks - pattern.ghosts;
  std::vector<std::uint64_t> sizes(users, pattern.uneven_windows ? 16 : 1 << 16);
  if (pattern.uneven_windows) sizes[0] = 4096;
  const hob::ghost::Segments segments(sizes, pattern.ghosts);
  Node node(pattern.ghosts);
  for (unsigned origin = 0; origin < nodes * users; ++origin) {
    hob::ghost::Load load(pattern.ghosts);
    std::vector<unsigned> turn(users, 0);
    const auto issue = [&](unsigned target, bool put, std::uint64_t bytes, unsigned number) {
      const unsigned home = target % pattern.ghosts;
      const auto give = [&](unsigned ghost, std::uint64_t moved) {
        load.add(ghost, moved);
        ++node.operations[ghost];
        node.bytes[ghost] += moved;
      };
      if (binding == Binding::segment) {
        const std::uint64_t at = number * 8 % std::max<std::uint64_t>(sizes[target] - bytes + 8, 8);
        const hob::ghost::Block whole{static_cast<std::int64_t>(at), bytes};
        for (const auto& part : hob::ghost::split(segments.pieces(target), {&whole, 1}, 8))
          give(part.ghost, hob::ghost::total_bytes(part.target));
        return;
      }
      give(put && hob::ghost::is_dynamic(binding) ? hob::ghost::choose(binding, load, turn[target])
                                                  : home,
           bytes);
    };
    // Round by round: an accumulate to every target whose turn it is, then the puts.
    for (unsigned round = 0; round < std::max(pattern.puts, pattern.accumulates); ++round) {
      for (const bool put : {false, true}) {
        for (unsigned target = 0; target < users; ++target) {
          const bool first = target == 0;
          const unsigned wanted = put ? pattern.puts : pattern.accumulates;
          const unsigned own = first || pattern.by_bytes ? wanted : std::min(wanted, 1U);
          if (round < own)
            issue(target, put, first ? (put ? pattern.put_bytes : pattern.acc_bytes) : 8, round);
        }
      }
    }
  }
  return node.imbalance(pattern.by_bytes);
}

}  // namespace

int main(int argc, char** argv) {
  const char* file = nullptr;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
      file = argv[++i];
    } else if (std::strcmp(argv[i], "--quick") != 0) {
      std::fprintf(stderr, "usage: hob-bench-binding [--json FILE] [--quick]\n");
      return 2;
    }
  }
  const std::vector<Pattern> patterns{
      {"uneven windows, accumulates (Fig. 6c)", 8, 0, 512, 8, 8, false, true},
      {"uneven puts (Fig. 7a)", 4, 256, 0, 8, 8, false, false},
      {"uneven puts and accumulates (Fig. 7b)", 4, 256, 64, 8, 8, false, false},
      {"uneven sizes (Fig. 7c)", 4, 32, 32, 8192, 2048, true, false},
  };
  nlohmann::json rows = nlohmann::json::array(), limits = nlohmann::json::array();
  std::map<std::string, std::map<Binding, double>> all;
  std::printf("largest ghost load / average, %u nodes x %u ranks\n%-40s %8s %8s %8s %10s %8s\n",
              nodes, ranks, "pattern", "rank", "segment", "random", "operations", "bytes");
  for (const Pattern& pattern : patterns) {
    nlohmann::json row{{"pattern", pattern.name}, {"ghosts", pattern.ghosts}};
    std::printf("%-40s", pattern.name);
    for (const Binding binding :
         {Binding::rank, Binding::segment, Binding::random, Binding::operations, Binding::bytes}) {
      const double value = all[pattern.name][binding] = run(pattern, binding);
      row[std::string(name_of(binding))] = value;
      std::printf(" %*.3f", binding == Binding::operations ? 10 : 8, value);
    }
    std::printf("\n");
    rows.push_back(row);
  }
  bool good = true;
  const auto at_most = [&](const std::string& name, double value, double limit) {
    const bool ok = value <= limit;
    good = good && ok;
    char text[32];
    std::snprintf(text, sizeof text, "<= %g", limit);
    limits.push_back({{"name", name}, {"value", value}, {"limit", text}, {"ok", ok}});
    std::printf("%s  %s: %.3f (%s)\n", ok ? "ok  " : "MISS", name.c_str(), value, text);
  };
  auto& windows = all[patterns[0].name];
  auto& puts = all[patterns[1].name];
  auto& mixed = all[patterns[2].name];
  auto& sizes = all[patterns[3].name];
  at_most("6c: segment / rank", windows[Binding::segment] / windows[Binding::rank], 0.9);
  at_most("7a: random / rank", puts[Binding::random] / puts[Binding::rank], 0.9);
  at_most("7b: operations / random", mixed[Binding::operations] / mixed[Binding::random], 0.999);
  at_most("7b: random / rank", mixed[Binding::random] / mixed[Binding::rank], 0.999);
  at_most("7c: bytes / operations", sizes[Binding::bytes] / sizes[Binding::operations], 0.999);
  at_most("7c: bytes / random", sizes[Binding::bytes] / sizes[Binding::random], 0.999);
  at_most("byte counting beyond perfect balance", sizes[Binding::bytes], 1.1);
  if (file != nullptr) {
    std::ofstream(file)
        << nlohmann::json{{"bench", "binding"}, {"rows", rows}, {"limits", limits}}.dump(1) << "\n";
  }
  return good ? 0 : 1;
}
