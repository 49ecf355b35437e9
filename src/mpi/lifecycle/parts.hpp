// The parts of Hob, and what each does at the moments of a run.
#pragma once

#include <span>

#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi {

/// One part. Null: nothing. Where nothing else is said, parts have their turn in the order of the
/// table.
struct Part {
  const char* name;

  /// Before the program starts: adds what the part has to say to the report.
  void (*report)() = nullptr;

  /// MPI has started, and Hob is not switched off. The program has not gone on.
  void (*start)() = nullptr;
  /// From now on, the wrappers come to Hob.
  void (*serve)() = nullptr;

  /// A session came with more threads than the sessions opened before it: from now on, threads of
  /// the program may be inside MPI together. The last part first.
  void (*expect_threads)() = nullptr;

  /// MPI is about to end: what runs by itself stops. Whether Hob is switched off or not, as all
  /// that follows.
  void (*stop)() = nullptr;
  /// Before the report is written.
  void (*finish)() = nullptr;
  /// After it. The last part first.
  void (*end)() = nullptr;

  /// MPI_Comm_free or MPI_Comm_disconnect of this communicator is called; and has succeeded.
  void (*communicator_ends)(MPI_Comm comm) = nullptr;
  void (*communicator_ended)(MPI_Comm comm) = nullptr;
  void (*communicator_stays)(MPI_Comm comm) = nullptr;  ///< the library has not freed it
  /// MPI_Type_free of this datatype has succeeded.
  void (*datatype_ended)(MPI_Datatype datatype) = nullptr;
};

/// All parts.
std::span<const Part> parts();

/// Calls what each part does at a moment.
template <class... Arguments>
void at(void (*Part::*moment)(Arguments...), Arguments... arguments) {
  for (const Part& part : parts())
    if (part.*moment) (part.*moment)(arguments...);
}
/// The same, the last part first.
inline void backwards_at(void (*Part::*moment)()) {
  const std::span<const Part> all = parts();
  for (auto part = all.rbegin(); part != all.rend(); ++part)
    if ((*part).*moment) ((*part).*moment)();
}

/// What the parts say in the report, in the order of the counters and of the sections of the JSON.
/// The first call counts: before the program starts, or earlier, in the MPI_Init of a library whose
/// constructor runs before Hob's.
void register_parts();

/// What overlap and yields say there (overlap_report.cpp, yields_report.cpp).
void register_overlap_report();
void register_yields_report();

}  // namespace hob::mpi
