// What is said of the MPI library's yields in the report.
#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "mpi/lifecycle/parts.hpp"
#include "mpi/progress/library_yields.hpp"
#include "mpi/report/registry.hpp"
#include "report/report.hpp"

namespace hob::mpi {
namespace {

/// Yields on each rank: fewer take some ten milliseconds at most.
constexpr std::uint64_t kWorthMentioning = 100'000;

constexpr auto kCounters = std::to_array<report::CounterInfo>({
    {"yields_left_out", "times",
     "Yields of the MPI library in its waits that were left out, since no other process took the "
     "core."},
});

void count(std::span<std::uint64_t> values) { values[0] += library_yields::left_out(); }

/// How long a wait would have taken with them is not known: a wait polls more often without.
std::vector<std::string> sentences(const report::Counters& sums) {
  const std::uint64_t times = sums["yields_left_out"];
  if (times < kWorthMentioning * static_cast<std::uint64_t>(ranks_summed())) return {};
  return {fmt::format(
      "The MPI library's waits polled {} times without giving their core away, which no other "
      "process took; how much time that saved is unknown",
      report::count_text(times))};
}

}  // namespace

void register_yields_report() {
  add_report_part({.counters = kCounters, .count = count, .sentences = sentences});
}

}  // namespace hob::mpi
