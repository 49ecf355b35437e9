#include "mpi/progress/throttle.hpp"

#include "mpi/core/control_variable.hpp"

namespace hob::mpi {

bool throttle(bool on) {
  // Never destroyed: the library may be gone by then.
  static auto& variable = *new ControlVariable("MPIR_CVAR_CH4_PROGRESS_THROTTLE");
  static const bool asked = variable.value().value_or(0) != 0;
  if (asked) variable.set(on ? 1 : 0);
  return asked;
}

}  // namespace hob::mpi
