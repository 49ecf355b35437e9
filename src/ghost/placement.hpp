// Which ranks of a node become ghosts, where they run and whom they serve (section II-A of the
// ghost paper): spread over the NUMA domains, each next to the memory that it serves.
#pragma once

#include <vector>

namespace hob::ghost {

struct Placement {
  std::vector<int> ghosts;             ///< ranks of the node that become ghosts, in rank order
  std::vector<std::vector<int>> cpus;  ///< for each: CPUs to bind it to; empty: leave it as it is
  std::vector<int> domains;            ///< for each: its NUMA domain
  std::vector<unsigned>
      home;  ///< for each rank of the node: index of its ghost (application ranks)
};

/// `domains`: the CPUs of each NUMA domain (Machine::domains). `allowed`: for each rank of the
/// node, the CPUs that it may run on (as its launcher bound it). 1 <= ghosts < ranks. The same on
/// every rank, for equal arguments.
Placement place(const std::vector<std::vector<int>>& domains,
                const std::vector<std::vector<int>>& allowed, int ghosts);

/// The domain that holds all these CPUs; -1 if none does.
int domain_of(const std::vector<std::vector<int>>& domains, const std::vector<int>& cpus);

}  // namespace hob::ghost
