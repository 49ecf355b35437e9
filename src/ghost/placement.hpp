// Which ranks of a node become ghosts, where they run and whom they serve (section II-A of the
// ghost paper): spread over the NUMA domains, each next to the memory that it serves.
#pragma once

#include <string>
#include <vector>

namespace hob::ghost {

/// The cores of a node by NUMA domain.
struct Topology {
  struct Domain {
    std::vector<int> cpus;  ///< numbers of the operating system
  };
  std::vector<Domain> domains;
  std::string source;  ///< "hwloc", "synthetic" or "flat": where this was learned

  /// This machine, through hwloc where it is installed, else one domain with all CPUs.
  static Topology of_this_machine();
  /// A machine in hwloc's synthetic notation, e.g. "pack:2 numa:2 core:12 pu:1"; for tests. Empty
  /// without hwloc or for a bad description.
  static Topology synthetic(const std::string& description);

  /// The domain that holds all these CPUs; -1 if none does, or if there is just one domain that
  /// says nothing.
  int domain_of(const std::vector<int>& cpus) const;
};

struct Placement {
  std::vector<int> ghosts;             ///< ranks of the node that become ghosts, in rank order
  std::vector<std::vector<int>> cpus;  ///< for each: CPUs to bind it to; empty: leave it as it is
  std::vector<int> domains;            ///< for each: its NUMA domain
  std::vector<unsigned> home;          ///< for each rank of the node: index of its ghost (users)
};

/// `allowed`: for each rank of the node, the CPUs that it may run on (as its launcher bound it).
/// 1 <= ghosts < ranks. The same on every rank, for equal arguments.
Placement place(const Topology& topology, const std::vector<std::vector<int>>& allowed, int ghosts);

}  // namespace hob::ghost
