// Open MPI has callbacks of its own and closes its connections by itself: Hob is not between it and
// UCX.
#include <cstdlib>

#include "mpi/progress/ucx.hpp"
#include "mpi/progress/ucx_closing.hpp"

namespace hob::mpi::ucx {

bool serves() { return false; }
bool present() { return false; }
// Only where the library is served.
void redirect_progress(Progress) { std::abort(); }
Progress library_progress() { std::abort(); }
Standstill::Standstill() : before_(nullptr) {}
Standstill::~Standstill() {}  // not defaulted here: elsewhere it does something

Finalizing::Finalizing() = default;
Finalizing::~Finalizing() {}  // not defaulted here: elsewhere it does something

}  // namespace hob::mpi::ucx
