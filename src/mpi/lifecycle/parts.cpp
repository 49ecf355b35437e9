#include "mpi/lifecycle/parts.hpp"

#include <array>

#include "base/clock.hpp"
#include "mpi/datatype/freeing.hpp"
#include "mpi/ghost/departure.hpp"
#include "mpi/heat/heating.hpp"
#include "mpi/p2p/p2p.hpp"
#include "mpi/pmpi/state.hpp"
#include "mpi/progress/library_yields.hpp"
#include "mpi/progress/overlap.hpp"
#include "mpi/progress/progress.hpp"
#include "mpi/report/interim.hpp"
#include "mpi/requests/postponed_start.hpp"
#include "mpi/requests/request.hpp"
#include "mpi/rma/cache/tracing.hpp"
#include "mpi/rma/ghost/client.hpp"
#include "mpi/rma/ghost/host_image.hpp"
#include "mpi/rma/validation.hpp"
#include "mpi/rma/window_report.hpp"
#include "mpi/workarounds/complete_puts.hpp"

namespace hob::mpi {
namespace {

constexpr auto kParts = std::to_array<Part>({
    // First, since it is notified of the memory in which queues and caches are made.
    {.name = "heater",
     .report = heating::register_report,
     .start = heating::start,
     .end = heating::finish},
    {.name = "windows",
     .report = register_window_report,
     .end = release_validation_handles,
     .communicator_ends = forget_communicator,
     .communicator_ended =
         [](MPI_Comm comm) {
           // A delete callback may have used it once more. With many threads, another one may have
           // made a communicator with this handle meanwhile.
           if (!many_threads) forget_communicator(comm);
         }},
    {.name = "datatypes", .end = forget_types},
    {.name = "point-to-point",
     .report = p2p::register_queues_report,
     .start = p2p::start,
     .expect_threads = p2p::leave_to_library,
     .finish = p2p::finish,
     .end = p2p::forget_communicators,
     .communicator_ends = p2p::about_to_go,
     .communicator_ended = p2p::gone,
     .communicator_stays = p2p::stays},
    {.name = "trace", .serve = start_tracing, .finish = stop_tracing},
    {.name = "ghosts",
     .report = register_ghost_report,
     .expect_threads = ghosts_expect_threads,
     .finish = dismiss_ghosts,
     .end =
         [] {
           release_host_images();
           leave_ghosts();
         }},
    {.name = "progress", .finish = end_callbacks},
    {.name = "short puts", .serve = complete_puts, .finish = note_complete_puts},
    {.name = "requests", .end = requests::release_handles},
    {.name = "postponed starts",
     .end = requests::forget_starts,
     .communicator_ended = requests::forget_starts_on,
     .datatype_ended = requests::forget_starts_of},
    {.name = "overlap",
     .report = register_overlap_report,
     .start =
         [] {
           overlap_thread::start(requests::drive_progress, requests::seen_complete,
                                 requests::make_postponed);
         },
     .expect_threads = overlap_thread::finish,
     .stop = overlap_thread::finish,
     .datatype_ended = overlap_thread::forget_size},
    {.name = "yields",
     .report = register_yields_report,
     .start = library_yields::start,
     .stop = library_yields::stop},
    {.name = "interim reports", .serve = begin_interim_reports, .stop = end_interim_reports},
});

/// Tools ask for the variables of MPI_T before MPI_Init.
[[gnu::constructor]] void before_the_program() {
  begin_clock();
  register_parts();
}

}  // namespace

std::span<const Part> parts() { return kParts; }

void register_parts() {
  static const bool once = (at(&Part::report), true);
  static_cast<void>(once);
}

}  // namespace hob::mpi
