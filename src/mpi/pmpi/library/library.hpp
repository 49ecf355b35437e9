// The table of the family that is being built, and what one version of it does unlike another.
#pragma once

#include <string_view>

#include "mpi/pmpi/mpi.hpp"

#if defined(OPEN_MPI) && !defined(HOB_FAMILY_ABI)
#include "mpi/pmpi/library/openmpi.hpp"
#else
#include "mpi/pmpi/library/mpich.hpp"
#endif

namespace hob::mpi::library {

/// The major version of MPICH itself; 0: it is none, or a relative's.
int mpich_version(std::string_view version);

/// A blocking receive with nothing else posted waits sooner within the library than in Hob's loop
/// of probes. `version` is what MPI_Get_library_version says: versions of MPICH cannot be
/// distinguished otherwise, since Intel MPI has the same functions.
bool waits_sooner(std::string_view version);

/// One-sided operations that are complete when their call returns have one request for all, which
/// no receive and no collective operation of several processes is given.
bool has_prebuilt_requests(std::string_view version);

/// Programs behave with MPI_THREAD_SERIALIZED as with less. In Open MPI 4, MPI_Waitall for a
/// receive that fails never returns then, without Hob either (tests/mpi/p2p_modes.c,
/// truncation_unexpected, with OMPI_MPI_THREAD_LEVEL=2). Before MPI_Init, too.
bool serialized_is_right();

/// Whether a request of the library's is complete, without any other effect. False: it is not, or
/// the library does not say.
bool is_complete(MPI_Request request);

/// MPIX_Async_start(poll, state, stream) of MPICH 4.3 and later, which makes the library's progress
/// engine poll something; null in others.
enum AsyncPoll { kAsyncNoProgress = 0, kAsyncDone = 1 };
using AsyncStart = int (*)(int (*poll)(void* state), void* state, int stream);
AsyncStart async_start();
/// Its last argument: MPIX_STREAM_NULL, a handle.
inline constexpr int kNoStream = 0x3c000000;

}  // namespace hob::mpi::library
