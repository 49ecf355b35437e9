// What the processors of a machine share: caches.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace hob {

/// A machine as hwloc sees it. hwloc is opened by name and privately: Hob must neither depend on it
/// nor offer its symbols, which Open MPI has copies of.
struct Machine {
  struct Cache {
    int level = 0;          ///< 1: nearest to the processor
    std::size_t bytes = 0;  ///< of the whole cache
  };
  struct Processor {
    int cpu = 0;              ///< number of the operating system
    int core = 0;             ///< equal for the hardware threads of one core
    std::vector<int> caches;  ///< indices in Machine::caches, the smallest first
  };
  std::vector<Processor> processors;  ///< empty without hwloc
  std::vector<Cache> caches;
  std::string problem;  ///< why hwloc did not help; empty if it did

  /// This one. Takes some 15 ms. Thread safe.
  static Machine here();
  /// One in hwloc's synthetic notation, e.g. "pack:2 numa:2 core:12 pu:1"; for tests. Empty, with a
  /// problem, for a bad description.
  static Machine synthetic(const std::string& description);
};

}  // namespace hob
