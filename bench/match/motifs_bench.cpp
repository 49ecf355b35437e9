// hob bench motifs: how long the matching queues of common communication patterns get at scale, as
// in the paper's Fig. 1 (AMR at 64K processes, Sweep3D at 128K, Halo3D at 256K).

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>

#include "motifs.hpp"
#include "result.hpp"

namespace hob::bench {
namespace {

constexpr const char* usage =
    "hob-bench-motifs [--quick] [--json FILE] [--motif amr|sweep3d|halo3d] [--processes N]\n"
    "Queue lengths of AMR, Sweep3D and Halo3D, by default at 64K, 128K and 256K processes.\n";

std::int64_t longest(const std::vector<std::uint64_t>& lengths) {
  return lengths.empty() ? 0 : static_cast<std::int64_t>(lengths.size()) - 1;
}

/// The length that a share of the samples does not exceed.
std::int64_t quantile(const std::vector<std::uint64_t>& lengths, double share) {
  std::uint64_t all = 0;
  for (std::uint64_t count : lengths) all += count;
  std::uint64_t below = 0;
  for (std::size_t length = 0; length < lengths.size(); ++length) {
    below += lengths[length];
    if (static_cast<double>(below) >= share * static_cast<double>(all)) {
      return static_cast<std::int64_t>(length);
    }
  }
  return 0;
}

/// The samples by ranges of length: 0, 1, 2-3, 4-7 and so on.
void add_histogram(Result& result, const std::string& motif, const std::string& queue,
                   const std::vector<std::uint64_t>& lengths) {
  for (std::size_t from = 0; from < lengths.size();) {
    std::size_t to = std::min(from == 0 ? 1 : 2 * from, lengths.size());
    std::int64_t samples = 0;
    for (std::size_t i = from; i < to; ++i) samples += static_cast<std::int64_t>(lengths[i]);
    result.add({{"motif", motif},
                {"queue", queue},
                {"length from", static_cast<std::int64_t>(from)},
                {"to", static_cast<std::int64_t>(to - 1)},
                {"samples", samples}});
    from = to;
  }
}

int run(int argc, char** argv) {
  Options options = read_options(argc, argv, {"motif", "processes"}, usage);
  std::string only = options.text("motif", "");
  std::size_t shrink = options.quick ? 16 : 1;
  Network network;
  Result summary("motifs");
  std::map<std::string, std::int64_t> most;
  std::vector<std::pair<std::string, QueueStudy>> studies;
  struct Motif {
    const char* name;
    std::size_t processes;
    int steps;
    void (*run)(std::size_t, int, const Network&, std::mt19937_64&, QueueStudy&);
  };
  for (const Motif& motif :
       {Motif{"amr", 64 << 10, 3, amr}, Motif{"sweep3d", 128 << 10, 100, sweep3d},
        Motif{"halo3d", 256 << 10, 10, halo3d}}) {
    if (!only.empty() && only != motif.name) continue;
    auto processes = static_cast<std::size_t>(
        options.number("processes", static_cast<double>(motif.processes / shrink)));
    std::mt19937_64 random(1);
    studies.emplace_back(motif.name, QueueStudy());
    QueueStudy& study = studies.back().second;
    double begin = thread_ns();
    motif.run(processes, motif.steps, network, random, study);
    const auto& posted = study.posted_lengths();
    const auto& unexpected = study.unexpected_lengths();
    most[motif.name] = std::max(longest(posted), longest(unexpected));
    summary.add({{"motif", std::string(motif.name)},
                 {"processes", static_cast<std::int64_t>(processes)},
                 {"matches", static_cast<std::int64_t>(study.matches())},
                 {"posted median", quantile(posted, 0.5)},
                 {"99%", quantile(posted, 0.99)},
                 {"longest", longest(posted)},
                 {"unexpected median", quantile(unexpected, 0.5)},
                 {"99% ", quantile(unexpected, 0.99)},
                 {"longest ", longest(unexpected)},
                 {"mean depth", study.matches() == 0 ? 0.0
                                                     : static_cast<double>(study.depth_sum()) /
                                                           static_cast<double>(study.matches())},
                 {"seconds", (thread_ns() - begin) / 1e9}});
  }
  for (const auto& [name, study] : studies) {
    add_histogram(summary, name, "posted", study.posted_lengths());
    add_histogram(summary, name, "unexpected", study.unexpected_lengths());
  }
  if (!options.quick && options.text("processes", "").empty()) {
    // What the paper reads from its Fig. 1: AMR into the mid 400s, Sweep3D into the low hundreds,
    // Halo3D a few.
    struct Range {
      const char* motif;
      double least, most;
    };
    for (const Range& range :
         {Range{"amr", 250, 600}, Range{"sweep3d", 50, 300}, Range{"halo3d", 1, 12}}) {
      if (most.count(range.motif) == 0) continue;
      auto length = static_cast<double>(most[range.motif]);
      std::string name = std::string(range.motif) + ": longest queue, at ";
      summary.limit(name + "least", length, range.least, true);
      summary.limit(name + "most", length, range.most);
    }
  }
  summary.note(
      "The patterns and the network are modelled here, not in SST as for the paper: lengths "
      "compare\n"
      "in magnitude. The paper: AMR zero to mid-hundreds, extremes in the mid 400s; Sweep3D low\n"
      "hundreds; Halo3D few.");
  return finish(summary, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) { return hob::bench::run(argc, argv); }
