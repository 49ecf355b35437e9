// With ghosts: what launchers say of ranks and sizes in the environment, as the program sees them.
#pragma once

namespace hob::mpi {

/// A process's place before and after ghosts are taken out.
struct Place {
  int rank = 0, size = 0;              ///< in the world
  int local_rank = 0, local_size = 0;  ///< on its node
};

/// Programs read their rank and size from the launcher's variables, to meet outside MPI or to
/// choose a device: these say now what MPI says. Only variables whose value is the one in `before`
/// are changed. Not thread safe: while MPI starts.
void translate_variables(const Place& before, const Place& after);

/// What the launcher said, for a library that reads it again.
void restore_variables();

}  // namespace hob::mpi
