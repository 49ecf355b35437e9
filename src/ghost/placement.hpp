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

/// `domains`: the CPUs of each NUMA domain (os::numa_domains). `allowed`: for each rank of the
/// node, the CPUs that it may run on (as its launcher bound it). 1 <= ghosts < ranks. The same on
/// every rank, for equal arguments.
Placement place(const std::vector<std::vector<int>>& domains,
                const std::vector<std::vector<int>>& allowed, int ghosts);

bool is_ghost(const Placement& placed, int rank);

/// Which ranks of a node must not become ghosts, since each program of the job needs one: its
/// first. `ranks`: what they are in the job; `programs`: of each rank of the job; empty: there is
/// one.
std::vector<bool> kept_ranks(const std::vector<int>& ranks, const std::vector<int>& programs);

/// A ghost that is to be kept changes places with the last rank that need not be. There must be as
/// many of these as ghosts.
void spare(const std::vector<bool>& kept, Placement& placed);

/// The domain that holds all these CPUs; -1 if none does.
int domain_of(const std::vector<std::vector<int>>& domains, const std::vector<int>& cpus);

}  // namespace hob::ghost
