#include "mpi/report/interim.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "mpi/core/context.hpp"
#include "mpi/pmpi/wrapper.hpp"
#include "mpi/report/registry.hpp"
#include "mpi/report/run_context.hpp"
#include "pay/backoff.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

constexpr double kFirst = 1, kLongest = 1e6;  // s
constexpr double kLeast = 0.01;               // s: writing takes a millisecond

/// Soon at first, since many jobs are short; each time twice as long after, up to what is set.
void set_next() {
  static pay::Backoff<double> wait({.first = kFirst, .longest = kLongest});
  if (context().settings.json_every <= 0) return;
  const double most = std::max(context().settings.json_every, kLeast);
  timed_work().due.store(ticks() + ticks_in(std::min(wait.now(), most) * 1e9),
                         std::memory_order_relaxed);
  wait.lengthen(most);
}

// In the middle of a call, locks of Hob's may be held.
void write_on_exit() {
  if (depth != 0) return;
  const DepthGuard guard;
  write_last_report();
}

}  // namespace

void begin_interim_reports() {
  if (context().rank != 0 || context().settings.json.empty()) return;
  context().interim_writer = ::getpid();
  timed_work().act = write_interim_report;
  std::atexit(write_on_exit);
  set_next();
}

void end_interim_reports() {
  context().interim_writer = 0;
  timed_work().due.store(UINT64_MAX, std::memory_order_relaxed);
}

void write_last_report() {
  if (context().interim_writer == ::getpid()) write_interim_report();
}

void write_interim_report() try {
  static std::mutex writing;
  const std::unique_lock alone(writing, std::try_to_lock);
  if (!alone) return;  // another thread does
  timed_work().due.store(UINT64_MAX, std::memory_order_relaxed);
  correct_clock();
  report::RunContext run = run_context(context().one_node ? 1 : 0);
  run.complete = false;
  // Others may be changing what the parts say beside their counters.
  const report::RankReport own = rank_report(counter_values(), !many_threads);
  save_json(output_path(context().settings.json), report::run_json(run, {report::rank_json(own)}));
  set_next();
} catch (const std::exception& error) {
  std::fprintf(stderr, "hob: no report before the end: %s\n", error.what());
}

}  // namespace hob::mpi
