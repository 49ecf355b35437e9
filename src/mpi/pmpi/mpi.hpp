// The MPI library's interface of the ABI family that is being built. The only way to <mpi.h>.
#pragma once

#ifdef HOB_FAMILY_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

#include "mpi/pmpi/weak.hpp"

#define HOB_EXPORT __attribute__((visibility("default")))
#define HOB_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HOB_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
