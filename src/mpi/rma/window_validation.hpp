// What the members of a window report to each other of it in collective calls (validation.hpp).
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi/pmpi/mpi.hpp"
#include "mpi/rma/own_stores.hpp"

namespace hob::mpi {

/// Of one window. Guarded by the lock of validation.cpp, but for what is atomic.
struct Validation {
  std::uint64_t number = 0;             ///< by which all members know the window
  MPI_Group group = MPI_GROUP_NULL;     ///< its members
  MPI_Comm comm = MPI_COMM_NULL;        ///< that it was made with; null once the program freed it
  bool always = false;                  ///< all members want it in every call, whatever it gains
  bool threads = false;                 ///< some member has several threads that call MPI
  OwnStores stores;                     ///< to this process's own memory
  const char* logged_reason = nullptr;  ///< why others kept nothing of it last
  bool readable = false;                ///< all of it may be read unasked (exposed_sizes.hpp)
  std::uint64_t looks_at_readable = 0;  ///< calls since the window began
  /// Exposure epochs that began or ended so far, and whether one is open: what origins wrote in it
  /// arrives by its end, not by the origins'.
  std::atomic<std::uint64_t> exposures{0};
  std::atomic<bool> exposed{false};
  std::uint64_t reported_exposures = 0;
  /// The program may know where other members' memory is, and store there.
  std::atomic<bool> shown_to_neighbours{false};
};

}  // namespace hob::mpi
