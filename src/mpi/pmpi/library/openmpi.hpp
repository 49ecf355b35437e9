// Open MPI.
#pragma once

#include "mpi/pmpi/library/traits.hpp"
#include "mpi/pmpi/mpi.hpp"

namespace hob::mpi::library {

inline constexpr Traits kTraits{.has_progress_callbacks = true,
                                .probe_drives_progress = true,
                                .receives_by_source = true,
                                .leaders_use_program_comm = true,
                                .locks_attributes = true,
                                .may_split_answers = false,
                                .announces_partitioned = true,
                                .spawns_with_variables = true,
                                .may_run_over_libfabric = false,
                                .status_is_a_look = true,
                                .keeps_epochs_locally = false,
                                .passes_error_texts = true,
                                .frees_failed_requests = true,
                                .most_unexpected = UINT64_MAX};

/// Bytes of the message of this status.
inline MPI_Count message_bytes(const MPI_Status& status) {
  return static_cast<MPI_Count>(status._ucount);
}

}  // namespace hob::mpi::library
