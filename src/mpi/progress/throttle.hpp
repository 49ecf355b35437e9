// MPICH's MPIR_CVAR_CH4_PROGRESS_THROTTLE: its progress gives the core away after every poll that
// completed nothing, which jobs with more processes than cores need. Loops of Hob's own know better
// when to do so.
#pragma once

namespace hob::mpi {

/// Switches it off, or on again if the user had asked for it. Does nothing where there is none.
/// Several threads may call it. Returns whether the user had asked.
bool throttle(bool on);

}  // namespace hob::mpi
