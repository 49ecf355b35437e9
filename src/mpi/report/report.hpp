// From the glue's objects to the report's facts.
#pragma once

#include <string>

#include "report/counters.hpp"

namespace hob::mpi {

class Window;

/// Sums over all windows of this process, live and ended, and the process's own counters.
report::Counters process_counters();

/// Takes down what an ending window has to tell.
void remember_window(Window& window);

/// Other parts of Hob add themselves to the report; each is asked once, at the end.
struct ReportPart {
  const char* name = nullptr;                  ///< member of the rank's JSON object, or null
  std::string (*json)() = nullptr;             ///< its JSON text; "" for none
  void (*count)(report::Counters&) = nullptr;  ///< adds to the process's counters; may be null
};
void add_report_part(const ReportPart& part);

/// At the end, while MPI is there: summary and JSON. Collective over Hob's communicator.
void write_reports();

}  // namespace hob::mpi
