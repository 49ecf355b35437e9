// Learning the topology from hwloc. The library is opened by name and privately: Hob must neither
// depend on it nor offer its symbols, which Open MPI has copies of.
#include <dlfcn.h>
#include <hwloc.h>
#include <unistd.h>

#include "ghost/placement.hpp"

namespace hob::ghost {
namespace {

struct Hwloc {
  void* library = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library, name));
  }
};

Topology learn(const char* synthetic) {
  Topology result;
  const Hwloc hwloc;
  if (hwloc.library == nullptr) return result;
  const auto init = hwloc.find<decltype(hwloc_topology_init)>("hwloc_topology_init");
  const auto set =
      hwloc.find<decltype(hwloc_topology_set_synthetic)>("hwloc_topology_set_synthetic");
  const auto load = hwloc.find<decltype(hwloc_topology_load)>("hwloc_topology_load");
  const auto destroy = hwloc.find<decltype(hwloc_topology_destroy)>("hwloc_topology_destroy");
  const auto by_depth = hwloc.find<decltype(hwloc_get_obj_by_depth)>("hwloc_get_obj_by_depth");
  const auto next_bit = hwloc.find<decltype(hwloc_bitmap_next)>("hwloc_bitmap_next");
  if (!init || !set || !load || !destroy || !by_depth || !next_bit) return result;
  hwloc_topology_t topology = nullptr;
  if (init(&topology) != 0) return result;
  if ((synthetic == nullptr || set(topology, synthetic) == 0) && load(topology) == 0) {
    for (unsigned i = 0;; ++i) {
      const hwloc_obj_t node = by_depth(topology, HWLOC_TYPE_DEPTH_NUMANODE, i);
      if (node == nullptr) break;
      Topology::Domain domain;
      for (int cpu = next_bit(node->cpuset, -1); cpu >= 0; cpu = next_bit(node->cpuset, cpu)) {
        domain.cpus.push_back(cpu);
      }
      if (!domain.cpus.empty()) result.domains.push_back(std::move(domain));
    }
    result.source = synthetic == nullptr ? "hwloc" : "synthetic";
  }
  destroy(topology);
  return result;
}

}  // namespace

Topology Topology::of_this_machine() {
  Topology result = learn(nullptr);
  if (!result.domains.empty()) return result;
  result.source = "flat";
  Domain all;
  const long cpus = ::sysconf(_SC_NPROCESSORS_CONF);
  for (int cpu = 0; cpu < cpus; ++cpu) all.cpus.push_back(cpu);
  result.domains.push_back(std::move(all));
  return result;
}

Topology Topology::synthetic(const std::string& description) { return learn(description.c_str()); }

}  // namespace hob::ghost
