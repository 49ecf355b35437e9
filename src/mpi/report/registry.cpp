#include "mpi/report/registry.hpp"

#include <fmt/core.h>

#include <utility>

#include "base/lasting.hpp"
#include "mpi/core/context.hpp"

namespace hob::mpi {
namespace {

/// Global, since tools ask before MPI starts and after it ended. Never destroyed.
struct ReportRegistry {
  std::vector<ReportPart> parts;
  std::vector<report::CounterInfo> counters;
};

ReportRegistry& report_registry() { return lasting<ReportRegistry>(); }

}  // namespace

int ranks_summed() { return context().world ? context().size : 1; }

std::vector<report::Verdict> saved_verdict(const report::Counters& sums,
                                           const SavedCounters& counters, std::string_view by) {
  const double ranks = ranks_summed();
  const auto each = [&](std::string_view name) { return static_cast<double>(sums[name]) / ranks; };
  if (each(counters.usual) < kWorthReporting) return {};
  const report::Counters::Peak peak = sums.peak(counters.usual);
  return {{fmt::format("{}: {} (an estimate)",
                       report::saved_text({.least = each(counters.least),
                                           .usual = each(counters.usual),
                                           .most = each(counters.most),
                                           .ranks = ranks_summed(),
                                           .rank = peak.rank,
                                           .on_rank = peak.value}),
                       by),
           each(counters.usual)}};
}

std::vector<std::string> summary_sentences(const report::Counters& sums) {
  std::vector<report::Verdict> verdicts;
  for (const ReportPart& part : report_parts())
    if (part.verdicts)
      for (report::Verdict& verdict : part.verdicts(sums)) verdicts.push_back(std::move(verdict));
  std::vector<std::string> all = report::texts_of(std::move(verdicts));
  for (const ReportPart& part : report_parts())
    if (part.sentences)
      for (std::string& sentence : part.sentences(sums)) all.push_back(std::move(sentence));
  return all;
}

void add_report_part(const ReportPart& part) {
  ReportRegistry& all = report_registry();
  all.parts.push_back(part);
  all.counters.insert(all.counters.end(), part.counters.begin(), part.counters.end());
}

std::span<const ReportPart> report_parts() { return report_registry().parts; }
std::span<const report::CounterInfo> all_counters() { return report_registry().counters; }

int find_counter(std::string_view name) {
  const auto counters = all_counters();
  for (std::size_t i = 0; i < counters.size(); ++i)
    if (counters[i].name == name) return static_cast<int>(i);
  return -1;
}

std::vector<std::uint64_t> counter_values() {
  std::vector<std::uint64_t> values(all_counters().size());
  std::size_t start = 0;
  for (const ReportPart& part : report_parts()) {
    if (part.count) part.count(std::span(values).subspan(start, part.counters.size()));
    start += part.counters.size();
  }
  return values;
}

}  // namespace hob::mpi
