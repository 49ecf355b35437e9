// MPICH and its relatives (Intel MPI, MVAPICH), and the ABI of MPI 5, which only MPICH has so far.
#pragma once

#include "mpi/pmpi/library/traits.hpp"
#include "mpi/pmpi/mpi.hpp"
#include "mpi/pmpi/real.hpp"

namespace hob::mpi::library {

inline constexpr Traits kTraits{.has_progress_callbacks = false,
                                .probe_drives_progress = false,
                                .receives_by_source = false,
                                .leaders_use_program_comm = false,
                                .locks_attributes = false,
                                .may_split_answers = true,
                                .announces_partitioned = false,
                                .spawns_with_variables = false,
                                .may_run_over_libfabric = true,
                                .status_is_a_look = false,
                                .keeps_epochs_locally = true,
                                .passes_error_texts = false,
                                .frees_failed_requests = false,
                                // MPICH has 262,144 requests in all.
                                .most_unexpected = std::uint64_t{1} << 17};

/// Bytes of the message of this status.
inline MPI_Count message_bytes(const MPI_Status& status) {
#if defined(HOB_FAMILY_ABI)
  int bytes = 0;
  real::Get_count(&status, MPI_BYTE, &bytes);
  return bytes == MPI_UNDEFINED ? 0 : bytes;
#else
  return static_cast<MPI_Count>(static_cast<std::uint32_t>(status.count_lo)) |
         static_cast<MPI_Count>(static_cast<std::uint32_t>(status.count_hi_and_cancelled) >> 1)
             << 32;
#endif
}

}  // namespace hob::mpi::library
