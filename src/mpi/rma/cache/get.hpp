// A get of the program.
#pragma once

#include "mpi/rma/backend/op.hpp"

namespace hob::mpi {

/// An rma::Op that only reads: MPI_Get, or MPI_Get_accumulate with MPI_NO_OP.
using Get = rma::Op;

}  // namespace hob::mpi
