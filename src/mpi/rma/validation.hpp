// Windows whose copies outlive collective calls: their members find out, and tell each other, who
// was written to (docs/consistency.md, "What nobody wrote").
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/backend/displacement_units.hpp"
#include "mpi/rma/cache/terms.hpp"
#include "validation/store_watch.hpp"

namespace hob::mpi {

class Window;

/// Of one window. Guarded by the lock of validation.cpp, but for what is atomic.
struct Validation {
  std::uint64_t number = 0;          ///< by which all members know the window
  MPI_Group group = MPI_GROUP_NULL;  ///< its members
  MPI_Comm comm = MPI_COMM_NULL;     ///< that it was made with; null once the program freed it
  bool always = false;               ///< all members want it in every call, whatever it gains
  validation::StoreWatch stores;     ///< of this process's own memory
  bool own_memory = false;           ///< no other process maps it, but through the MPI library
  bool looked_at_memory = false;
  /// Exposure epochs that began or ended so far, and whether one is open: what origins wrote in it
  /// arrives by its end, not by the origins'.
  std::atomic<std::uint64_t> exposures{0};
  std::atomic<bool> exposed{false};
  std::uint64_t told_exposures = 0;
  /// The program may know where other members' memory is, and store there.
  std::atomic<bool> shown_to_neighbours{false};
};

/// What this process spent for all windows so far.
struct ValidationCosts {
  std::atomic<std::uint64_t> told{0};         ///< collective calls in which members told
  std::atomic<std::uint64_t> nanoseconds{0};  ///< for these, beyond barriers that they replaced
};
ValidationCosts& validation_costs();

/// Whether this process would tell, and keep, in a window of this mode. All members have to.
bool may_validate(const Window& window, std::optional<Mode> mode);

/// This process's proposal for the number of the window that is being made. Thread safe.
std::uint64_t next_validation_number();

/// How this process notices stores to its own memory (HOB_CACHE_STORES); none if it cannot.
validation::Tracking stores_tracking();

/// Whether what the program receives into windows would otherwise not be noticed: an adapter may
/// store it behind the processor's page tables.
bool receives_need_watching();

/// Whether this process wants it in every call.
bool validates_always();

/// All members will. After the window is in the table.
void start_validation(Window& window, const WindowAnswers& answers, MPI_Comm comm);

/// The window ends; nobody may be using it.
void end_validation(Window& window);

/// An exposure epoch of this process began (MPI_Win_post) or ended (MPI_Win_wait, MPI_Win_test).
void note_exposure(Window& window, bool open);

/// A process asked where others' memory of the window is.
void show_to_neighbours(MPI_Win win);

/// The program frees a communicator: its handle may come to mean another one.
void forget_communicator(MPI_Comm comm);

}  // namespace hob::mpi
