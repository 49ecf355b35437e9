// Open MPI closes its connections by itself.
#include "mpi/workarounds/ucx_closing.hpp"

namespace hob::mpi::ucx {

Finalizing::Finalizing() = default;
Finalizing::~Finalizing() {}  // not defaulted here: elsewhere it does something

}  // namespace hob::mpi::ucx
