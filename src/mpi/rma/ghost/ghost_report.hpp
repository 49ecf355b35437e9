// What the report tells of ghosts.
#pragma once

namespace hob::mpi {

/// Registers the report's section "ghost" and its counters. Once, after the client was made.
void add_ghost_report();

}  // namespace hob::mpi
