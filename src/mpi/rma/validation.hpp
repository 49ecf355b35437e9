// Windows whose copies outlive collective calls: their members find out, and report to each other,
// who was written to (docs/consistency.md, "What no process wrote").
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/exposed_sizes.hpp"
#include "mpi/rma/backend/window_answers.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "mpi/rma/window.hpp"
#include "validation/store_tracker.hpp"

namespace hob::mpi {

/// What this process spent for all windows so far.
struct ValidationCosts {
  std::atomic<std::uint64_t> reported{0};     ///< collective calls in which members reported
  std::atomic<std::uint64_t> nanoseconds{0};  ///< for these, beyond barriers that they replaced
};
ValidationCosts& validation_costs();

/// Whether this process would report, and keep copies, in a window of this mode whose memory model
/// is MPI_WIN_UNIFIED. All members have to.
bool may_validate(WindowKind kind, int members, std::optional<Mode> mode);

/// This process's proposal for the number of the window that is being made. Thread safe.
std::uint64_t next_validation_number();

/// How this process notices stores to its own memory (HOB_CACHE_STORES); none if it cannot.
validation::Tracking stores_tracking();

/// Whether what the program receives into windows would otherwise not be noticed: an adapter may
/// store it behind the processor's page tables.
bool receives_need_watching();

/// Whether this process wants it in every call.
bool validates_always();

/// All members will. After the window is in the table. `exposed`: what its members show.
void start_validation(Window& window, const WindowAnswers& answers, const ExposedSizes& exposed,
                      MPI_Comm comm);

/// The window ends; no thread may be using it.
void end_validation(Window& window);

/// An exposure epoch of this process began (MPI_Win_post) or ended (MPI_Win_wait, MPI_Win_test).
void note_exposure(Window& window, bool open);

/// A process asked where others' memory of the window is.
void show_to_neighbours(MPI_Win win);

/// The program frees a communicator: its handle may come to mean another one.
void forget_communicator(MPI_Comm comm);

/// MPI is about to end: gives back the handles made in the library. They are made again if needed.
void release_validation_handles();

}  // namespace hob::mpi
