// hob bench match: what a match costs, by strategy, depth and pattern, with warm and with cleared
// caches, and in a bulk-synchronous phase. The engine alone, no MPI.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <random>
#include <tuple>

#include "match/engine.hpp"
#include "pace.hpp"
#include "result.hpp"
#include "sweep.hpp"
#include "workload.hpp"

namespace hob::bench {
namespace {

constexpr const char* usage =
    "hob-bench-match [--quick] [--json FILE] [--strategies a,b,...] [--sweep MB]\n"
    "ns per match (search, remove, queue again) of all matching strategies.\n";

struct Plan {
  std::vector<match::Config> strategies;
  std::vector<std::size_t> depths;
  std::size_t samples;
  double sample_ns;  // how long one sample is
  std::size_t cold_samples;
};

std::vector<match::Config> strategies(const std::string& list) {
  std::vector<match::Config> result;
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = std::min(list.find(',', begin), list.size());
    auto config = match::parse_strategy(list.substr(begin, end - begin));
    if (!config) {
      std::fprintf(stderr, "no such strategy: %s\n", list.substr(begin, end - begin).c_str());
      std::exit(2);
    }
    result.push_back(*config);
    begin = end + 1;
  }
  return result;
}

/// ns per match of a workload, each sample long enough for the clock.
class WarmTimer {
 public:
  WarmTimer(const match::Config& config, Queue queue, Pattern pattern, std::size_t depth,
            const Plan& plan)
      : workload_(config, queue, pattern, depth), depth_(depth) {
    // Holes and order settle only after every entry has moved once or twice, and what searches ask
    // for is known only when each has been found some times: 50 ms at most.
    double ns = 0;
    std::size_t done = 0;
    while (done < 16 * depth + 1000 && ns < 5e7) {
      ns += workload_.run(100);
      done += 100;
    }
    double each = workload_.run(100) / 100;
    matches_ = static_cast<std::size_t>(std::max(1.0, plan.sample_ns / each));
  }

  double sample() {
    // The other strategies have used the caches meanwhile. Eight random entries for each queued one
    // leave one in three thousand that was not touched; no longer than a few samples, though.
    workload_.run(std::min(8 * depth_, 8 * matches_) + 1);
    return workload_.run(matches_) / static_cast<double>(matches_);
  }

 private:
  Workload workload_;
  std::size_t depth_;
  std::size_t matches_;
};

using Key = std::tuple<std::string, std::string, std::string, std::size_t>;
using Measured = std::map<Key, double>;  // strategy, queue, pattern, depth -> ns

std::string queue_name(Queue queue) { return queue == Queue::prq ? "posted" : "unexpected"; }

void warm(const Plan& plan, Measured& measured, Result& result) {
  struct Case {
    Queue queue;
    Pattern pattern;
    std::size_t depth;
    std::vector<WarmTimer> timers;  // a strategy each
    std::vector<std::vector<double>> samples;
  };
  std::vector<Case> cases;
  for (Queue queue : {Queue::prq, Queue::umq}) {
    for (Pattern pattern :
         {Pattern::tail, Pattern::tail_wild, Pattern::random, Pattern::random_wild}) {
      for (std::size_t depth : plan.depths) {
        Case& each = cases.emplace_back(Case{queue, pattern, depth, {}, {}});
        for (const match::Config& config : plan.strategies) {
          each.timers.emplace_back(config, queue, pattern, depth, plan);
        }
        each.samples.resize(each.timers.size());
      }
    }
  }
  // One sample of everything after the other: what still changes in the machine's speed meets all
  // medians alike.
  Pace pace;
  for (std::size_t i = 0; i < plan.samples; ++i) {
    for (Case& each : cases) {
      for (std::size_t s = 0; s < each.timers.size(); ++s) {
        each.samples[s].push_back(pace.undisturbed([&] { return each.timers[s].sample(); }));
      }
    }
  }
  for (const Case& each : cases) {
    Row row{{"queue", queue_name(each.queue)},
            {"pattern", pattern_name(each.pattern)},
            {"depth", static_cast<std::int64_t>(each.depth)}};
    for (std::size_t s = 0; s < each.timers.size(); ++s) {
      std::string name = match::strategy_name(plan.strategies[s]);
      double ns = median(each.samples[s]);
      measured[{name, queue_name(each.queue), pattern_name(each.pattern), each.depth}] = ns;
      row.emplace_back(name, ns);
    }
    result.add(std::move(row));
  }
  result.note("warm caches: " + std::to_string(pace.samples()) + " samples, " +
              std::to_string(pace.repeated()) +
              " measurements thrown away because something else slowed the core down, " +
              std::to_string(pace.disturbed()) + " samples kept although it did");
}

void cold(const Plan& plan, Sweep& sweep, Measured& measured, Result& result) {
  double clock_cost = 1e9;
  for (int i = 0; i < 1000; ++i) {
    double begin = wall_ns();
    clock_cost = std::min(clock_cost, wall_ns() - begin);
  }
  for (Queue queue : {Queue::prq, Queue::umq}) {
    for (std::size_t depth : {0, 64, 1024, 16384}) {
      if (std::find(plan.depths.begin(), plan.depths.end(), depth) == plan.depths.end()) continue;
      Row row{{"queue", queue_name(queue)},
              {"caches", "cleared"},
              {"depth", static_cast<std::int64_t>(depth)}};
      std::vector<Workload> workloads;
      for (const match::Config& config : plan.strategies) {
        workloads.emplace_back(config, queue, Pattern::tail, depth);
        workloads.back().refill();
      }
      std::vector<std::vector<double>> samples(workloads.size());
      for (std::size_t i = 0; i < plan.cold_samples; ++i) {
        for (std::size_t s = 0; s < workloads.size(); ++s) {
          sweep();
          double begin = wall_ns();
          workloads[s].search();
          workloads[s].refill();
          samples[s].push_back(std::max(0.0, wall_ns() - begin - clock_cost));
        }
      }
      for (std::size_t s = 0; s < workloads.size(); ++s) {
        std::string name = match::strategy_name(plan.strategies[s]);
        double ns = median(samples[s]);
        measured[{name, queue_name(queue), "cleared", depth}] = ns;
        row.emplace_back(name, ns);
      }
      result.add(std::move(row));
    }
  }
}

/// One phase: `depth` receives posted, 64 MB used, `depth` messages in another order. ns a message,
/// posting and arriving, without the sweep.
double bsp_phase(match::Engine& engine, const std::vector<match::Envelope>& receives,
                 const std::vector<match::Envelope>& messages, Sweep& sweep) {
  static char anything;
  double begin = wall_ns();
  for (const match::Envelope& receive : receives) engine.post(receive, &anything);
  double posted = wall_ns();
  sweep();
  double resumed = wall_ns();
  for (const match::Envelope& message : messages) engine.arrive(message, &anything);
  double end = wall_ns();
  if (engine.posted_length() + engine.unexpected_length() != 0) std::abort();
  return (posted - begin + end - resumed) / static_cast<double>(receives.size());
}

void bsp(const Plan& plan, Sweep& sweep, Measured& measured, Result& result) {
  for (std::size_t depth : plan.depths) {
    if (depth == 0) continue;
    std::vector<match::Envelope> envelopes;
    for (std::size_t i = 0; i < depth; ++i) {
      auto number = static_cast<std::int32_t>(i);
      envelopes.push_back({0, number % 128, number / 128});
    }
    std::vector<match::Envelope> messages = envelopes;
    std::mt19937 random(3);
    Row row{{"phase", "post, sweep, arrive"}, {"depth", static_cast<std::int64_t>(depth)}};
    std::vector<std::unique_ptr<match::Engine>> engines;
    for (const match::Config& config : plan.strategies) {
      engines.push_back(match::make_engine(config));
    }
    std::vector<std::vector<double>> samples(engines.size());
    // A phase of a few messages is a handful of cache misses, of which one more or less shows.
    const std::size_t count = depth < 64 ? 3 * plan.cold_samples : plan.cold_samples;
    for (std::size_t i = 0; i < count; ++i) {
      std::shuffle(envelopes.begin(), envelopes.end(), random);
      std::shuffle(messages.begin(), messages.end(), random);
      for (std::size_t s = 0; s < engines.size(); ++s) {
        samples[s].push_back(bsp_phase(*engines[s], envelopes, messages, sweep));
      }
    }
    for (std::size_t s = 0; s < engines.size(); ++s) {
      std::string name = match::strategy_name(plan.strategies[s]);
      double ns = median(samples[s]);
      measured[{name, "posted", "bsp", depth}] = ns;
      row.emplace_back(name, ns);
    }
    result.add(std::move(row));
  }
}

/// What reading all entries once costs, packed as in the paper: no search by scanning is faster.
void scan_limit(const Plan& plan, Result& result) {
  for (std::size_t depth : plan.depths) {
    if (depth == 0) continue;
    for (auto [name, entry] : {std::pair{"posted", 24}, std::pair{"unexpected", 16}}) {
      std::vector<std::uint64_t> entries(depth * static_cast<std::size_t>(entry) / 8, 1);
      std::size_t rounds = std::max<std::size_t>(1, 4000000 / entries.size());
      std::vector<double> samples;
      for (std::size_t i = 0; i < plan.samples; ++i) {
        double begin = thread_ns();
        for (std::size_t round = 0; round < rounds; ++round) {
          std::uint64_t sum = 0;
          for (std::uint64_t word : entries) sum += word;
          asm volatile("" : : "r"(sum), "r"(entries.data()) : "memory");
        }
        samples.push_back((thread_ns() - begin) / static_cast<double>(rounds));
      }
      double ns = median(samples);
      result.add({{"scan limit", std::string(name)},
                  {"depth", static_cast<std::int64_t>(depth)},
                  {"bytes", static_cast<std::int64_t>(entries.size() * 8)},
                  {"ns", ns},
                  {"GB/s", static_cast<double>(entries.size() * 8) / ns}});
    }
  }
}

void limits(const Plan& plan, const Measured& measured, Result& result) {
  auto at = [&](const std::string& strategy, const std::string& queue, const std::string& pattern,
                std::size_t depth) {
    auto found = measured.find({strategy, queue, pattern, depth});
    return found == measured.end() ? std::nan("") : found->second;
  };
  for (const char* queue : {"posted", "unexpected"}) {
    std::map<std::string, double> worst;
    double worst_short = -1e9;
    for (const auto& [key, ns] : measured) {
      const auto& [strategy, of, pattern, depth] = key;
      if (strategy != "flat" || of != queue || pattern == "cleared" || pattern == "bsp") continue;
      worst[pattern] = std::max(worst[pattern], ns);
      if (depth <= 4) worst_short = std::max(worst_short, ns - at("list", queue, pattern, depth));
    }
    for (const auto& [pattern, ns] : worst) {
      result.limit(std::string(queue) + ", " + pattern + ": default, warm, worst depth, ns", ns,
                   15);
    }
    result.limit(std::string(queue) + ": default minus list at depth 0-4, worst, ns", worst_short,
                 4);
    result.limit(std::string(queue) + ": list / lla-8 at depth 1024, warm",
                 at("list", queue, "tail", 1024) / at("lla-8", queue, "tail", 1024), 2, true);
    result.limit(std::string(queue) + ": default / list at depth 1024, caches cleared",
                 at("flat", queue, "cleared", 1024) / at("list", queue, "cleared", 1024), 0.2);
  }
  double worst = 0;
  for (std::size_t depth : plan.depths) {
    if (depth == 0) continue;
    worst =
        std::max(worst, at("flat", "posted", "bsp", depth) / at("list", "posted", "bsp", depth));
  }
  result.limit("BSP phase: default / list, worst", worst, 1.0);
}

int run(int argc, char** argv) {
  Options options = read_options(argc, argv, {"strategies", "sweep"}, usage);
  Plan plan;
  plan.strategies = strategies(options.text(
      "strategies", "list,lla-2,lla-4,lla-8,lla-16,lla-32,lla-64,source-array,hash-256,flat"));
  plan.depths = {0, 1, 2, 3, 4, 8, 16, 64, 256, 1024, 4096, 16384};
  plan.samples = 11;
  plan.sample_ns = 5e5;
  plan.cold_samples = 7;
  if (options.quick) {
    plan.depths = {0, 4, 64, 1024};
    plan.samples = 3;
    plan.sample_ns = 2e5;
    plan.cold_samples = 3;
  }
  Result result("match");
  Measured measured;
  Sweep sweep(static_cast<std::size_t>(options.number("sweep", 64)));
  warm(plan, measured, result);
  cold(plan, sweep, measured, result);
  bsp(plan, sweep, measured, result);
  scan_limit(plan, result);
  limits(plan, measured, result);
  return finish(result, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) { return hob::bench::run(argc, argv); }
