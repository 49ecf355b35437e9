// The parts of Hob that have something to say in its report.
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/report.hpp"
#include "mpi/rma/ghost/ghost_report.hpp"
#include "mpi/rma/window_report.hpp"

namespace hob::mpi {
namespace {

/// Before the program starts: tools ask for the variables of MPI_T before MPI_Init. The order is
/// that of the counters and of the sections of the JSON.
[[gnu::constructor]] void register_parts() {
  register_window_report();
  p2p::register_queues_report();
  register_ghost_report();
  heating::register_report();
}

}  // namespace
}  // namespace hob::mpi
