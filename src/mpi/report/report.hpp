// From the glue's objects to the report's facts.
#pragma once

#include <string>
#include <vector>

#include "report/counters.hpp"
#include "report/report.hpp"

namespace hob::mpi {

/// The process's own counters, summed over all parts of Hob.
report::Counters process_counters();

/// Other parts of Hob add themselves to the report; each is asked once, at the end.
struct ReportPart {
  const char* name = nullptr;                  ///< member of the rank's JSON object, or null
  std::string (*json)() = nullptr;             ///< its JSON text; "" for none
  void (*count)(report::Counters&) = nullptr;  ///< adds to the process's counters; may be null
  /// Adds what is to be told of single windows, in the order of their numbers; may be null.
  void (*windows)(std::vector<report::WindowFacts>&) = nullptr;
};
void add_report_part(const ReportPart& part);

/// At the end, while MPI is there: summary and JSON. Collective over Hob's communicator.
void write_reports();

}  // namespace hob::mpi
