#include "base/machine.hpp"

#include <dlfcn.h>
#include <hwloc.h>

#include <map>

namespace hob {
namespace {

struct Hwloc {
  void* library = ::dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);
  decltype(&hwloc_topology_init) init = find<decltype(init)>("hwloc_topology_init");
  decltype(&hwloc_topology_set_synthetic) set_synthetic =
      find<decltype(set_synthetic)>("hwloc_topology_set_synthetic");
  decltype(&hwloc_topology_load) load = find<decltype(load)>("hwloc_topology_load");
  decltype(&hwloc_topology_destroy) destroy = find<decltype(destroy)>("hwloc_topology_destroy");
  decltype(&hwloc_get_type_depth) type_depth = find<decltype(type_depth)>("hwloc_get_type_depth");
  decltype(&hwloc_get_obj_by_depth) by_depth = find<decltype(by_depth)>("hwloc_get_obj_by_depth");

  bool usable() const { return init && set_synthetic && load && destroy && type_depth && by_depth; }

 private:
  template <class Function>
  Function find(const char* name) const {
    return library != nullptr ? reinterpret_cast<Function>(::dlsym(library, name)) : nullptr;
  }
};

bool is_cache(hwloc_obj_t object) {
  return object->type >= HWLOC_OBJ_L1CACHE && object->type <= HWLOC_OBJ_L5CACHE;
}

void add_processors(const Hwloc& hwloc, hwloc_topology_t topology, Machine& machine) {
  std::map<hwloc_obj_t, int> cores;
  std::map<hwloc_obj_t, int> caches;
  const int depth = hwloc.type_depth(topology, HWLOC_OBJ_PU);
  for (unsigned i = 0; hwloc_obj_t object = hwloc.by_depth(topology, depth, i); ++i) {
    Machine::Processor processor;
    processor.cpu = static_cast<int>(object->os_index);
    hwloc_obj_t core = object;
    for (hwloc_obj_t above = object->parent; above != nullptr; above = above->parent) {
      if (above->type == HWLOC_OBJ_CORE) core = above;
      if (!is_cache(above)) continue;
      const auto [at, is_new] = caches.try_emplace(above, static_cast<int>(caches.size()));
      if (is_new)
        machine.caches.push_back(
            {static_cast<int>(above->attr->cache.depth), above->attr->cache.size});
      processor.caches.push_back(at->second);
    }
    processor.core = cores.try_emplace(core, static_cast<int>(cores.size())).first->second;
    machine.processors.push_back(std::move(processor));
  }
}

Machine learn(const char* synthetic) {
  static const Hwloc hwloc;
  Machine machine;
  hwloc_topology_t topology = nullptr;
  if (!hwloc.usable()) {
    machine.problem = "hwloc is not installed";
  } else if (hwloc.init(&topology) != 0) {
    machine.problem = "hwloc does not start";
  } else {
    const bool described = synthetic == nullptr || hwloc.set_synthetic(topology, synthetic) == 0;
    if (described && hwloc.load(topology) == 0)
      add_processors(hwloc, topology, machine);
    else
      machine.problem = "hwloc cannot read the machine's topology";
    hwloc.destroy(topology);
  }
  return machine;
}

}  // namespace

Machine Machine::here() { return learn(nullptr); }

Machine Machine::synthetic(const std::string& description) { return learn(description.c_str()); }

}  // namespace hob
