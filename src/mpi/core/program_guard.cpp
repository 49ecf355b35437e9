#include "mpi/core/program_guard.hpp"

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

ProgramGuard::ProgramGuard()
    : depth_(depth), unserved_(unserved_callback), announced_(call_announced) {
  unserved_callback = depth_ >= kExclusive;
  if (unserved_callback) return;
  depth = 0;
  call_announced = false;
}

ProgramGuard::~ProgramGuard() {
  depth = depth_;
  unserved_callback = unserved_;
  call_announced = announced_;
  if (depth_ >= kExclusive) note_acquire("a callback");
}

LeavingGuard::LeavingGuard() { note_acquire("a callback"); }

}  // namespace hob::mpi
