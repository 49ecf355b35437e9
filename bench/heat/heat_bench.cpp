// hob bench heat: what a match costs after the caches were cleared, with and without the heater,
// over strategies, list sizes and periods; how much the heater disturbs a computing core; and
// whether the automatic choice is right on this machine (paper sections 3.2 and 4.3).

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <random>
#include <thread>

#include "heat/heater.hpp"
#include "heat/probe.hpp"
#include "match/engine.hpp"
#include "result.hpp"
#include "sweep.hpp"

namespace hob::bench {
namespace {

constexpr const char* usage =
    "hob-bench-heat [--quick] [--json FILE] [--sweep MB] [--rounds N]\n"
    "Matching with cleared caches, with and without the heater, and what the heater disturbs.\n";

/// Tells a heater of an engine's memory, as the library does.
class Link final : public match::MemoryObserver {
 public:
  explicit Link(heat::Heater& heater) : heater_(heater) {}
  void added(const void* address, std::size_t bytes) noexcept override {
    heater_.add(address, bytes);
  }
  void removed(void* address, std::size_t, void (*release)(void*)) noexcept override {
    heater_.remove(address, release);
  }

 private:
  heat::Heater& heater_;
};

void pin(int cpu) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(static_cast<unsigned>(cpu), &cpus);
  sched_setaffinity(0, sizeof cpus, &cpus);
}

/// An engine with `depth` unmatched receives, in the memory order of a used pool.
void fill(match::Engine& engine, std::size_t depth) {
  static char anything;
  std::vector<match::Handle> handles;
  for (int round = 0; round < 2; ++round) {
    handles.clear();
    for (std::size_t i = 0; i < depth; ++i) {
      handles.push_back(engine.post({0, 1, static_cast<std::int32_t>(i + 10)}, &anything).handle);
    }
    if (round == 1) break;
    std::shuffle(handles.begin(), handles.end(), std::mt19937(1));
    for (match::Handle handle : handles) engine.cancel(handle);
  }
}

/// ns of one match behind all receives, the clock's own few hundred included.
double match_ns(match::Engine& engine) {
  static char anything;
  double begin = thread_ns();
  engine.post({0, 1, 1}, &anything);
  if (engine.arrive({0, 1, 1}, &anything).request == nullptr) std::abort();
  return thread_ns() - begin;
}

struct Measured {
  double match;
  double sweep;
};

Measured median_of(const std::vector<Measured>& samples) {
  std::vector<double> match, sweep;
  for (const Measured& sample : samples) {
    match.push_back(sample.match);
    sweep.push_back(sample.sweep);
  }
  return {median(match), median(sweep)};
}

Measured once(match::Engine& engine, Sweep& sweep) {
  double begin = thread_ns();
  sweep();
  double swept = thread_ns() - begin;
  return {match_ns(engine), swept};
}

void study(int heater_cpu, Sweep& sweep, unsigned rounds, bool quick, Result& result) {
  std::vector<std::size_t> depths{16, 64, 256, 1024, 4096, 16384};
  std::vector<std::int64_t> periods{10'000, 100'000, 1'000'000, 10'000'000};
  if (quick) {
    depths = {64, 1024};
    periods = {1'000'000};
  }
  for (const char* name : {"list", "lla-8", "flat"}) {
    for (std::size_t depth : depths) {
      for (std::int64_t period : periods) {
        heat::Heater heater({period, heater_cpu, false});
        Link link(heater);
        match::Config config = *match::parse_strategy(name);
        config.observer = &link;
        auto engine = match::make_engine(config);
        fill(*engine, depth);
        heater.pause();
        if (!heater.start()) {
          result.note("no heater: " + heater.error());
          return;
        }
        std::vector<Measured> plain, heated;
        for (unsigned round = 0; round < rounds; ++round) {
          heater.pause();
          plain.push_back(once(*engine, sweep));
          heater.resume();
          heated.push_back(once(*engine, sweep));
        }
        Measured without = median_of(plain);
        Measured with = median_of(heated);
        result.add({{"strategy", std::string(name)},
                    {"depth", static_cast<std::int64_t>(depth)},
                    {"period us", static_cast<double>(period) / 1e3},
                    {"cold ns", without.match},
                    {"heated ns", with.match},
                    {"gain", without.match / with.match},
                    {"computing x", with.sweep / without.sweep}});
        heater.stop();
      }
    }
  }
}

/// Computing and matching in turn, as a bulk-synchronous program: ns a phase.
double phases_ns(match::Engine& engine, Sweep& sweep, heat::Heater* heater) {
  if (heater != nullptr) heater->activity();
  double begin = thread_ns();
  sweep();
  for (int i = 0; i < 10; ++i) match_ns(engine);
  return thread_ns() - begin;
}

/// What the automatic choice does to a program: the verdict's heater, or none, against none.
void automatic(const heat::Verdict& verdict, Sweep& sweep, unsigned rounds, Result& result) {
  double worst = 0;
  for (const char* name : {"list", "lla-8", "flat"}) {
    for (std::size_t depth : {64, 1024, 16384}) {
      heat::Heater heater({1'000'000, verdict.placement.cpu, true});
      Link link(heater);
      match::Config config = *match::parse_strategy(name);
      config.observer = &link;
      auto engine = match::make_engine(config);
      fill(*engine, depth);
      heater.pause();
      if (verdict.on && !heater.start()) continue;
      std::vector<double> ratios, with, without;
      for (unsigned round = 0; round < rounds; ++round) {
        heater.pause();
        without.push_back(phases_ns(*engine, sweep, nullptr));
        if (verdict.on) heater.resume();
        with.push_back(phases_ns(*engine, sweep, &heater));
        ratios.push_back(with.back() / without.back());
      }
      double ratio = median(ratios);
      worst = std::max(worst, ratio);
      result.add({{"automatic", std::string(verdict.on ? "on" : "off")},
                  {"strategy", std::string(name)},
                  {"depth", static_cast<std::int64_t>(depth)},
                  {"phase us without", median(without) / 1e3},
                  {"phase us with", median(with) / 1e3},
                  {"ratio", ratio}});
      heater.stop();
    }
  }
  result.limit("automatic choice: phase with / without, worst", worst, 1.03);
}

int run(int argc, char** argv) {
  Options options = read_options(argc, argv, {"sweep", "rounds"}, usage);
  auto rounds = static_cast<unsigned>(options.number("rounds", options.quick ? 3 : 9));
  Sweep sweep(static_cast<std::size_t>(options.number("sweep", 64)));
  Result result("heat");
  pin(sched_getcpu());
  heat::Verdict verdict = heat::probe(heat::place_heater(Machine::here(), sched_getcpu(), {}));
  result.note("start-up probe: " + verdict.reason);
  if (verdict.placement.cpu >= 0) {
    study(verdict.placement.cpu, sweep, rounds, options.quick, result);
  }
  automatic(verdict, sweep, std::max(rounds, 9u), result);
  return finish(result, options);
}

}  // namespace
}  // namespace hob::bench

int main(int argc, char** argv) { return hob::bench::run(argc, argv); }
