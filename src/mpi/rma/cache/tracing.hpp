// Recording of gets for `hob replay` (setting `trace`).
#pragma once

#include "mpi/rma/cache/state.hpp"
#include "report/trace.hpp"

namespace hob::mpi {

/// Opens <setting trace>/rank-<rank>.trace, making the directory if needed. Without success the
/// program runs on, and the report says why there is no trace.
void start_tracing();

/// Appends one record. Thread safe. Only while tracing.
void trace(const report::TraceRecord& record);

/// Writes what is left. A lost record is reported.
void stop_tracing();

}  // namespace hob::mpi
