#include "mpi/core/program_guard.hpp"

#include "mpi/core/acquires.hpp"
#include "mpi/pmpi/wrapper.hpp"

namespace hob::mpi {

ProgramGuard::ProgramGuard()
    : depth_(depth),
      unserved_(calling_thread.unserved_callback),
      announced_(calling_thread.call_announced) {
  calling_thread.unserved_callback = depth_ >= kExclusive;
  if (calling_thread.unserved_callback) return;
  depth = 0;
  calling_thread.call_announced = false;
}

ProgramGuard::~ProgramGuard() {
  depth = depth_;
  calling_thread.unserved_callback = unserved_;
  calling_thread.call_announced = announced_;
  if (depth_ >= kExclusive) note_acquire("a callback");
}

LeavingGuard::LeavingGuard() { note_acquire("a callback"); }

}  // namespace hob::mpi
