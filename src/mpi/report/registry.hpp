// What the parts of Hob have to say of themselves. Summary, JSON and the variables of MPI_T come
// from here; the report knows none of the parts.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/counters.hpp"
#include "report/saved.hpp"

namespace hob::mpi {

/// A part of Hob. Whatever it does not have may be null or empty.
struct ReportPart {
  /// Its counters, and the function that adds this process's values to `values`, one for each of
  /// them. May be called at any time and from any thread that may call MPI.
  std::span<const report::CounterInfo> counters = {};
  void (*count)(std::span<std::uint64_t> values) = nullptr;

  /// Its member of the rank's JSON object; null (the JSON value) for none. Asked once, at the end;
  /// may add notes.
  const char* name = nullptr;
  nlohmann::ordered_json (*section)() = nullptr;

  /// Sentences for the summary from the sums over all ranks: verdicts and the others.
  std::vector<report::Verdict> (*verdicts)(const report::Counters& sums) = nullptr;
  std::vector<std::string> (*sentences)(const report::Counters& sums) = nullptr;
};

/// Processes whose counters a summary adds up: without MPI_Init each one speaks for itself.
int ranks_summed();

/// Nanoseconds on each rank: less is no gain to speak of in a summary.
inline constexpr double kWorthReporting = 1e6;

/// Counters of what a mechanism saved, in nanoseconds: as far as is known, and the ends of the
/// range.
struct SavedCounters {
  std::string_view usual, least, most;
};

/// What a mechanism saved, as a sentence: how much, and `by` what. None where it is not worth
/// telling.
std::vector<report::Verdict> saved_verdict(const report::Counters& sums,
                                           const SavedCounters& counters, std::string_view by);

/// The verdicts of all parts with the greatest saving first, and then their other sentences.
std::vector<std::string> summary_sentences(const report::Counters& sums);

/// Adds a part, for good. Before MPI and its tool interface start (lifecycle/parts.cpp).
void add_report_part(const ReportPart& part);

/// All parts, in the order in which they were added.
std::span<const ReportPart> report_parts();

/// The counters of all parts. Every process of a job has the same ones in the same order.
std::span<const report::CounterInfo> all_counters();

/// Position of a counter in all_counters(), or -1.
int find_counter(std::string_view name);

/// This process's values of all counters. Thread safe as its parts' functions are.
std::vector<std::uint64_t> counter_values();

}  // namespace hob::mpi
