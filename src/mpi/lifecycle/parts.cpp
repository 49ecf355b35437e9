// The parts of Hob that have something to say in its report.
#include "mpi/heat/heating.hpp"
#include "mpi/lifecycle/lifecycle.hpp"
#include "mpi/lifecycle/overlap_report.hpp"
#include "mpi/p2p/report.hpp"
#include "mpi/rma/ghost/ghost_report.hpp"
#include "mpi/rma/window_report.hpp"

namespace hob::mpi {
namespace {

/// Tools ask for the variables of MPI_T before MPI_Init.
[[gnu::constructor]] void before_the_program() { register_parts(); }

}  // namespace

void register_parts() {
  static const bool once = [] {
    register_window_report();
    p2p::register_queues_report();
    register_ghost_report();
    heating::register_report();
    register_overlap_report();
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace hob::mpi
