// Whether all ranks of the job run Hob, found without a call that needs the others to.
#pragma once

namespace hob::mpi {

/// Before MPI is initialised: the other ranks of this node can see from now on that this one runs
/// Hob. Nothing where no launcher says how many ranks the node has.
void announce_presence();

/// What announce_presence() of this node's ranks showed.
struct Presence {
  int ranks = 0;      ///< of the job on this node; 0: unknown
  int with_hob = 0;   ///< of which run Hob
  bool first = true;  ///< no rank of a smaller number on this node does

  bool partial() const { return with_hob < ranks; }
};

/// After MPI was initialised, hence after all ranks have announced theirs. Local. Waits a moment
/// for those that are missing.
Presence presence_on_node();

}  // namespace hob::mpi
